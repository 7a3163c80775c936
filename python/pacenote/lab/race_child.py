"""Single races of a plan of many: each is a process of its own, and its folder says how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from pacenote.errors import StoreError
from pacenote.lab.child_command import ChildCall, ChildExit, Show, run_children
from pacenote.lab.experiment.options import arguments
from pacenote.lab.planned_record import PlannedRecord
from pacenote.model.experiment import Options, RaceOutcome
from pacenote.model.race_state import race_state
from pacenote.store.file_lock import is_file_shared
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from pacenote.system.paths import written_at

_ENDING_S = 120.0
"""Seconds within which races end whose parent was killed."""

_POLL_S = 0.2


class RaceCall(Struct, frozen=True):
    """A race to run."""

    race_id: str
    """Its id."""

    options: Options
    """Its options, with its seed, tags and id."""

    log: Path
    """The file for its output."""

    folder: Path
    """The folder that paths are relative to."""

    lock: Path
    """The file that its process locks until it has ended."""

    gate: Path | None = None
    """The file that it shares with a race that is to begin its first task at the same time."""


class RaceEnd(Struct, frozen=True):
    """How a race ended, according to its folder."""

    outcome: RaceOutcome
    """Whether it has results."""

    verdict: str = ""
    """The verdict on it; empty if there is no record."""

    ended_at: str = ""
    """When its record was written last, in UTC (ISO 8601); empty if there is none."""

    problem: str = ""
    """Why the record under its id does not count, because it is that of another race; empty if it does, or if
    there is none.
    """


def race_arguments(options: Options) -> tuple[str, ...]:
    """Returns the command of a race of several. It writes no page, unless an option says so: writing each
    would delay the next race, and `pacenote report --html` writes those that are looked at.
    """
    return ("race", "--no-html", "--no-metrics-store", *arguments(options))


def run_races(calls: Sequence[RaceCall], shows: Sequence[Show]) -> tuple[ChildExit, ...]:
    """Runs races at the same time to their ends, as `run_children` does. Raises StoreError.

    They write nothing to a metrics store, because other races may run or begin meanwhile.
    """
    children = [
        ChildCall(race_arguments(call.options), call.log, call.folder, call.lock, call.gate) for call in calls
    ]
    return run_children(children, shows)


def wait_for_races(lock: Path, wait: Callable[[float], None] = time.sleep) -> None:
    """Waits until all races have ended whose processes have locked a file.

    After a kill of their parent they end, but not at once. Raises StoreError if one still runs after two
    minutes. Only one process may wait at a time.
    """
    deadline = time.monotonic() + _ENDING_S
    while is_file_shared(lock):
        if time.monotonic() > deadline:
            raise StoreError(
                "a race is still running that was started before", hint="wait until it has ended"
            )
        wait(_POLL_S)


def race_end(races: RaceStore, race_id: str, planned: PlannedRecord | None, error: str = "") -> RaceEnd:
    """Returns how a race ended that does not run any more. Its folder may be that of another race: `planned`
    is what its record states if it is not, and `error` the message with which its process ended.
    """
    if f"race '{race_id}' already exists" in error:
        return RaceEnd("failed", problem="another race had its id before it began")
    folder = RaceFolder(races.races / race_id)
    try:
        record = folder.read()
        written = written_at(folder.race_json.stat())
    except (StoreError, OSError):
        return RaceEnd("failed")
    if planned is not None and (problem := planned.problem(record)):
        return RaceEnd("failed", problem=problem)
    ended_at = written.isoformat(timespec="seconds")
    outcome: RaceOutcome = "interrupted" if record.interrupted else "failed"
    if race_state(record) == "complete":
        outcome = "raced"
    return RaceEnd(outcome, record.verdict.state, ended_at)
