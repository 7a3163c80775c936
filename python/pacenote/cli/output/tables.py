"""Plain-text tables and JSON for lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from msgspec import Struct

from pacenote.model.printable import shortened, single_line, whole_line

_GAP = 2


class Fit(Struct, frozen=True):
    """How a table fits a terminal."""

    width: int | None
    """The columns of the terminal; None for a table of any width."""

    shortened: tuple[tuple[int, int], ...] = ()
    """Columns of the table to shorten if it is too wide, in this order, each to a width."""

    dropped: tuple[int, ...] = ()
    """Columns of the table to drop, in this order, if shortening every column once is not sufficient."""

    wraps_last: bool = False
    """Whether the last column breaks between words instead of losing its end."""

    wraps_all: bool = False
    """Whether all columns do; words that are too long break anywhere."""


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], fit: Fit = Fit(None)) -> str:
    """Returns a table with a header line, without the control characters that track files may contain."""
    # What is broken into lines keeps its end.
    clean = whole_line if fit.wraps_last or fit.wraps_all else single_line
    cells = [list(headers), *([clean(cell) for cell in row] for row in rows)]
    widths = _fitting([max(len(line[column]) for line in cells) for column in range(len(headers))], fit)
    columns = [column for column, width in enumerate(widths) if width]
    lines: list[Sequence[str]] = []
    for line in cells:
        shown = [line[column] for column in columns]
        if fit.wraps_all:
            lines += _all_wrapped(shown, [widths[column] for column in columns])
        else:
            lines += _wrapped(shown, widths[columns[-1]]) if fit.wraps_last else [shown]
    lines.insert(1, ["-" * widths[column] for column in columns])
    return "".join(_line(line, [widths[column] for column in columns]) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = (shortened(cell, width).ljust(width) for cell, width in zip(cells, widths, strict=True))
    return (" " * _GAP).join(shown).rstrip() + "\n"


def _wrapped(cells: Sequence[str], width: int) -> Iterator[list[str]]:
    """Yields a row as several lines, if the last cell is longer than `width`."""
    *others, last = cells
    if len(last) <= width:
        yield [*others, last]
        return
    # Not imported at the start: only narrow terminals need it.
    import textwrap

    for number, part in enumerate(textwrap.wrap(last, width, break_on_hyphens=False)):
        yield [*(others if number == 0 else [""] * len(others)), part]


def _all_wrapped(cells: Sequence[str], widths: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """Yields a row as several lines, if a cell is longer than its column; further lines are indented."""
    if all(len(cell) <= width for cell, width in zip(cells, widths, strict=True)):
        yield tuple(cells)
        return
    import textwrap

    parts = [
        textwrap.wrap(cell, width, subsequent_indent="  ", break_on_hyphens=False)
        for cell, width in zip(cells, widths, strict=True)
    ]
    yield from zip_longest(*parts, fillvalue="")


def _fitting(widths: list[int], fit: Fit) -> list[int]:
    """Returns the widths of the columns, 0 for those that are dropped."""
    if fit.width is None:
        return widths
    widths, least = list(widths), dict(reversed(fit.shortened))
    for column in fit.dropped:
        if _total([min(width, least.get(at, width)) for at, width in enumerate(widths)]) > fit.width:
            widths[column] = 0
    for column, lowest in fit.shortened:
        excess = _total(widths) - fit.width
        widths[column] -= max(0, min(excess, widths[column] - lowest))
    return widths


def _total(widths: Sequence[int]) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + _GAP * (len(shown) - 1)
