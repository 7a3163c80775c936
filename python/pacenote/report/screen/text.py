"""Lines of styled text, and how text is broken into lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from rich.cells import cell_len, chop_cells, set_cell_size

Style = Literal["", "title", "quiet", "good", "doubtful", "bad"]
"""How a piece of text is shown, where colours are: as a heading, in the background, or as a judgement."""


class Span(Struct, frozen=True):
    """A piece of a line with one style."""

    text: str
    """The text, without line breaks."""

    style: Style = ""
    """Its style."""


Line = tuple[Span, ...]
"""One line of the screen."""


def plain_text(lines: Iterable[Line]) -> str:
    """Returns lines as text without styles, each with a line break."""
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)


def text_width(text: str) -> int:
    """Returns the columns of a terminal that a text takes: some characters take two, others none."""
    return len(text) if text.isascii() else cell_len(text)


def left(text: str, width: int) -> str:
    """Returns the text with spaces behind it, so that it takes `width` columns, or more if it is longer."""
    return text + " " * (width - text_width(text))


def right(text: str, width: int) -> str:
    """Returns the text with spaces before it, so that it takes `width` columns, or more if it is longer."""
    return " " * (width - text_width(text)) + text


def hanging(first: Span, text: str, width: int, style: Style = "") -> list[Line]:
    """Returns text that begins after `first`, and continues below its own beginning."""
    indent = text_width(first.text)
    broken = broken_lines(text, width - indent)
    return [
        (first if number == 0 else Span(" " * indent), Span(part, style))
        for number, part in enumerate(broken)
    ]


def broken_lines(text: str, width: int) -> list[str]:
    """Breaks text between words into lines of at most `width` columns.

    Longer words are not broken, unless their script has no spaces, nor is a percentage.
    """
    width = max(width, 20)
    lines: list[str] = []
    for word in _words(text, width):
        if lines and text_width(lines[-1]) + 1 + text_width(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines or [""]


def _words(text: str, width: int) -> list[str]:
    """Returns the words of a text; a percent sign belongs to the one before it."""
    words: list[str] = []
    for word in text.split():
        if word.startswith("%") and words:
            words[-1] += f" {word}"
        elif not word.isascii() and text_width(word) > width:
            words += chop_cells(word, width)
        else:
            words.append(word)
    return words


def joined_phrases(phrases: Sequence[str], width: int) -> list[str]:
    """Joins phrases with commas into lines, which are broken between phrases where that is possible."""
    lines: list[str] = []
    for number, phrase in enumerate(phrases):
        text = phrase if number == len(phrases) - 1 else f"{phrase},"
        if lines and text_width(lines[-1]) + 1 + text_width(text) <= width:
            lines[-1] += f" {text}"
        else:
            lines += broken_lines(text, width)
    return lines


def shortened(text: str, width: int) -> str:
    """Returns the text, or its beginning and its end around an ellipsis if it takes more than `width`
    columns.
    """
    if text_width(text) <= width:
        return text
    end = (width - 1) // 2
    if text.isascii():
        return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"
    # A character that takes two columns may leave one of them free.
    first = chop_cells(text, width - 1 - end)[0]
    last = chop_cells(text[::-1], end)[0][::-1]
    return f"{first}…{last}"


def cut(line: Line, width: int) -> Line:
    """Returns a line without what exceeds `width` columns."""
    room = width
    for number, span in enumerate(line):
        taken = text_width(span.text)
        if taken > room:
            shorter = Span(set_cell_size(span.text, room).rstrip(), span.style)
            return (*line[:number], shorter) if room > 0 else line[:number]
        room -= taken
    return line
