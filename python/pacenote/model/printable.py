"""Texts of others, such as names in a track or replies of an engine, made fit to be shown on a terminal."""

from __future__ import annotations

_LONGEST = 300


def printable(text: str) -> str:
    """The text with a space for every character that would not be seen: controls, line ends, marks that turn
    the direction of writing.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)


def single_line(text: str) -> str:
    """The text in one line of readable length, without control characters."""
    joined = " ".join(printable(text).split())
    return joined if len(joined) <= _LONGEST else joined[: _LONGEST - 1] + "…"
