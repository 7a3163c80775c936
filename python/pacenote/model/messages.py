"""How messages write names, and what they suggest for an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name, ` (did you mean "a" or "b"?)`; empty without
    similar names.
    """
    matches = difflib.get_close_matches(name, sorted(set(known)), n=3, cutoff=0.6)
    if not matches:
        return ""
    return f" (did you mean {' or '.join(quoted(match) for match in matches)}?)"


def quoted(name: str) -> str:
    """Returns a name as messages write it."""
    return f'"{name}"'


def quoted_list(names: Iterable[str]) -> str:
    """Returns several names as messages write them, in their order; `none` for an empty list."""
    return ", ".join(quoted(name) for name in names) or "none"
