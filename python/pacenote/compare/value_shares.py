"""Whether a property differs between two groups of races, or its values are distributed alike in both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction

from pacenote.compare.pairing import PairedRaces
from pacenote.model.comparison import ComparedRace

Sides = tuple[Sequence[ComparedRace], Sequence[ComparedRace]]
"""Races of the baseline and of the contender."""


def differing(races: PairedRaces, value_of: Callable[[ComparedRace], Hashable]) -> Sides | None:
    """Returns the races of both sides between which a property differs: the pairs that do or, without pairs,
    all of them if it is distributed differently. Returns None if it does not differ.
    """
    if races.design == "unpaired":
        values = [list(map(value_of, side)) for side in (races.baseline, races.contender)]
        return (races.baseline, races.contender) if shares_differ(*values) else None
    both = zip(races.baseline, races.contender, strict=True)
    pairs = [(old, new) for old, new in both if value_of(old) != value_of(new)]
    return ([old for old, _ in pairs], [new for _, new in pairs]) if pairs else None


def shares_differ(baseline: Sequence[Hashable], contender: Sequence[Hashable]) -> bool:
    """Returns whether the values, one per race, have different shares in the groups: four of five races
    against one of five differ, although both groups have both values. A group without values is unknown and
    differs from none.
    """
    if not (baseline and contender):
        return False
    return _shares(baseline) != _shares(contender)


def shown_values(
    baseline: Sequence[str | None], contender: Sequence[str | None]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the values of both groups without repetitions; None is no value. If both groups have the same
    values, each has the number of its races, because that is what differs.
    """
    is_counted = {*baseline} - {None} == {*contender} - {None}
    return _shown(baseline, is_counted=is_counted), _shown(contender, is_counted=is_counted)


def _shown(values: Sequence[str | None], *, is_counted: bool) -> tuple[str, ...]:
    counts = {value: count for value, count in Counter(values).items() if value is not None}
    total = len(values)
    return tuple(f"{value} ({count} of {total})" if is_counted else value for value, count in counts.items())


def _shares(values: Sequence[Hashable]) -> dict[Hashable, Fraction]:
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}
