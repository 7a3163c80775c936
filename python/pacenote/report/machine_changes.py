"""What changed on the machine during an experiment or a search, as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_AT_THE_SAME_TIME = " runs at the same time"


def machine_change_texts(changes: Sequence[str]) -> Iterator[str]:
    """Yields each change once; all other races and experiments that ran at the same time are one of them."""
    changes = tuple(dict.fromkeys(changes))
    others = [text for text in changes if _AT_THE_SAME_TIME in text]
    yield from (text for text in changes if text not in others)
    if len(others) == 1:
        yield others[0].replace(_AT_THE_SAME_TIME, " ran at the same time")
    elif others:
        yield f"{len(others)} other races or experiments ran at the same time"
