"""Whether the values of a property are distributed alike in two groups of races."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction


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
