"""The index of all races: an SQLite cache of the race folders, which alone are authoritative.

Every query first updates the index: it reads folders that are new or have changed (according to the time,
size and inode of `race.json`), and deletes rows without a folder. A race therefore does not write to the
index, folders may be copied and deleted by hand, and a damaged or missing index is rebuilt. Several processes
may query at the same time (WAL and a busy timeout). If the index cannot be written, it is built in memory.

So it is where another user could exchange the file, or what is beside it, and where the folder of races is a
link: SQLite opens, creates and deletes files by their names, and a journal may name any other file. There,
the file is neither opened nor removed.

What is in the file is not trusted: it is only used if it has no tables, views and triggers but those of this
version, and if its rows have the right types; otherwise, it is replaced. A link or a pipe is left as it is.
A rollback journal that names another file is deleted before SQLite reads it: SQLite would delete that file.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import get_args

from msgspec import Struct, field

from pacenote.errors import PacenoteError
from pacenote.model.decoding import parse_json
from pacenote.model.headline import headline
from pacenote.model.printable import encodable
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_state import RaceState, race_state
from pacenote.model.race_time import TIMESTAMP_FORMAT, parse_timestamp
from pacenote.model.user_tags import tag_texts
from pacenote.store.atomic_files import open_in_place
from pacenote.store.json_file import parse_stored
from pacenote.system.ownership import exchangeable_folder
from pacenote.system.paths import is_link, open_place
from pacenote.system.regular_files import is_regular_file, read_stored_file

INDEX_FILE = "index.sqlite"
"""Name of the index."""

INDEX_FILES = tuple(f"{INDEX_FILE}{suffix}" for suffix in ("", "-wal", "-shm", "-journal"))
"""Names of the files of the index, which no race may have."""

_JOURNAL_FILE = INDEX_FILES[-1]

_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""The last bytes of a rollback journal that names a super-journal, the file that journals of a transaction
in several databases share (SQLite's file format, section 3). The index has no such transactions.
"""

_WRITTEN_FILES = (INDEX_FILE, f"{INDEX_FILE}-wal")
"""The files of the index that have rows."""

_FileStates = tuple[tuple[str, int, int, int, int, int], ...]
"""The states of files that exist and are not empty: name, device, inode, size, and times of changes in ns."""

_checked: dict[Path, _FileStates] = {}
"""The files of the indices that this process has checked, as they were when it had written to them last."""

_MEMORY = ":memory:"
"""The path of an index in memory."""

_SCHEMA_VERSION = 5
_BUSY_TIMEOUT_S = 10.0
_DAMAGED = (
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT),
    # Statements that fit the tables of this version fail only with other ones.
    *(sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT),
    *(sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_AUTH),
)
_MAX_ROW_LENGTH = 1 << 20
"""Characters of the largest row. A race with longer names and tags cannot be listed."""

_MAX_VALUE_BYTES = 8 * _MAX_ROW_LENGTH
"""Size of the largest value that is read from the index, and of the largest row."""
_COLUMNS = (
    "id, timestamp, track, track_revision, challenge, car, distribution, version, revision, user_tags, "
    "verdict, state, headline"
)
_ALL_COLUMNS = f"{_COLUMNS}, search_text, stamp"
_SCHEMA = (
    f"CREATE TABLE races (id TEXT PRIMARY KEY, "
    f"{', '.join(f'{name} TEXT NOT NULL' for name in _ALL_COLUMNS.split(', ')[1:])})",
    # The order of lists: the newest races are found without sorting all.
    "CREATE INDEX newest ON races (timestamp DESC, id)",
    # All that an update compares, without reading the other columns.
    "CREATE INDEX stamps ON races (id, stamp)",
)
_SEARCHED = "search_text || CASE state WHEN 'unfinished' THEN char(10) || unfinished_state(id) ELSE '' END"


class RaceSummary(Struct, frozen=True):
    """One row of `pacenote list races`. An unreadable race has only an id and a state."""

    race_id: str
    """Id, which is the name of the folder."""

    timestamp: str
    """Start time in Rally's format, such as `20260301T123015Z`."""

    track: str
    """Name of the track."""

    track_revision: str
    """Git revision of the track; empty if it is not from a repository."""

    challenge: str
    """Name of the challenge; empty for a bare schedule."""

    car: str
    """Names of the cars, joined by `+`."""

    distribution: str
    """`opensearch` or `elasticsearch`."""

    version: str
    """Version of the engine."""

    revision: str
    """Build hash of the engine."""

    user_tags: Mapping[str, object]
    """Tags of `--user-tags`."""

    verdict: str
    """State of the verdict: `valid`, `suspect` or `void`."""

    state: RaceState
    """State of the race, such as `running`."""

    headline: str
    """The figure that says most about the race; empty if there is none."""


class RaceFilter(Struct, frozen=True):
    """Conditions for races to list. A condition that is None or empty matches all races."""

    limit: int = 10
    """Maximum number of races."""

    offset: int = 0
    """Number of matching races to leave out, of the newest ones."""

    track: str | None = None
    """Name of the track."""

    challenge: str | None = None
    """Name of the challenge."""

    benchmark_name: str | None = None
    """Value of the user tag `name` or `benchmark-name`, as in Rally."""

    from_date: date | None = None
    """First day, in UTC."""

    to_date: date | None = None
    """Last day, in UTC."""

    user_tags: Mapping[str, object] = field(default_factory=dict)
    """Tags that a race must have, compared as text; all of them must match."""

    search: tuple[str, ...] = ()
    """Texts that must all occur in what describes a race: its id, track, challenge, car, engine, tags (as
    `name=value`), verdict or state. Case does not matter.
    """


class FoundRaces(Struct, frozen=True):
    """The races that match a filter."""

    races: tuple[RaceSummary, ...]
    """Those within its limit, newest first."""

    total: int
    """Number of all that match."""


class _DamagedIndex(Exception):
    """The file of the index contains what this version does not write."""


class RaceIndex:
    """Finds races below the folder `races`. Every method returns the current state of the disk."""

    def __init__(self, races: Path, unfinished_state: Callable[[str], RaceState]) -> None:
        """`unfinished_state` returns for the id of an unfinished race whether it is running or was killed."""
        self._races = races
        self._unfinished_state = unfinished_state
        self._file = races / INDEX_FILE

    def find(self, criteria: RaceFilter) -> FoundRaces:
        """Returns the races that match, newest first."""
        conditions, values = _conditions(criteria)
        query = f"SELECT {_COLUMNS} FROM races{conditions} ORDER BY timestamp DESC, id"
        first, last = criteria.offset, criteria.offset + criteria.limit

        def select(database: sqlite3.Connection) -> FoundRaces:
            if criteria.user_tags or criteria.benchmark_name:
                races = map(_summary, database.execute(query, values))
                matching = tuple(race for race in races if _tags_match(race.user_tags, criteria))
                return FoundRaces(matching[first:last], len(matching))
            (total,) = database.execute(f"SELECT count(*) FROM races{conditions}", values).fetchone()
            rows = database.execute(f"{query} LIMIT ? OFFSET ?", (*values, criteria.limit, criteria.offset))
            return FoundRaces(tuple(map(_summary, rows)), total)

        return self._ask(select)

    def ids(self) -> list[str]:
        """Returns the ids of all races, sorted."""
        return sorted(_fingerprints(self._races))

    def ids_with_prefix(self, prefix: str) -> list[str]:
        """Returns the ids that begin with `prefix`, sorted. Reads the folders, which is as fast as a
        query.
        """
        return sorted(name for name in _fingerprints(self._races) if prefix and name.startswith(prefix))

    def _ask(self, select: Callable[[sqlite3.Connection], FoundRaces]) -> FoundRaces:
        """Returns what an up-to-date index answers: the file, rebuilt if it is damaged, or one in memory."""
        for _ in range(2 if self._is_usable() else 0):
            if self._has_foreign_journal():
                self._remove()
            try:
                return self._answer(str(self._file), select)
            except sqlite3.Error as error:
                # The lowest byte; the others give details.
                if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
                    break
                self._remove()
            except (_DamagedIndex, UnicodeDecodeError):
                # SQLite's messages and the schema have the bytes of the file.
                self._remove()
        return self._answer(_MEMORY, select)

    def _answer(self, path: str, select: Callable[[sqlite3.Connection], FoundRaces]) -> FoundRaces:
        with contextlib.closing(_connect(path)) as database:
            is_checked = _update(database, self._races)
            database.create_function("unfinished_state", 1, self._unfinished_state)
            answer = select(database)
        if is_checked and path != _MEMORY:
            _checked[self._races] = _file_states(self._races)
        return answer

    def _is_usable(self) -> bool:
        """Returns whether the files of the index are regular files with one name, or do not exist, in a
        folder in which only trusted users can change that.
        """
        # What is a link is looked at last: then, no other user can make the folder one any more.
        if exchangeable_folder(self._races) or is_link(self._races):
            return False
        for name in INDEX_FILES:
            try:
                status = (self._races / name).lstat()
                # SQLite writes in place, so that a file with other names may be a database of others.
                if not is_regular_file(status) or status.st_nlink > 1:
                    return False
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True

    def _has_foreign_journal(self) -> bool:
        """Returns whether the rollback journal, if there is one, names another file."""
        try:
            with (self._races / _JOURNAL_FILE).open("rb") as journal:
                journal.seek(-len(_JOURNAL_MAGIC), os.SEEK_END)
                return journal.read() == _JOURNAL_MAGIC
        except OSError:  # There is none, or it is shorter.
            return False

    def _remove(self) -> None:
        """Deletes a damaged index, of which nothing is lost: it is made from the folders. Processes that have
        opened it continue with the deleted file.
        """
        for name in INDEX_FILES:
            with contextlib.suppress(OSError):
                (self._races / name).unlink()


def _connect(path: str) -> sqlite3.Connection:
    if path != _MEMORY:
        with contextlib.suppress(OSError):
            os.close(open_in_place(Path(path), os.O_RDWR | os.O_CREAT))
    database = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    database.execute("PRAGMA trusted_schema=OFF")
    # If two processes switch to WAL at the same moment, SQLite immediately rejects one of them; the other has
    # switched for both.
    try:
        database.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            database.close()
            raise
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        database.close()
        raise
    database.execute("PRAGMA synchronous=NORMAL")
    return database


def _update(database: sqlite3.Connection, races: Path) -> bool:
    """Reads the folders that have changed, if any. Returns whether it wrote to a file that was checked."""
    present = _fingerprints(races)
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == _SCHEMA_VERSION:
        _check_schema(database)
        # A row that the index of stamps lacks is only found by the check below.
        if present and _indexed(database) == present:
            return False
    # The write lock is acquired first so that only one of two processes reads the changed folders.
    database.execute("BEGIN IMMEDIATE")
    try:
        # While the lock is held, no other process writes to the files.
        is_known = _checked.get(races) == _file_states(races)
        _prepare_table(database)
        if not is_known:
            _check_integrity(database)
        # Folders that changed since they were looked at are noticed by the next query.
        indexed = _indexed(database)
        # Another process may have added races since then.
        gone = [
            name for name in indexed.keys() - present.keys() if not _fingerprint(f"{races}/{name}/race.json")
        ]
        database.executemany("DELETE FROM races WHERE id = ?", [(name,) for name in gone])
        for name, fingerprint in present.items():
            if indexed.get(name) != fingerprint:
                database.execute(
                    f"INSERT OR REPLACE INTO races ({_ALL_COLUMNS}) VALUES ({', '.join('?' * 15)})",
                    (*_row(races / name), fingerprint),
                )
        database.execute("COMMIT")
    except BaseException:
        # A failed COMMIT may already have rolled back.
        with contextlib.suppress(sqlite3.Error):
            database.execute("ROLLBACK")
        raise
    return True


def _prepare_table(database: sqlite3.Connection) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != _SCHEMA_VERSION:
        database.execute("DROP TABLE IF EXISTS races")
        for statement in _SCHEMA:
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
    _check_schema(database)


def _check_schema(database: sqlite3.Connection) -> None:
    """Raises _DamagedIndex if the index has other tables, views, indices or triggers than those of this
    version.
    """
    statements = [text for (text,) in database.execute("SELECT sql FROM sqlite_master") if text is not None]
    if sorted(map(str, statements)) != sorted(_SCHEMA):
        raise _DamagedIndex


def _check_integrity(database: sqlite3.Connection) -> None:
    """Raises _DamagedIndex if the tables and the indices of the database do not have the same rows, so that
    it would list races that do not exist, or hide others.

    It reads the whole file, and is only called if folders have changed, and if another process may have
    written to the file since this one has checked it. `PRAGMA quick_check` would be seven times faster, but
    does not compare the rows of tables and indices, as SQLite documents.
    """
    (result,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if result != "ok":
        raise _DamagedIndex


def _file_states(races: Path) -> _FileStates:
    """Returns the identity, size and times of the files of the index, which change with each write."""
    states = []
    for name in _WRITTEN_FILES:
        try:
            status = (races / name).stat()
        except OSError:
            continue
        if status.st_size:  # SQLite creates and deletes empty logs.
            identity = (status.st_dev, status.st_ino, status.st_size)
            states.append((name, *identity, status.st_mtime_ns, status.st_ctime_ns))
    return tuple(states)


def _indexed(database: sqlite3.Connection) -> dict[str, str]:
    """Returns the fingerprints of the races in the index, by id. Raises _DamagedIndex."""
    indexed = dict(database.execute("SELECT id, stamp FROM races"))
    if not all(isinstance(text, str) for entry in indexed.items() for text in entry):
        raise _DamagedIndex
    return indexed


def _fingerprints(races: Path) -> dict[str, str]:
    """Returns a string for each race folder, by id, that changes whenever the folder's `race.json` is
    replaced.
    """
    fingerprints: dict[str, str] = {}
    with contextlib.suppress(OSError), os.scandir(races) as entries:
        for entry in entries:
            fingerprint = _fingerprint(f"{entry.path}/race.json")
            # SQLite does not store names that are not UTF-8, and users cannot type them.
            if fingerprint and entry.name.isprintable():
                fingerprints[entry.name] = fingerprint
    return fingerprints


def _fingerprint(record: str) -> str | None:
    """Returns None if the file does not exist or is not a regular file."""
    try:
        # A `Path` for each of thousands of races takes longer.
        status = os.lstat(record)
        if stat.S_ISLNK(status.st_mode):
            place = open_place(record)
            try:
                status = os.fstat(place)
            finally:
                os.close(place)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return f"error {error.errno}"
    return f"{status.st_mtime_ns}:{status.st_size}:{status.st_ino}" if is_regular_file(status) else None


def _row(folder: Path) -> tuple[str, ...]:
    """Returns the values of `_ALL_COLUMNS` without the last one."""
    try:
        row = _readable_row(folder.name, _record(read_stored_file(folder / "race.json")))
        # What SQLite cannot store, or what cannot be read back, must not damage the whole index.
        "".join(row).encode()
        _summary(row[: len(RaceSummary.__struct_fields__)])
        if sum(map(len, row)) <= _MAX_ROW_LENGTH:
            return row
    except (OSError, ValueError, RecursionError, PacenoteError, _DamagedIndex):
        pass
    return (folder.name, *[""] * 8, "{}", "", "unreadable", "", f"{folder.name}\nunreadable".casefold())


def _readable_row(race_id: str, record: RaceRecord) -> tuple[str, ...]:
    cluster = record.cluster
    described = (
        race_id,
        record.timestamp.strftime(TIMESTAMP_FORMAT),
        record.track.name,
        record.track.revision or "",
        record.challenge or "",
        "+".join(record.car),
        cluster.distribution or "",
        cluster.version or "",
        cluster.build_hash or "",
    )
    tags = (f"{name}={value}" for name, value in tag_texts(record.user_tags).items())
    state = (record.verdict.state, race_state(record))
    return (
        *described,
        json.dumps(dict(record.user_tags)),
        *state,
        headline(record),
        encodable("\n".join((*described, *tags, *state))).casefold(),
    )


def _record(data: bytes) -> RaceRecord:
    """Returns a race with what its row needs. Raises ValueError, RecursionError, and PacenoteError."""
    return RaceRecord.from_document(parse_stored(data))


def _conditions(criteria: RaceFilter) -> tuple[str, list[str]]:
    """Returns the WHERE clause and the values of its parameters."""
    conditions: list[str] = []
    values: list[str] = []
    for condition, value in (
        ("track = ?", criteria.track),
        ("challenge = ?", criteria.challenge),
        ("substr(timestamp, 1, 8) >= ?", _day(criteria.from_date)),
        ("substr(timestamp, 1, 8) <= ?", _day(criteria.to_date)),
        *((f"instr({_SEARCHED}, ?)", encodable(text).casefold()) for text in criteria.search),
    ):
        if value is not None:
            conditions.append(condition)
            values.append(value)
    return f" WHERE {' AND '.join(conditions)}" if conditions else "", values


def _day(day: date | None) -> str | None:
    return day.strftime("%Y%m%d") if day else None


def _summary(row: tuple[str, ...]) -> RaceSummary:
    """Returns the race of a row. Raises _DamagedIndex."""
    fields = dict(zip(RaceSummary.__struct_fields__, row, strict=True))
    try:
        if fields["timestamp"]:
            parse_timestamp(fields["timestamp"])
        summary = RaceSummary(**fields | {"user_tags": parse_json(row[9].encode())})
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise _DamagedIndex from None
    is_text = all(isinstance(value, str) for value in row)
    if not (is_text and summary.state in get_args(RaceState) and isinstance(summary.user_tags, dict)):
        raise _DamagedIndex
    return summary


def _tags_match(metadata: Mapping[str, object], criteria: RaceFilter) -> bool:
    tags = tag_texts(metadata)
    if criteria.benchmark_name and criteria.benchmark_name not in (
        tags.get("name"),
        tags.get("benchmark-name"),
    ):
        return False
    return all(tags.get(name) == value for name, value in tag_texts(criteria.user_tags).items())
