"""How ids of races are shortened, and which of them could be taken for others."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence

SHORT_ID = 8
"""Length of the shortest beginning of an id that is shown."""

_GENERATED_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


_BEGINNING = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,27}")


def is_generated(race_id: str) -> bool:
    """Returns whether an id is one that Pacenote chooses. Only these are shortened."""
    return _GENERATED_ID.fullmatch(race_id) is not None


def short_id(race_id: str, among: Iterable[str]) -> str:
    """Returns the beginning of an id that Pacenote chose with which no other one of `among` begins, and any
    other id as it is.
    """
    if not is_generated(race_id):
        return race_id
    others = [other for other in among if other != race_id]
    beginnings = (race_id[:length] for length in range(SHORT_ID, len(race_id)))
    unique = (text for text in beginnings if not any(other.startswith(text) for other in others))
    return next(unique, race_id)


def shortened_to(text: str, ids: Iterable[str]) -> Iterator[str]:
    """Yields the other ids that a text may be the short form of."""
    if can_be_short(text):
        yield from (each for each in ids if each != text and is_generated(each) and each.startswith(text))


def can_be_short(text: str) -> bool:
    """Returns whether a text may be the short form of an id that Pacenote chose."""
    return _BEGINNING.fullmatch(text) is not None


def is_taken_for_another(race_id: str, ids: Sequence[str]) -> bool:
    """Returns whether an id would be taken for another one of sorted ids: one of both is an id that Pacenote
    chose, and the other one may be its short form, which users see and enter in its place. Other ids are not
    shortened, so that one may begin with another.
    """
    # No id that Pacenote chose has a "g".
    alike = ids[bisect.bisect_right(ids, race_id) : bisect.bisect_left(ids, f"{race_id}g")]
    if any(shortened_to(race_id, alike)):
        return True
    beginnings = (race_id[:length] for length in range(SHORT_ID, len(race_id)))
    return is_generated(race_id) and any(is_among(text, ids) for text in beginnings)


def is_among(race_id: str, ids: Sequence[str]) -> bool:
    """Returns whether an id is one of sorted ids."""
    at = bisect.bisect_left(ids, race_id)
    return ids[at : at + 1] == [race_id]
