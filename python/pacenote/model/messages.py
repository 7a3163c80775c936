"""Formatting of names in messages, suggestions for unknown names, and the words for defects."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

DEFECT = "a defect of Pacenote"
"""How messages begin about errors in Pacenote's own code, for which neither the engine nor a plug-in is to
blame.
"""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name, ` (did you mean "a" or "b"?)`; empty if no
    name is similar.
    """
    matches = difflib.get_close_matches(name, sorted(set(known)), n=3, cutoff=0.6)
    if not matches:
        return ""
    return f" (did you mean {' or '.join(quoted(match) for match in matches)}?)"


def quoted(name: str) -> str:
    """Returns a name in the form that messages use."""
    return f'"{name}"'


def quoted_list(names: Iterable[str]) -> str:
    """Returns names in the form that messages use, in the given order; `none` if there are no names."""
    return ", ".join(quoted(name) for name in names) or "none"
