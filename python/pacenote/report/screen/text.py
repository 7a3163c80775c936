"""Lines of styled text, and how text is broken into lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Style = Literal["", "title", "quiet", "good", "doubtful", "bad"]
"""How a piece of text is shown, where colours are: as a heading, in the background, or as a judgement."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a line with one style."""

    text: str
    """The text, without line breaks."""

    style: Style = ""
    """Its style."""


_NO_BREAK = "\u00a0"

Line = tuple[Span, ...]
"""One line of the screen."""


def plain_text(lines: Iterable[Line]) -> str:
    """Returns lines as text without styles, each with a line break."""
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)


def hanging(first: Span, text: str, width: int, style: Style = "") -> list[Line]:
    """Returns text that begins after `first`, and continues below its own beginning."""
    indent = len(first.text)
    broken = broken_lines(text, width - indent)
    return [
        (first if number == 0 else Span(" " * indent), Span(part, style))
        for number, part in enumerate(broken)
    ]


def broken_lines(text: str, width: int) -> list[str]:
    """Breaks text between words into lines of at most `width` characters.

    Longer words are not broken, nor is a percentage.
    """
    kept = text.replace(" %", f"{_NO_BREAK}%")
    lines = textwrap.wrap(kept, max(width, 20), break_long_words=False, break_on_hyphens=False) or [""]
    return [line.replace(_NO_BREAK, " ") for line in lines]


def joined_phrases(phrases: Sequence[str], width: int) -> list[str]:
    """Joins phrases with commas into lines, which are broken between phrases where that is possible."""
    lines: list[str] = []
    for number, phrase in enumerate(phrases):
        text = phrase if number == len(phrases) - 1 else f"{phrase},"
        if lines and len(lines[-1]) + 1 + len(text) <= width:
            lines[-1] += f" {text}"
        else:
            lines += broken_lines(text, width)
    return lines


def shortened(text: str, width: int) -> str:
    """Returns the text, or its beginning and its end around an ellipsis if it is too long."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"
