"""Extracts the documents of a search response, byte for byte.

Numbers such as 1.10 or 1e400 would change if documents were parsed and written again.

`msgspec.Raw` does the same but rejects lone surrogates (`\\ud800`), which engines store and return; the
scanner of the standard library accepts them. It scans each byte as one character: all that separates values
is ASCII, and a text with a single emoji would take four times the memory of its bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

_scan_value = json.JSONDecoder().raw_decode
_WHITESPACE = re.compile(r"[ \t\r\n]*")


class _Member(NamedTuple):
    """A member of an object: its key, and the positions at which its value starts and ends."""

    key: str
    start: int
    end: int


def raw_sources(data: bytes) -> list[bytes | None]:
    """Returns `_source` of every hit in a search response, or None for a hit without one.

    `data` must be valid JSON with an object `hits` that holds a list `hits`.
    """
    text = data.decode("latin-1")
    hits = _value_start(text, _value_start(text, _skip_whitespace(text, 0), "hits"), "hits")
    position = _skip_whitespace(text, hits + 1)
    sources: list[bytes | None] = []
    while text[position] == "{":
        source, end = None, position + 1
        for member in _members(text, position):
            source = data[member.start : member.end] if member.key == "_source" else source
            end = member.end
        sources.append(source)
        closing_brace = _skip_whitespace(text, end)
        position = _skip_comma(text, closing_brace + 1)
    return sources


def ndjson_line(source: bytes) -> bytes:
    """Returns a document as one line of a data file, without its line break."""
    # Line breaks occur only between values: within strings they are escaped.
    return source.replace(b"\r", b" ").replace(b"\n", b" ")


def _value_start(text: str, position: int, key: str) -> int:
    """Returns the position of the value of a key, in the object at `position`. Raises ValueError if there is
    none: of keys that occur twice, the first is not the one that was parsed.
    """
    for member in _members(text, position, key):
        if member.key == key:
            return member.start
    raise ValueError(f"the response has no '{key}'")


def _members(text: str, position: int, last: str | None = None) -> Iterator[_Member]:
    """Yields the members of the object at `position`, up to the key `last`, whose value is not scanned."""
    position = _skip_whitespace(text, position + 1)
    while text[position] != "}":
        key, position = _scan_value(text, position)
        colon = _skip_whitespace(text, position)
        start = _skip_whitespace(text, colon + 1)
        if key == last:
            yield _Member(key, start, start)
            return
        _, end = _scan_value(text, start)
        yield _Member(key, start, end)
        position = _skip_comma(text, end)


def _skip_comma(text: str, position: int) -> int:
    """Returns the position after whitespace and an optional comma."""
    position = _skip_whitespace(text, position)
    return _skip_whitespace(text, position + 1) if text[position] == "," else position


def _skip_whitespace(text: str, position: int) -> int:
    return _WHITESPACE.match(text, position).end()  # type: ignore[union-attr]  # it also matches nothing
