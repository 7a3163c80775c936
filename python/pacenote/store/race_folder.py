"""The folder of one race: its record, the results of its tasks, its plan, and the names of its other files.

    <race-id>/
    ├── race.json          the record; `complete` is true if the race ran to its end
    ├── tasks.jsonl        results of finished tasks, one per line, until race.json contains them
    ├── .race.json.reserved   room for the final record, until it is written
    ├── plan.json          the plan as it was driven, without secrets
    ├── snapshot.json      configuration of the engine and the machine, before and after the race
    ├── samples.parquet    written by the Rust core, as is series.parquet; only their names are defined here
    ├── series.parquet
    ├── report.html        the report as a page
    ├── recovery.json      what was lost of the files of the driver, written by the Rust core
    ├── saturation.json    the result of `pacenote saturate`, after every probe
    ├── .saturation.json.reserved   room for the final result, until it is written
    ├── probes/            a folder with the driver's files for each probe of `pacenote saturate`
    ├── telemetry.parquet  values of engine and hosts over time, written by the Rust core
    └── artifacts/         engine logs, recordings, reports

A race that was killed is readable up to its last finished task: its `race.json` is the record that it started
with, and `tasks.jsonl` contains the results since. A line that is incomplete because of the kill is omitted,
and so are other damaged lines and a journal that cannot be read; the verdict states them.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import PacenoteError, StoreError
from pacenote.figures.rally_results import stored_document
from pacenote.model.codec import Stored, decode, encode
from pacenote.model.document_checks import DocumentCheck
from pacenote.model.headline import early_end
from pacenote.model.printable import encodable, shortened, single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.redaction import redact_record, redact_result, redact_snapshot, stored_secrets
from pacenote.model.result import TaskResult
from pacenote.model.saturation import SaturationResult
from pacenote.model.secrets import redact_value
from pacenote.model.snapshot import RaceSnapshot
from pacenote.model.system_metrics import SystemMetrics
from pacenote.model.task_observations import KEY as OBSERVATIONS
from pacenote.store.atomic_files import (
    ANY_TEMPORARY,
    append_line,
    remove_abandoned,
    store_error,
    write_atomically,
)
from pacenote.store.json_file import parse_stored, read_json
from pacenote.store.progress_file import PROGRESS_FILE
from pacenote.store.redacted_file import redact_logs
from pacenote.store.reserved_file import ReservedFile, is_locked, release_abandoned, release_rest
from pacenote.system.paths import is_dir, is_link, paths_in
from pacenote.system.regular_files import MAX_FILE_BYTES, read_stored_file
from pacenote.units import format_bytes, format_count
from pacenote.verdict.unfinished import with_journal

RESULT_BYTES = 8 << 10
"""Room for the values of a task's result, or of a sub-operation's, without names and errors."""

ERRORS_BYTES = 33 * (2 << 10)
"""Room for the errors of a task or sub-operation: 33 groups, each with up to 600 characters of an engine."""

RECORD_BYTES = 128 << 10
"""Room for what is added to the record at its end, without results."""

SATURATION_BYTES = 128 << 10
"""Room for what one more probe and the end of a search add to the result of a saturation."""

_NAME_COPIES = 4
"""How often a result contains each name: in the result itself, and in the table for Rally."""

_INDENTATION = 1.5
"""How much larger a result is in the record, which is indented and repeats some values for Rally."""

_MAX_NAMED_LOSSES = 20
"""Largest number of losses that are named of a folder; others may write any number."""

_MAX_DAMAGED_LINES = 1_000
"""Damaged lines of a journal after which it is not read any further: a race writes a line for each task."""


class ReachedStep(Struct, frozen=True):
    """How far a race got."""

    step: int
    """Number of the step that it has reached, from 1."""

    steps: int
    """Number of the steps of its plan."""

    tasks: tuple[str, ...]
    """Tasks of this step that have not ended, or were cut off."""

    not_run: tuple[str, ...]
    """Tasks of later steps."""


class ExpectedResult(Struct, frozen=True):
    """The names in the result of a task that will run, which determine its largest size."""

    task: str
    """Name of the task."""

    operation: str
    """Name of its operation."""

    sub_operations: tuple[str, ...] = ()
    """Names of the known sub-operations of a composite operation."""

    @property
    def max_bytes(self) -> int:
        """The largest size of the result in the journal, unless a plug-in returns hundreds of values."""
        names = (self.task, self.operation, *self.sub_operations)
        bytes_of_names = sum(len(json.dumps(name, ensure_ascii=False).encode()) for name in names)
        parts = 1 + len(self.sub_operations)
        return _NAME_COPIES * bytes_of_names + parts * (RESULT_BYTES + ERRORS_BYTES)


class RaceFolder:
    """The files of one race. Only the race itself writes to them; they can be read at any time."""

    def __init__(
        self, path: Path, secrets: frozenset[str] = frozenset(), *, is_outside: bool = False
    ) -> None:
        """`secrets` are removed from everything that is stored. `is_outside` is whether the folder is not one
        of the races of a home: its name may be any, such as that of an artifact, and the files state the id.
        """
        self.path = path
        self.stated_id = ""
        """The id that a record states which was read, if the folder has another name; otherwise empty."""
        self._is_outside = is_outside
        self._final_record: ReservedFile | None = None
        self._final_saturation: ReservedFile | None = None
        self._final_bytes = 0
        self.secrets = secrets

    @property
    def _name(self) -> str:
        """The id of a race of a home, whatever the files in its folder say: they may have been copied, or
        written by someone else, to be taken for another race.
        """
        return encodable(self.path.absolute().name)

    @property
    def other_name(self) -> str:
        """A sentence about a race of a home whose record was read and states another id; otherwise empty."""
        if self._is_outside or not self.stated_id:
            return ""
        stated = shortened(single_line(self.stated_id), 60)
        return f"{self.path} is race {self._name} by its name, but says that it is race {stated}"

    @property
    def race_json(self) -> Path:
        """The race record."""
        return self.path / "race.json"

    @property
    def journal(self) -> Path:
        """Results of finished tasks while the race runs."""
        return self.path / "tasks.jsonl"

    @property
    def plan_json(self) -> Path:
        """The plan as it is driven, without secrets."""
        return self.path / "plan.json"

    @property
    def snapshot(self) -> Path:
        """The configuration of the engine and the machine; races of older versions do not have it."""
        return self.path / "snapshot.json"

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
        """Values of engine and hosts over time; races of older versions do not have it."""
        return self.path / "telemetry.parquet"

    @property
    def artifacts(self) -> Path:
        """Folder for logs, recordings and reports."""
        return self.path / "artifacts"

    @property
    def page(self) -> Path:
        """The report as a page."""
        return self.path / "report.html"

    @property
    def progress_file(self) -> Path:
        """How far the tasks are that run."""
        return self.path / PROGRESS_FILE

    @property
    def saturation(self) -> Path:
        """The result of `pacenote saturate`; other races do not have it."""
        return self.path / "saturation.json"

    @property
    def probes(self) -> Path:
        """Folder for the probes of `pacenote saturate`."""
        return self.path / "probes"

    def driver_folders(self) -> tuple[Path, ...]:
        """Returns the folders that contain files of the driver: the race's own, and those of its probes.

        Links in a race folder are not followed, because files are written to these folders.
        """
        probes = () if is_link(self.probes) else paths_in(self.probes)
        return (self.path, *(probe for probe in probes if not is_link(probe)))

    def unfinished_files(self) -> tuple[Path, ...]:
        """Returns the driver's files that exist only while it runs, and after it was killed."""
        names = ("series.jsonl", "samples.directory", "telemetry.jsonl")
        paths = (folder / name for folder in self.driver_folders() for name in names)
        return tuple(path for path in paths if os.path.lexists(path))

    def losses(self) -> tuple[str, ...]:
        """Returns a sentence for each loss that was found when the driver's files were completed."""
        return tuple(loss for folder in self.driver_folders() for loss in _losses(folder))

    def reserve(self, results: Sequence[ExpectedResult]) -> None:
        """Reserves room on the disk for these results and for the final record.

        Results are then stored even if samples or the engine fill the disk. Raises StoreError if there is too
        little room.
        """
        journal_bytes = sum(result.max_bytes for result in results)
        ReservedFile(self.journal, journal_bytes).close()
        self._final_bytes = RECORD_BYTES + int(journal_bytes * _INDENTATION)
        self._final_record = ReservedFile(self._reserved, self._final_bytes)

    def is_in_use(self) -> bool:
        """Returns whether another process runs the race."""
        return is_locked(self._reserved)

    def release_abandoned_room(self) -> None:
        """Releases the room that a killed race had reserved, and removes what it had begun to write."""
        release_abandoned(self._reserved_saturation)
        if release_abandoned(self._reserved):
            release_rest(self.journal)
        if not self.is_in_use():
            remove_abandoned(self.path)
            with contextlib.suppress(OSError):
                self.progress_file.unlink(missing_ok=True)

    @property
    def _reserved(self) -> Path:
        return self.path / ".race.json.reserved"

    @property
    def _reserved_saturation(self) -> Path:
        return self.path / ".saturation.json.reserved"

    def write(self, record: RaceRecord) -> None:
        """Replaces the stored record, and reserves room for the final one, which contains it.

        If that fails, the old one remains and StoreError is raised.
        """
        text = self._text(record)
        if self._final_record is not None:
            self._final_record.reserve(self._final_bytes + len(text))
        write_atomically(self.race_json, text)

    def _text(self, record: RaceRecord) -> bytes:
        """Returns the content of the file of a record: without what a cluster reports, if it could otherwise
        not be read.
        """
        text = b""
        try:
            text = self._complete_text(record)
            problem = _unreadable(text)
        except ValueError as error:
            problem = f"cannot be written: {error}"
        if not problem:
            return text
        reduced = self._complete_text(_without_reported(record, problem))
        return text if text and _unreadable(reduced) else reduced

    def _complete_text(self, record: RaceRecord) -> bytes:
        document = stored_document(redact_record(record, self.secrets))
        # The encoder of `json` is much slower with `indent`.
        text = encodable(json.dumps(document, ensure_ascii=False, allow_nan=False))
        return msgspec.json.format(text, indent=1).encode()

    def write_saturation(self, result: SaturationResult) -> None:
        """Replaces the stored result of a saturation. If that fails, the old one remains and StoreError is
        raised.

        If room is reserved, it then suffices for this result and what is added to it next.
        """
        text = self._saturation_text(result)
        if self._final_saturation is not None:
            self._final_saturation.reserve(SATURATION_BYTES + len(text))
        write_atomically(self.saturation, text)

    def reserve_saturation(self) -> None:
        """Reserves room for the result of a saturation. Raises StoreError if there is too little."""
        self._final_saturation = ReservedFile(self._reserved_saturation, SATURATION_BYTES)

    def finish_saturation(self, result: SaturationResult) -> None:
        """Stores the final result of a saturation in its reserved room. Raises StoreError."""
        text, reserved = self._saturation_text(result), self._final_saturation
        self._final_saturation = None
        if reserved is not None:
            try:
                reserved.become(self.saturation, text)
                return
            except StoreError:
                # It was too small, or removed.
                reserved.remove()
        write_atomically(self.saturation, text)

    def _saturation_text(self, result: SaturationResult) -> bytes:
        document = redact_value(result.to_document(), self.secrets)
        return encodable(json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)).encode()

    def read_saturation(self) -> SaturationResult | None:
        """Returns the stored result of a saturation, or None if the race is not one. Raises StoreError."""
        try:
            result = SaturationResult.from_document(read_json(self.saturation))
            return result if self._is_outside else replace(result, race_id=self._name)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise store_error("read", self.saturation, error) from error
        except (ValueError, PacenoteError) as error:
            raise StoreError(f"{self.saturation} is not a result of saturate: {error}") from error

    def append(self, result: TaskResult) -> None:
        """Adds the result of a finished task to the journal, durably. Raises StoreError."""
        result = redact_result(result, self.secrets)
        line = json.dumps(result.to_document(), ensure_ascii=False, allow_nan=False)
        append_line(self.journal, encodable(line).encode())

    def finish(self, record: RaceRecord, *, keep_damaged_journal: bool = False) -> None:
        """Stores the final record, which contains all results, and deletes the journal. Raises StoreError.

        A journal that cannot be deleted does no harm: its results are in the record. `keep_damaged_journal`
        is for a record whose results were read from the journal: what is damaged is not in it.
        """
        text = self._text(record)
        if not self._write_to_reserved_room(text):
            write_atomically(self.race_json, text)
            if self._final_record is not None:
                self._final_record.remove()
        self._final_record = None
        if keep_damaged_journal and self._read_journal()[1]:
            release_rest(self.journal)
            return
        with contextlib.suppress(OSError):
            self.journal.unlink(missing_ok=True)

    def _write_to_reserved_room(self, text: bytes) -> bool:
        """Returns False if there is no reserved room, if it is too small, or if it was removed."""
        if self._final_record is None:
            return False
        try:
            self._final_record.become(self.race_json, text)
        except StoreError:
            return False
        return True

    def redact_logs(self) -> None:
        """Removes secrets from the logs that an engine has written. Call it when the engine has ended.

        Raises StoreError, after all of them, if a log cannot be replaced or was too large and is deleted.
        """
        # What is behind a link is not written to.
        nodes = () if is_link(self.artifacts) else filter(is_dir, paths_in(self.artifacts))
        folders = [folder for folder in (self.artifacts, *nodes) if not is_link(folder)]
        for folder in folders:
            # A copy of a large log may remain of a process that was killed.
            remove_abandoned(folder, ANY_TEMPORARY)
        redact_logs((path for folder in folders for path in paths_in(folder)), self.secrets)

    def write_plan(self, text: str) -> None:
        """Stores the plan document. Raises StoreError."""
        write_atomically(self.plan_json, text.encode())

    def plan_problem(self, record: RaceRecord) -> str | None:
        """Returns a sentence if the stored plan is not the one that was run, as its checksum shows."""
        if record.plan is None:
            return None
        try:
            digest = hashlib.sha256(read_stored_file(self.plan_json)).hexdigest()
        except FileNotFoundError:
            return f"{self.plan_json} is missing"
        except OSError as error:
            return store_error("read", self.plan_json, error).message
        same = digest == record.plan.sha256
        return None if same else f"{self.plan_json} was changed: its checksum is not that in race.json"

    def write_page(self, text: str) -> None:
        """Stores the report as a page, which replaces an earlier one. Raises StoreError."""
        write_atomically(self.page, text.encode())

    def write_snapshot(self, snapshot: RaceSnapshot) -> None:
        """Stores the configuration of the engine and the machine, without secrets. Raises StoreError."""
        document = redact_snapshot(snapshot, self.secrets).to_document()
        text = json.dumps(document, ensure_ascii=False, indent=1)
        write_atomically(self.snapshot, encodable(text).encode())

    def read_snapshot(self) -> RaceSnapshot | None:
        """Returns the stored configuration, or None if the race has none. Raises StoreError."""
        try:
            return RaceSnapshot.from_document(read_json(self.snapshot))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise store_error("read", self.snapshot, error) from error
        except (ValueError, RecursionError, PacenoteError) as error:
            raise StoreError(f"{self.snapshot} cannot be read: {error}") from error

    def read(self) -> RaceRecord:
        """Returns the record, with all finished tasks if the race is running or was killed, and without the
        secrets that an older version may have stored.

        Raises StoreError.
        """
        try:
            document = read_json(self.race_json)
            record, secrets = RaceRecord.from_document(document), stored_secrets(document)
        except (FileNotFoundError, NotADirectoryError):
            raise StoreError(
                f"no race.json in {self.path}",
                hint="the race was killed before it began, or this is not the folder of a race",
            ) from None
        except OSError as error:
            raise store_error("read", self.race_json, error) from error
        except (ValueError, RecursionError) as error:
            raise StoreError(
                f"{self.race_json} is not readable JSON: {error}",
                hint="the file is damaged: restore it from a copy, or delete the race",
            ) from None
        except PacenoteError as error:
            raise StoreError(f"{self.race_json}: {error.message}", hint=error.hint) from None
        if not record.complete:
            record = with_journal(record, *self._read_journal())
        self.stated_id = record.race_id if record.race_id != self._name else ""
        if not self._is_outside:
            record = replace(record, race_id=self._name)
        return redact_record(record, secrets)

    def planned_steps(self) -> tuple[tuple[str, ...], ...]:
        """Returns the tasks of each step of the plan; none if the plan is not stored yet or not readable."""
        try:
            plan = read_json(self.plan_json)
            names = [task["name"] for task in plan["tasks"]]
            steps = tuple(
                tuple(dict.fromkeys(names[position] for position in _planned_tasks(step)))
                for step in plan["steps"]
            )
        except (OSError, ValueError, RecursionError, LookupError, TypeError):
            return ()
        return steps if all(isinstance(name, str) for step in steps for name in step) else ()

    def reached(self, record: RaceRecord) -> ReachedStep | None:
        """Returns how far a race got that is still running or ended early, or None if its plan is
        not known.
        """
        steps = self.planned_steps()
        return reached_step(record, steps) if steps else None

    def _read_journal(self) -> tuple[list[TaskResult], str]:
        """Returns the results in the journal, and what of it cannot be read, or empty text."""
        try:
            lines = io.BytesIO(read_stored_file(self.journal))
        except FileNotFoundError:
            return [], ""
        except OSError as error:
            return [], f"{store_error('read', self.journal, error).message}, so results are missing"
        results, damaged, after, rest = [], 0, "", b""
        # Each complete line ends with a newline; text after the last newline is an incomplete line, or one
        # that the race is just writing. The rest is reserved room.
        for line in lines:
            if not line.endswith(b"\n"):
                rest = line
                break
            if damaged == _MAX_DAMAGED_LINES:
                after = " and all after them"
                break
            try:
                results.append(TaskResult.from_document(parse_stored(line)))
            except (ValueError, RecursionError, PacenoteError):
                damaged += 1
        is_cut = bool(rest.strip(b"\0")) and not self.is_in_use()
        left_out = [f"{format_count(damaged, 'damaged line')}{after}"] if damaged else []
        left_out += ["the incomplete last line"] if is_cut else []
        lost = f"{' and '.join(left_out)} of {self.journal.name} left out: results are lost"
        return results, lost if left_out else ""


def reached_step(record: RaceRecord, steps: Sequence[Sequence[str]]) -> ReachedStep:
    """Returns how far a race got whose plan has these tasks by step; there is at least one step."""
    ended = {result.task for result in record.tasks if early_end(result) is None}
    before = min(sum(ended.issuperset(step) for step in steps), len(steps) - 1)
    begun = {result.task for result in record.tasks}.union(steps[before])
    return ReachedStep(
        before + 1,
        len(steps),
        tuple(name for name in steps[before] if name not in ended),
        tuple(name for step in steps for name in step if name not in begun),
    )


def _planned_tasks(step: Mapping[str, Any]) -> Iterator[int]:
    """Yields the positions of the tasks that the clients of a step run, in any version of the plan."""
    allocations = step["client_allocations"] if "client_allocations" in step else step["slots"]
    for client in allocations:
        for allocation in client["allocations"]:
            yield allocation["task"]


def _unreadable(text: bytes) -> str:
    """Returns why the content of the file of a record cannot be read; empty if it can."""
    if len(text) > MAX_FILE_BYTES:
        return f"exceeds {format_bytes(MAX_FILE_BYTES)}"
    try:
        RaceRecord.from_document(parse_stored(text))
    except (ValueError, RecursionError, PacenoteError) as error:
        return f"cannot be read: {error}"
    return ""


def _without_reported(record: RaceRecord, problem: str) -> RaceRecord:
    """Returns a record without what a cluster reports, with the problem of a record that has it; figures and
    documents stay if they can be read.
    """
    return replace(
        record,
        cluster=replace(record.cluster, nodes=()),
        system=record.system if _can_be_read(record.system) else SystemMetrics(),
        documents=tuple(map(_readable_check, record.documents)),
        # What the verdict depends on is Pacenote's own.
        telemetry={key: value for key, value in record.telemetry.items() if key == OBSERVATIONS},
        telemetry_errors=(f"what the cluster reports is left out: with it, the record {problem}",),
    )


def _readable_check(check: DocumentCheck) -> DocumentCheck:
    if _can_be_read(check):
        return check
    return replace(check, counted=None, count_problem="the number of documents cannot be stored")


def _can_be_read(value: Stored) -> bool:
    try:
        decode(type(value), encode(value), "value")
    except PacenoteError:
        return False
    return True


def _losses(folder: Path) -> Iterator[str]:
    try:
        losses = read_json(folder / "recovery.json")["losses"]
        yield from (f"{folder}: {loss}" for loss in losses[:_MAX_NAMED_LOSSES])
        if len(losses) > _MAX_NAMED_LOSSES:
            yield f"{folder}: {len(losses) - _MAX_NAMED_LOSSES:,} others, listed in recovery.json"
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        yield f"{folder / 'recovery.json'} is not readable; it says what the race lost"
