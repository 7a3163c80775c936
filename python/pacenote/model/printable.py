"""Makes text from outside, such as names in a track or responses of an engine, safe for a terminal."""

from __future__ import annotations

_MAX_LENGTH = 300


def printable(text: str) -> str:
    """Replaces every unprintable character by a space: controls, line breaks, marks of writing direction."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)


def single_line(text: str) -> str:
    """Returns the text as one line of at most 300 characters, without control characters."""
    joined = " ".join(printable(text).split())
    return joined if len(joined) <= _MAX_LENGTH else joined[: _MAX_LENGTH - 1] + "…"
