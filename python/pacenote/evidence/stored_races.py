"""The evidence that stored races have: from the files of their folders to the figures of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pacenote.diagnose.cluster_facts import add_cluster_states
from pacenote.diagnose.engine_host_facts import add_engine_host_figures
from pacenote.diagnose.facts import Evidence, EvidenceBuilder
from pacenote.diagnose.pair_facts import add_pair_figures, changed_options, one_race
from pacenote.diagnose.race_facts import race_builder
from pacenote.diagnose.snapshot_facts import add_snapshot_figures
from pacenote.errors import PacenoteError, StoreError
from pacenote.evidence.recorded_figures import RecordingListener, add_recorded_figures
from pacenote.model.comparison import ComparedRace, ComparisonOptions
from pacenote.model.imported import imported_tasks
from pacenote.model.race_record import RaceRecord
from pacenote.model.reported_cpu import node_places
from pacenote.model.sampler_facts import SamplerFacts, sampler_facts
from pacenote.model.snapshot import RaceSnapshot
from pacenote.model.task_kinds import diagnosed_tasks
from pacenote.store.json_file import read_json
from pacenote.store.race_folder import RaceFolder

if TYPE_CHECKING:
    from pacenote.store.race_groups import FoundGroup

_VARIANT = "variant"
"""The user tag with which experiments name the configuration of a race."""

_ENDS = {
    "running": "is running",
    "killed": "was killed",
    "interrupted": "was interrupted",
    "aborted": "was aborted",
}
"""What is said of races that are not complete, by their state."""


def read_evidence(group: FoundGroup, listener: RecordingListener | None = None) -> tuple[Evidence, ...]:
    """Returns the evidence of each race; several races are compared with each other. `listener` also gets the
    recordings.
    """
    sides = split_sides(group.races)
    evidence_of_races = []
    for race in group.races:
        builder = _race_evidence(race, group.folders[race.key], listener)
        _add_comparison(builder, sides)
        evidence = builder.build()
        # A race that is running still writes its files: they are not damaged.
        evidence_of_races.append(replace(evidence, unread=()) if race.state == "running" else evidence)
    return tuple(evidence_of_races)


def split_sides(
    races: Sequence[ComparedRace],
) -> tuple[tuple[ComparedRace, ...], tuple[ComparedRace, ...]]:
    """Returns the races with the configuration of the first one, and the others. Two races are one each."""
    if len(races) == 2:
        return (races[0],), (races[1],)
    alike = tuple(race for race in races if _is_alike(races[0], race))
    return alike, tuple(race for race in races if race not in alike)


def _is_alike(first: ComparedRace, other: ComparedRace) -> bool:
    sides = [race.record.imported.side if race.record.imported else "" for race in (first, other)]
    variants = [race.record.user_tags.get(_VARIANT) for race in (first, other)]
    return (
        sides[0] == sides[1]
        and variants[0] == variants[1]
        and not changed_options(first.record, other.record)
    )


def _race_evidence(race: ComparedRace, folder: Path, listener: RecordingListener | None) -> EvidenceBuilder:
    builder = race_builder(race.record)
    add_snapshot_figures(builder, race.record, race.snapshot, lambda: _plan(folder))
    if race.record.imported is None:
        if race.snapshot is None and (damage := _snapshot_damage(folder)):
            builder.damaged(damage)
        add_recorded_figures(builder, race.record, folder, listener)
        add_reported_hosts(builder, race.record, race.snapshot, folder)
    return builder


def _plan(folder: Path) -> object:
    """Returns the document of the plan of a race, or None if it cannot be read."""
    try:
        return read_json(RaceFolder(folder).plan_json)
    except (OSError, ValueError, RecursionError):
        return None


def _snapshot_damage(folder: Path) -> str:
    """Returns why a snapshot that exists was not read, or an empty string."""
    try:
        RaceFolder(folder).read_snapshot()
    except StoreError as error:
        return error.message
    return ""


def _add_comparison(
    builder: EvidenceBuilder, sides: tuple[Sequence[ComparedRace], Sequence[ComparedRace]]
) -> None:
    baseline, contender = sides
    if len(baseline) + len(contender) == 1:
        one_race(builder)
        return
    from pacenote.compare.groups import compare_groups  # Slow to import.

    comparison = compare_groups(baseline, contender, ComparisonOptions()) if contender else None
    records = [[race.record for race in side] for side in sides]
    add_pair_figures(builder, records[0], records[1], comparison)


def add_reported_hosts(
    builder: EvidenceBuilder, record: RaceRecord, snapshot: RaceSnapshot | None, folder: Path
) -> None:
    """Adds what the nodes report about hosts that are not sampled, and about the cluster; the configuration
    has been added. A file that cannot be read adds nothing.
    """
    from pacenote.evidence.telemetry_values import telemetry_cuts  # Slow to import.

    try:
        cuts = telemetry_cuts(folder / "telemetry.parquet", record.tasks)
    except PacenoteError:
        return  # That is the reason why the node counters are missing.
    sampled = (sampler_facts(record.telemetry) or SamplerFacts()).nodes
    parts = (snapshot.before, snapshot.after) if snapshot is not None else ()
    facts = {key: value for part in parts if part is not None for key, value in part.facts.items()}
    add_engine_host_figures(builder, cuts, sampled, node_places(record.cluster.nodes, facts, sampled))
    add_cluster_states(builder, cuts, facts)


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
