"""The folder of a race, and the home that holds the folders.

    PACENOTE_HOME (default ~/.pacenote)
    └── races/
        ├── index.sqlite           see index.py
        └── <race-id>/
            ├── race.json          the record; `complete` says whether the race ran to its end
            ├── tasks.jsonl        results of finished tasks, one per line, until race.json holds them
            ├── plan.json          what the driver was given
            ├── samples.parquet    these two are written by the Rust core; only their names live here
            ├── series.parquet
            ├── telemetry.parquet  a name for later: nobody writes it yet
            └── artifacts/         engine logs, recordings, reports

A race that was killed is readable up to its last finished task: its `race.json` is the record it started
with, and `tasks.jsonl` has the results since. A line torn by the kill is left out.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from pacenote.errors import PacenoteError, StoreError
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.model.verdict import determine_verdict
from pacenote.store.files import PRIVATE_FOLDER, append_line, store_error, write_atomically
from pacenote.store.home import default_home
from pacenote.store.index import Index, RaceFilter, RaceSummary

LATEST = "latest"
"""Stands for the newest race wherever a race id is asked for, so no race may be called so."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def check_home(home: Path) -> None:
    """Makes sure that races below a home can be looked for; a home that is not there yet has none.

    Raises StoreError when something that is no readable folder is in its place.
    """
    for folder in (home, home / "races"):
        try:
            next(folder.iterdir(), None)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(
                f"races cannot be looked for in {folder}: {error.strerror}",
                hint="PACENOTE_HOME names the folder that Pacenote keeps its files in",
            ) from error


def is_race_id(text: str) -> bool:
    """Whether a race may be called so: it names a folder, on every system, and is not `latest`."""
    return text != LATEST and _ID.fullmatch(text) is not None


class RaceFolder:
    """The files of one race. Only the race itself writes here; anyone may read at any time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def race_json(self) -> Path:
        """The record."""
        return self.path / "race.json"

    @property
    def journal(self) -> Path:
        """Results of finished tasks while the race runs."""
        return self.path / "tasks.jsonl"

    @property
    def plan_json(self) -> Path:
        """The plan that is driven."""
        return self.path / "plan.json"

    @property
    def samples(self) -> Path:
        """One row per request, written by the driver."""
        return self.path / "samples.parquet"

    @property
    def series(self) -> Path:
        """One row per task and second, written by the driver."""
        return self.path / "series.parquet"

    @property
    def telemetry(self) -> Path:
        """Sampled values of the engine and the hosts; nobody writes them yet."""
        return self.path / "telemetry.parquet"

    @property
    def artifacts(self) -> Path:
        """Logs, recordings and reports."""
        return self.path / "artifacts"

    def write(self, record: RaceRecord) -> None:
        """Stores the record in place of the one before. Raises StoreError; the one before is then still
        there.
        """
        text = json.dumps(record.to_document(), ensure_ascii=False, allow_nan=False, indent=1)
        write_atomically(self.race_json, text.encode())

    def append(self, result: TaskResult) -> None:
        """Stores the result of a finished task, durably. Raises StoreError."""
        append_line(
            self.journal, json.dumps(result.to_document(), ensure_ascii=False, allow_nan=False).encode()
        )

    def finish(self, record: RaceRecord) -> None:
        """Stores the final record, which holds all results, and drops the journal. Raises StoreError."""
        self.write(record)
        try:
            self.journal.unlink(missing_ok=True)
        except OSError as error:
            raise store_error("remove", self.journal, error) from error

    def write_plan(self, text: str) -> None:
        """Stores the plan document. Raises StoreError."""
        write_atomically(self.plan_json, text.encode())

    def read(self) -> RaceRecord:
        """The record; of a race that runs or was killed with every task that finished. Raises StoreError."""
        try:
            record = RaceRecord.from_document(json.loads(self.race_json.read_bytes()))
        except FileNotFoundError:
            raise StoreError(
                f"no race.json in {self.path}",
                hint="the race was killed before it began, or the folder is not a race",
            ) from None
        except OSError as error:
            raise store_error("read", self.race_json, error) from error
        except (ValueError, RecursionError) as error:
            raise StoreError(
                f"{self.race_json} is not readable JSON: {error}", hint="the file is damaged"
            ) from None
        except PacenoteError as error:
            raise StoreError(f"{self.race_json}: {error.message}", hint=error.hint) from None
        return record if record.complete else self._with_journal(record)

    def _with_journal(self, record: RaceRecord) -> RaceRecord:
        known = {task.task for task in record.tasks}
        since = tuple(task for task in self._journalled() if task.task not in known)
        if not since:
            return record
        record = dataclasses.replace(record, tasks=record.tasks + since)
        return dataclasses.replace(record, verdict=determine_verdict(record))

    def _journalled(self) -> Iterator[TaskResult]:
        try:
            lines = self.journal.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        except OSError as error:
            raise store_error("read", self.journal, error) from error
        # A complete line ends in a newline, so what follows the last newline is empty or torn.
        for number, line in enumerate(lines[:-1], start=1):
            try:
                yield TaskResult.from_document(json.loads(line))
            except (ValueError, RecursionError):
                raise StoreError(
                    f"{self.journal}, line {number} is not readable JSON", hint="the file is damaged"
                ) from None
            except PacenoteError as error:
                raise StoreError(f"{self.journal}, line {number}: {error.message}", hint=error.hint) from None


class RaceStore:
    """All races below a home folder (default: `default_home()`). Nothing is created before it is needed."""

    def __init__(self, home: Path | None = None) -> None:
        self.home = home or default_home()
        self.races = self.home / "races"

    def create(self, record: RaceRecord) -> RaceFolder:
        """Makes the folder of a new race and stores the record it starts with.

        Raises StoreError when the id is taken or cannot name a folder, or when nothing can be written.
        """
        if not is_race_id(record.race_id):
            raise StoreError(
                f"'{record.race_id}' cannot be a race id",
                hint="use letters, digits, '.', '_' and '-', at most 128; 'latest' is taken",
            )
        folder = RaceFolder(self.races / record.race_id)
        try:
            self.races.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            folder.path.mkdir(mode=PRIVATE_FOLDER)
            folder.artifacts.mkdir(mode=PRIVATE_FOLDER)
        except FileExistsError:
            raise StoreError(
                f"there is a race '{record.race_id}' already in {self.races}", hint="choose another --race-id"
            ) from None
        except OSError as error:
            raise store_error("create", folder.path, error) from error
        try:
            folder.write(record)
        except StoreError:
            # Nothing was measured yet: leave no empty race behind that blocks its id.
            shutil.rmtree(folder.path, ignore_errors=True)
            raise
        return folder

    def folder(self, reference: str) -> RaceFolder:
        """The folder of a race, by its id, a unique beginning of it, or `latest`. Raises StoreError."""
        if is_race_id(reference) and (self.races / reference).is_dir():
            return RaceFolder(self.races / reference)
        return RaceFolder(self.races / self._resolve(reference))

    def load(self, reference: str) -> RaceRecord:
        """The record of a race; see `folder` for how it can be called. Raises StoreError."""
        return self.folder(reference).read()

    def list(self, wanted: RaceFilter) -> list[RaceSummary]:
        """Races that match, newest first, also those that run or were killed."""
        return self._index().find(wanted)

    def _index(self) -> Index:
        return Index(self.races)

    def _resolve(self, reference: str) -> str:
        if reference == LATEST:
            newest = self.list(RaceFilter(limit=1))
            if not newest:
                raise StoreError(f"there are no races in {self.races}", hint="run one with `pacenote race`")
            return newest[0].race_id
        found = self._index().ids_beginning_with(reference)
        if len(found) == 1:
            return found[0]
        hint = "`pacenote list races` shows what there is"
        if not found:
            raise StoreError(f"there is no race '{reference}' in {self.races}", hint=hint)
        shown = ", ".join(found[:3]) + (", …" if len(found) > 3 else "")
        raise StoreError(
            f"'{reference}' is the beginning of {len(found)} races: {shown}", hint="give more of the id"
        )
