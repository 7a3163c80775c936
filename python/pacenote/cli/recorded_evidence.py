"""The evidence that stored races have: from the files of their folders to the figures of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.cli.recorded_figures import add_recorded_figures
from pacenote.cli.reported_hosts import add_reported_hosts
from pacenote.diagnose.facts import Evidence, EvidenceBuilder
from pacenote.diagnose.pair_facts import add_pair_figures, changed_options, one_race
from pacenote.diagnose.race_facts import race_builder
from pacenote.diagnose.snapshot_facts import add_snapshot_figures
from pacenote.errors import StoreError
from pacenote.model.comparison import ComparedRace, ComparisonOptions
from pacenote.store.race_folder import RaceFolder

if TYPE_CHECKING:
    from pacenote.store.race_groups import FoundGroup

_VARIANT = "variant"
"""The user tag with which experiments name the configuration of a race."""


def read_evidence(group: FoundGroup) -> tuple[Evidence, ...]:
    """Returns the evidence of each race; several races are compared with each other."""
    sides = split_sides(group.races)
    found = []
    for race in group.races:
        builder = _race_evidence(race, group.folders[race.key])
        _add_comparison(builder, sides)
        evidence = builder.build()
        # A race that is running still writes its files: they are not damaged.
        found.append(replace(evidence, unread=()) if race.state == "running" else evidence)
    return tuple(found)


def split_sides(
    races: Sequence[ComparedRace],
) -> tuple[tuple[ComparedRace, ...], tuple[ComparedRace, ...]]:
    """Returns the races with the configuration of the first one, and the others. Two races are one each."""
    if len(races) == 2:
        return (races[0],), (races[1],)
    own = tuple(race for race in races if _is_alike(races[0], race))
    return own, tuple(race for race in races if race not in own)


def _is_alike(first: ComparedRace, other: ComparedRace) -> bool:
    sides = [race.record.imported.side if race.record.imported else "" for race in (first, other)]
    variants = [race.record.user_tags.get(_VARIANT) for race in (first, other)]
    return (
        sides[0] == sides[1]
        and variants[0] == variants[1]
        and not changed_options(first.record, other.record)
    )


def _race_evidence(race: ComparedRace, folder: Path) -> EvidenceBuilder:
    builder = race_builder(race.record)
    add_snapshot_figures(builder, race.record, race.snapshot)
    if race.record.imported is None:
        if race.snapshot is None and (damage := _snapshot_damage(folder)):
            builder.damaged(damage)
        add_recorded_figures(builder, race.record, folder)
        add_reported_hosts(builder, race.record, race.snapshot, folder)
    return builder


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
