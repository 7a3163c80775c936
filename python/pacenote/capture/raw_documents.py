"""Documents as the engine sent them. Parsed and written again, numbers would change: 1.10, 1e400."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_decode = json.JSONDecoder().raw_decode
_SPACE = re.compile(r"[ \t\r\n]*")


def raw_sources(text: str) -> list[str | None]:
    """The text of `_source` of every hit in the reply to a search (None: it has none).

    `text` must be JSON that was parsed already, with an object `hits` that holds a list `hits`.
    """
    at = _after(text, _start(text, _start(text, _after(text, 0), "hits"), "hits") + 1)
    found: list[str | None] = []
    while text[at] == "{":
        source, end = None, at + 1
        for key, start, stop in _members(text, at):
            source, end = text[start:stop] if key == "_source" else source, stop
        found.append(source)
        # Over the brace, and the comma if there is one.
        at = _after(text, _after(text, end) + 1)
        at = _after(text, at + 1) if text[at] == "," else at
    return found


def line_of(source: str) -> bytes:
    """A document as a line of a data file."""
    # Line breaks of its own are but space between its values: in strings they are escaped.
    line = source.replace("\r", " ").replace("\n", " ")
    return f"{line}\n".encode("utf-8", "surrogatepass")


def _start(text: str, at: int, wanted: str) -> int:
    """Where the value of a key starts, in the object at `at`."""
    return next(start for key, start, _ in _members(text, at, wanted) if key == wanted)


def _members(text: str, at: int, last: str | None = None) -> Iterator[tuple[str, int, int]]:
    """Keys of the object at `at`, with start and end of their values; that of `last` is not looked at."""
    at = _after(text, at + 1)
    while text[at] != "}":
        key, at = _decode(text, at)
        start = _after(text, _after(text, at) + 1)
        if key == last:
            yield key, start, start
            return
        _, end = _decode(text, start)
        yield key, start, end
        at = _after(text, end)
        at = _after(text, at + 1) if text[at] == "," else at


def _after(text: str, at: int) -> int:
    """Past the space."""
    return _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
