"""What has changed on the machine since an experiment or a search began, as its journal keeps it; pure."""

from __future__ import annotations

from collections.abc import Sequence

MAX_CHANGES = 100
"""Largest number of changes of the machine that a journal keeps, and that are written to it."""

_MAX_OTHERS = MAX_CHANGES // 2
"""Changes after which other races are not written any more: those of the machine itself have room left."""


def new_changes(known: Sequence[str], machine: Sequence[str], others: Sequence[str]) -> list[str]:
    """Returns what a journal that knows these changes has to note: changes of the machine, and other races,
    no more than a journal keeps.
    """
    new: list[str] = []
    for texts, most in ((machine, MAX_CHANGES), (others, _MAX_OTHERS)):
        left = max(0, most - len(known) - len(new))
        new += [text for text in dict.fromkeys(texts) if text not in known and text not in new][:left]
    return new
