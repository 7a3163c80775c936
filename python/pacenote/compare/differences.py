"""What differs between the configurations of two groups of races."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from pacenote.compare.plan_differences import plan_differences
from pacenote.compare.race_diff import (
    RaceConfiguration,
    compare_configurations,
    race_configuration,
    unread_reason,
)
from pacenote.compare.value_shares import shares_differ, shown_values
from pacenote.model.comparison import ComparedRace, FactDifference
from pacenote.model.snapshot import UnreadGroups

_TAGS = "race.user_tags."
_SEED, _CORPORA = "race.seed", "race.corpora."
_READINGS = "Readings"
_TASKS = "Tasks"
_TASK_FACTS = ("clients", "open_loop", "paced")
"""Fields of a task's result that are facts of its load."""

_AREAS = (
    *("Race", _TASKS, "Engine", "Indices", "JVM", "Nodes", "Machine", "Kernel", "Disks", "Network"),
    *("Software", "Driver", _READINGS),
)
"""The areas of facts in the order in which they are shown."""

_Values = Sequence[str | None]
"""The value of a fact in each race, or None where it does not exist."""


def group_differences(
    baseline: Sequence[ComparedRace], contender: Sequence[ComparedRace]
) -> tuple[tuple[FactDifference, ...], tuple[str, ...]]:
    """Returns the facts whose values differ between the groups, and notes about what could not be compared.

    Left out are user tags, readings, and seeds that every race, or every block, has of its own.
    """
    sides = [_configurations(side, (*baseline, *contender)) for side in (baseline, contender)]
    first, *others = (each for side in sides for each in side)
    reference = _completed(first, others)
    areas = dict[str, str]()
    notes = {
        f"not read in {first.name}: {pattern} ({why})": None
        for pattern, why in first.unread.items()
        if pattern not in reference.unread
    }
    for other in others:
        diff = compare_configurations(reference, other)
        notes |= dict.fromkeys(diff.notes)
        for group in diff.groups:
            areas |= {each.key: group.title for each in group.differences}
    facts = (
        _difference(area, key, _values(sides[0], key), _values(sides[1], key))
        for key, area in areas.items()
        if area != _READINGS and not key.startswith(_TAGS)
    )
    plans, more = plan_differences(baseline, contender, _TASKS)
    shown = (*filter(None, facts), *_task_differences(baseline, contender), *plans)
    return tuple(sorted(shown, key=lambda each: _AREAS.index(each.area))), (*notes, *more)


def _configurations(
    side: Sequence[ComparedRace], all_races: Sequence[ComparedRace]
) -> list[RaceConfiguration]:
    """Returns the configurations of races, without snapshots if one of all races lacks its own."""
    with_snapshots = all(race.snapshot is not None for race in all_races)
    return [race_configuration(race.record, race.snapshot if with_snapshots else None) for race in side]


def _completed(first: RaceConfiguration, others: Sequence[RaceConfiguration]) -> RaceConfiguration:
    """Returns the first configuration with the facts that could not be read there, as the first race has them
    that could read them: what differs between the others must not be hidden.
    """
    facts, unread = dict(first.facts), dict(first.unread)
    groups = [(each, _by_group(each.facts, first.groups)) for each in others]
    for pattern in first.unread:
        read = (found.get(pattern, {}) for each, found in groups if pattern not in each.unread)
        if known := next(filter(None, read), None):
            del unread[pattern]
            facts = known | facts
    return dataclasses.replace(first, facts=facts, unread=unread)


def _by_group(facts: Mapping[str, str], groups: UnreadGroups) -> dict[str, dict[str, str]]:
    """Returns the facts that another race could not read, by the entry of its `unread`."""
    by_group: dict[str, dict[str, str]] = {}
    for key, value in facts.items():
        for group in groups.of(key):
            by_group.setdefault(group, {})[key] = value
    return by_group


def _values(side: Sequence[RaceConfiguration], key: str) -> _Values:
    """Returns the values of a fact, without those of races that could not read it."""
    return [each.facts.get(key) for each in side if key in each.facts or unread_reason(each, key) is None]


def _difference(area: str, key: str, baseline: _Values, contender: _Values) -> FactDifference | None:
    """Returns a fact that may explain a difference between the groups, or None if it cannot."""
    if not shares_differ(baseline, contender):
        return None
    is_seed = key == _SEED or (key.startswith(_CORPORA) and key.endswith(".seed"))
    if is_seed and max(len(set(baseline)), len(set(contender))) > 1:
        return None
    return FactDifference(area, key, *shown_values(baseline, contender))


def _task_differences(
    baseline: Sequence[ComparedRace], contender: Sequence[ComparedRace]
) -> Iterator[FactDifference]:
    old, new = _task_facts(baseline), _task_facts(contender)
    # Tasks that only one side has are a finding.
    for key in (key for key in old if key in new):
        if (difference := _difference(_TASKS, key, old[key], new[key])) is not None:
            yield difference


def _task_facts(races: Sequence[ComparedRace]) -> Mapping[str, list[str]]:
    facts: dict[str, list[str]] = {}
    for race in races:
        for task in race.record.tasks:
            for name in _TASK_FACTS:
                facts.setdefault(f"task.{task.task}.{name}", []).append(str(getattr(task, name)).lower())
    return facts
