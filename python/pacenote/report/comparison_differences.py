"""What differs between the configurations of two groups, as tables show it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from pacenote.model.comparison import FactDifference
from pacenote.units import format_bytes, format_count

_DIGITS = re.compile(r"\d{7,18}", re.ASCII)
_NODE = "node."
_MEBIBYTE = 1 << 20


def shown_differences(differences: Sequence[FactDifference]) -> list[FactDifference]:
    """Returns the facts, those of nodes with readable sizes. Sizes of nodes with the same values are one
    fact: the JVM repeats the size of its heap in many arguments, flags and figures.
    """
    groups: dict[tuple[object, ...], list[FactDifference]] = {}
    for difference in differences:
        shown = _with_sizes(difference) if difference.key.startswith(_NODE) else difference
        same = (
            (difference.area, difference.key)
            if shown is difference
            else (difference.baseline, difference.contender)
        )
        groups.setdefault(same, []).append(shown)
    return [
        replace(same[0], key=f"{same[0].key} and {format_count(len(same) - 1, 'other size')} of nodes")
        if len(same) > 1
        else same[0]
        for same in groups.values()
    ]


def _with_sizes(difference: FactDifference) -> FactDifference:
    """Returns a fact with readable sizes, or as it is if it has none, or if they do not show what differs."""
    old, new = (tuple(map(_size, values)) for values in (difference.baseline, difference.contender))
    if old == new or (old, new) == (difference.baseline, difference.contender):
        return difference
    return replace(difference, baseline=old, contender=new)


def _size(value: str) -> str:
    """Returns a number of bytes with its unit: a multiple of 1 MiB is hardly another number."""
    count = int(value) if _DIGITS.fullmatch(value) else 0
    return format_bytes(count) if count and count % _MEBIBYTE == 0 else value
