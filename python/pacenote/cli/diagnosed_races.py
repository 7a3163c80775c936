"""Which of the races that `pacenote diagnose` is given can be diagnosed, and what is said of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.errors import StoreError
from pacenote.model.comparison import ComparedRace
from pacenote.model.imported import imported_tasks
from pacenote.model.task_kinds import diagnosed_tasks

_ENDS = {
    "running": "is running",
    "killed": "was killed",
    "interrupted": "was interrupted",
    "aborted": "was aborted",
}
"""What is said of races that are not complete, by their state."""


def unfinished_races(races: Sequence[ComparedRace]) -> Iterator[str]:
    """Yields a warning for each race of which only some tasks can be diagnosed. Raises StoreError for a race
    without any.
    """
    for race in races:
        if not _has_tasks(race):
            raise _nothing_to_diagnose(race)
        if (how := _ENDS.get(race.state)) is not None:
            yield f"race {race.record.race_id} {how}: only the tasks that had finished are diagnosed"


def _has_tasks(race: ComparedRace) -> bool:
    imported = race.record.imported
    if imported is not None:
        return any(task.is_measured for task in imported_tasks(imported.values))
    return bool(diagnosed_tasks(race.record))


def _nothing_to_diagnose(race: ComparedRace) -> StoreError:
    record, name = race.record, f"race {race.record.race_id}"
    if record.imported is not None:
        return StoreError(
            f"{name} was imported, and its file has figures of no task",
            hint="import a file with the throughput or the times of tasks",
        )
    if race.state == "running":
        return StoreError(
            f"{name} is running, and none of its measured tasks has finished",
            hint="diagnose it when it has ended",
        )
    if race.state == "complete":
        return StoreError(
            f"{name} has no task to diagnose: each ran once, or nothing of it was measured",
            hint="diagnose a race that indexes or searches for some time",
        )
    why = f": {record.aborted}" if record.aborted else ""
    return StoreError(
        f"{name} {_ENDS.get(race.state, 'ended')} before a measured task had finished{why}",
        hint="repeat the race, and diagnose that one",
    )
