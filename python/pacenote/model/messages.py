"""Names that are nearly right: what a message suggests when a name is unknown."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: ` (did you mean "a" or "b"?)`, empty when nothing is
    near.
    """
    matches = difflib.get_close_matches(name, sorted(set(known)), n=3, cutoff=0.6)
    if not matches:
        return ""
    return f" (did you mean {' or '.join(quoted(match) for match in matches)}?)"


def quoted(name: str) -> str:
    """The name as messages show it."""
    return f'"{name}"'


def quoted_list(names: Iterable[str]) -> str:
    """Several names as messages show them, in their order; `none` when there are none."""
    return ", ".join(quoted(name) for name in names) or "none"
