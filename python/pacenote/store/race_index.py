"""The index of all races: a cache in SQLite over the race folders, which alone are the truth.

Every look first brings the index up to date: folders that are new or changed (by time and size of
`race.json`) are read, rows without a folder are dropped. So nothing has to write here when a race ends, a
folder may be copied in or deleted by hand, and a damaged or missing index is simply built again. Several
processes may do this at once (WAL and a busy timeout). Where nothing can be written, the index lives in
memory.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import sqlite3
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

from pacenote.errors import PacenoteError
from pacenote.model.race_record import TIMESTAMP_FORMAT, RaceRecord
from pacenote.store.files import PRIVATE_FILE

RaceState = Literal["complete", "interrupted", "aborted", "unfinished", "unreadable"]
"""`unfinished` runs or was killed; `unreadable` has a damaged `race.json`."""

_SCHEMA_VERSION = 1
_BUSY_SECONDS = 10.0
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_COLUMNS = (
    "id, timestamp, track, track_revision, challenge, car, distribution, version, revision, user_tags, "
    "verdict, state"
)


@dataclass(frozen=True, slots=True)
class RaceSummary:
    """One row of `pacenote list races`; everything but id and state is empty when the race is unreadable."""

    race_id: str
    timestamp: str
    track: str
    track_revision: str
    challenge: str
    car: str
    distribution: str
    version: str
    revision: str
    user_tags: Mapping[str, str]
    verdict: str
    state: RaceState


@dataclass(frozen=True, slots=True)
class RaceFilter:
    """Which races to list; dates are inclusive, `user_tags` must all match.

    `benchmark_name` matches the user tag `name` or `benchmark-name`, as in Rally.
    """

    limit: int = 10
    track: str | None = None
    challenge: str | None = None
    benchmark_name: str | None = None
    from_date: date | None = None
    to_date: date | None = None
    user_tags: Mapping[str, str] = field(default_factory=dict)


class RaceIndex:
    """Looks up races below the folder `races`; every method sees what is on disk now."""

    def __init__(self, races: Path) -> None:
        self._races = races
        self._file = races / "index.sqlite"

    def find(self, wanted: RaceFilter) -> list[RaceSummary]:
        """Races that match, newest first."""
        query, values = _query(wanted)
        with self._fresh() as database:
            races = map(_summary, database.execute(query, values))
            matching = (race for race in races if _tags_match(race.user_tags, wanted))
            return list(itertools.islice(matching, wanted.limit))

    def ids_beginning_with(self, prefix: str) -> list[str]:
        """Ids that begin with `prefix`, sorted; the folders are asked, since they are as quick."""
        return sorted(name for name in _stamps(self._races) if prefix and name.startswith(prefix))

    @contextlib.contextmanager
    def _fresh(self) -> Generator[sqlite3.Connection, None, None]:
        """An index that is up to date: the file if possible, built anew if damaged, else one in memory."""
        database = self._open()
        try:
            yield database
        finally:
            database.close()

    def _open(self) -> sqlite3.Connection:
        for _ in range(2):
            try:
                return self._synchronised(str(self._file))
            except sqlite3.Error as error:
                if getattr(error, "sqlite_errorcode", None) not in _DAMAGED:
                    break
                self._remove()
        return self._synchronised(":memory:")

    def _synchronised(self, place: str) -> sqlite3.Connection:
        database = _connect(place)
        try:
            _synchronise(database, self._races)
        except BaseException:
            database.close()
            raise
        return database

    def _remove(self) -> None:
        """Drops a damaged index. A process that still has it open goes on with its own copy, which does no
        harm.
        """
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                Path(f"{self._file}{suffix}").unlink()


def _connect(place: str) -> sqlite3.Connection:
    if place != ":memory:":
        with contextlib.suppress(OSError):
            os.close(os.open(place, os.O_RDWR | os.O_CREAT, PRIVATE_FILE))
    database = sqlite3.connect(place, timeout=_BUSY_SECONDS, isolation_level=None)
    # Two processes may switch to WAL at the same moment; SQLite then refuses one of them at once, which is as
    # good.
    try:
        database.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            database.close()
            raise
    except sqlite3.DatabaseError:
        database.close()
        raise
    database.execute("PRAGMA synchronous=NORMAL")
    return database


def _synchronise(database: sqlite3.Connection, races: Path) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == _SCHEMA_VERSION and _known(database) == _stamps(races):
        return
    # Immediately, so that of two processes only one reads the folders while the other waits and then finds it
    # done.
    database.execute("BEGIN IMMEDIATE")
    try:
        _prepare_table(database)
        known, present = _known(database), _stamps(races)
        database.executemany(
            "DELETE FROM races WHERE id = ?", [(name,) for name in known.keys() - present.keys()]
        )
        for name, stamp in present.items():
            if known.get(name) != stamp:
                database.execute(
                    f"INSERT OR REPLACE INTO races ({_COLUMNS}, stamp) VALUES ({', '.join('?' * 13)})",
                    (*_row(races / name), stamp),
                )
        database.execute("COMMIT")
    except BaseException:
        # A failed COMMIT may have rolled back already.
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise


def _prepare_table(database: sqlite3.Connection) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == _SCHEMA_VERSION:
        return
    database.execute("DROP TABLE IF EXISTS races")
    columns = ", ".join(f"{name} TEXT NOT NULL" for name in _COLUMNS.split(", ")[1:])
    database.execute(f"CREATE TABLE races (id TEXT PRIMARY KEY, {columns}, stamp TEXT NOT NULL)")
    database.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")


def _known(database: sqlite3.Connection) -> dict[str, str]:
    return dict(database.execute("SELECT id, stamp FROM races"))


def _stamps(races: Path) -> dict[str, str]:
    """Every race folder with what changes whenever its `race.json` is replaced."""
    stamps: dict[str, str] = {}
    with contextlib.suppress(OSError), os.scandir(races) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = Path(entry.path, "race.json").stat()
                stamps[entry.name] = f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}"
    return stamps


def _row(folder: Path) -> tuple[str, ...]:
    try:
        record = RaceRecord.from_document(json.loads((folder / "race.json").read_bytes()))
    except (OSError, ValueError, RecursionError, PacenoteError):
        return (folder.name, *[""] * 8, "{}", "", "unreadable")
    cluster = record.cluster
    return (
        folder.name,
        record.timestamp.strftime(TIMESTAMP_FORMAT),
        record.track.name,
        record.track.revision or "",
        record.challenge or "",
        "+".join(record.car),
        cluster.distribution or "",
        cluster.version or "",
        cluster.build_hash or "",
        json.dumps(dict(record.user_tags)),
        record.verdict.state,
        _state(record),
    )


def _state(record: RaceRecord) -> RaceState:
    if record.complete:
        return "complete"
    if record.interrupted:
        return "interrupted"
    return "aborted" if record.aborted else "unfinished"


def _query(wanted: RaceFilter) -> tuple[str, list[str]]:
    conditions: list[str] = []
    values: list[str] = []
    for condition, value in (
        ("track = ?", wanted.track),
        ("challenge = ?", wanted.challenge),
        ("substr(timestamp, 1, 8) >= ?", _day(wanted.from_date)),
        ("substr(timestamp, 1, 8) <= ?", _day(wanted.to_date)),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {_COLUMNS} FROM races{where} ORDER BY timestamp DESC, id", values


def _day(day: date | None) -> str | None:
    return day.strftime("%Y%m%d") if day else None


def _summary(row: tuple[str, ...]) -> RaceSummary:
    fields = dict(zip(RaceSummary.__dataclass_fields__, row, strict=True))
    return RaceSummary(**fields | {"user_tags": json.loads(row[9])})


def _tags_match(tags: Mapping[str, str], wanted: RaceFilter) -> bool:
    if wanted.benchmark_name and wanted.benchmark_name not in (tags.get("name"), tags.get("benchmark-name")):
        return False
    return all(tags.get(name) == value for name, value in wanted.user_tags.items())
