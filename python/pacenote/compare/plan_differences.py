"""What differs between the plans of tasks in two groups of races: requests, schedule, bounds."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pacenote.compare.value_shares import shares_differ, shown_values
from pacenote.model.comparison import ComparedRace, FactDifference
from pacenote.model.decoding import parse_json
from pacenote.model.printable import shortened_alike

_MAX_VALUES = 10
"""Maximum number of values of a task that are named."""

_MAX_LENGTH = 120
"""Maximum number of characters of a value."""

_MAX_DEPTH = 100
"""Maximum number of names in the full name of a value."""

_FACTS = ("clients", "open_loop")
"""Parts of a plan that are facts of the task, too."""

_Plan = Mapping[str, Any]


def plan_differences(
    baseline: Sequence[ComparedRace], contender: Sequence[ComparedRace], area: str
) -> tuple[list[FactDifference], list[str]]:
    """Returns the values of plans that differ between races with the same seed, on which a plan may depend,
    and notes about those that are too many.
    """
    old, new = _plans(baseline), _plans(contender)
    differences, notes, named = list[FactDifference](), list[str](), set[str]()
    for (name, seed), ones in old.items():
        others = new.get((name, seed))
        if others is None or name in named or not shares_differ(_texts(ones), _texts(others)):
            continue
        named.add(name)
        differing = list(_differing(f"task.{name}.plan", ones, others))
        differences += [FactDifference(area, *each) for each in differing[:_MAX_VALUES]]
        if (more := len(differing) - _MAX_VALUES) > 0:
            notes.append(f"{more:,} more values of the plan of {name} differ")
    return differences, notes


def _plans(races: Sequence[ComparedRace]) -> dict[tuple[str, int], list[_Plan]]:
    """Returns the plans by task and seed."""
    plans: dict[tuple[str, int], list[_Plan]] = {}
    for race in races:
        for name, plan in race.plan.items():
            own = {key: value for key, value in plan.items() if key not in _FACTS}
            plans.setdefault((name, race.record.seed), []).append(own)
    return plans


def _texts(plans: Sequence[_Plan]) -> list[str]:
    return [json.dumps(plan, sort_keys=True) for plan in plans]


def _differing(
    prefix: str, baseline: Sequence[_Plan], contender: Sequence[_Plan]
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yields the keys and values of both sides, without repetitions, of what differs."""
    old, new = ([dict(_leaves(prefix, plan)) for plan in plans] for plans in (baseline, contender))
    for key in dict.fromkeys(itertools.chain(*old, *new)):
        sides = [[leaves.get(key) for leaves in side] for side in (old, new)]
        if shares_differ(*sides):
            ones, others = shown_values(*sides)
            shown = tuple(shortened_alike([*ones, *others], _MAX_LENGTH))
            yield key, shown[: len(ones)], shown[len(ones) :]


def _leaves(key: str, value: object) -> Iterator[tuple[str, str]]:
    """Yields the values of a plan by their full names; bodies are read as JSON if they are."""
    if key.endswith(".body") and isinstance(value, str):
        # What is not JSON stays a text.
        with contextlib.suppress(ValueError, RecursionError):
            value = parse_json(value)
    is_deep = key.count(".") > _MAX_DEPTH
    if isinstance(value, Mapping) and value and not is_deep:
        for name, item in value.items():
            yield from _leaves(f"{key}.{name}", item)
    elif isinstance(value, list) and value and not is_deep:
        for at, item in enumerate(value):
            yield from _leaves(f"{key}.{at}", item)
    else:
        yield key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
