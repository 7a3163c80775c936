"""Formatting of names in messages, suggestions for unknown names, and the words for defects."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

DEFECT = "a defect of Pacenote"
"""How messages begin about errors in Pacenote's own code, for which neither the engine nor a plug-in is to
blame.
"""

_SIMILAR = 0.65
"""The smallest similarity, from 0 to 1, of a name that is suggested."""

_AS_SIMILAR = 0.1
"""How much less similar than the first suggestion the others may be."""


def similar_names(name: str, known: Iterable[str]) -> list[str]:
    """Returns at most three known names that an unknown name may be a misspelling of, the best one first."""
    # The similarity is at most that of two names of which the longer one begins with the shorter one. A long
    # value is not compared with short names, because that takes time and finds nothing.
    lengths = (_SIMILAR * len(name) / (2 - _SIMILAR), (2 - _SIMILAR) * len(name) / _SIMILAR)
    near = sorted({other for other in known if lengths[0] <= len(other) + 1 and len(other) - 1 <= lengths[1]})
    matches = difflib.get_close_matches(name, near, n=3, cutoff=_SIMILAR) if near else []
    ratios = [difflib.SequenceMatcher(None, match, name).ratio() for match in matches]
    return [match for match, ratio in zip(matches, ratios, strict=True) if ratio >= ratios[0] - _AS_SIMILAR]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name, ` (did you mean "a" or "b"?)`; empty if no
    name is similar.
    """
    matches = similar_names(name, known)
    if not matches:
        return ""
    return f" (did you mean {' or '.join(quoted(match) for match in matches)}?)"


def quoted(name: str) -> str:
    """Returns a name in the form that messages use."""
    return f'"{name}"'


def quoted_list(names: Iterable[str]) -> str:
    """Returns names in the form that messages use, in the given order; `none` if there are no names."""
    return ", ".join(quoted(name) for name in names) or "none"


def list_with_rest(names: Sequence[str], named: int) -> str:
    """Returns at most `named` names as they are, and the number of the others."""
    more = f" and {len(names) - named} more" if len(names) > named else ""
    return ", ".join(names[:named]) + more
