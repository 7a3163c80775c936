"""Lays out the task tables of the last screen: all have the same columns, so that values line up."""

from __future__ import annotations

from collections.abc import Sequence

from pacenote.report.screen.screen import Cell, Screen, TaskTable
from pacenote.report.screen.text import Line, Span, left, right, shortened, text_width

_GAP = 2
_MARK = 3
"""Width of the mark before the name of a task."""

_MIN_NAME = 12
"""Width to which names of tasks may be shortened."""


_MIN_NAME_BESIDE = 16
"""Width to which they may be shortened so that the column that is added first fits."""


def table_lines(screen: Screen, width: int) -> list[list[Line]]:
    """Returns the lines of each task table."""
    tables, widths = screen.tables, _widths(screen)
    name = max((text_width(line.name) for table in tables for line in table.lines), default=0)
    name = max([name, *(len(table.title) for table in tables)])
    shown = [index for index, column in enumerate(screen.columns) if column.priority == 0 and widths[index]]
    if _total(shown, widths, _MIN_NAME) > width:
        shown = [index for index in shown if screen.columns[index].is_essential]
    name = max(_MIN_NAME, min(name, width - _total(shown, widths, 0)))
    for index, column in enumerate(screen.columns):
        # Names are shortened for the first of the other columns, but for no further one.
        room = width - _total([*shown, index], widths, 0)
        if column.priority == 1 and widths[index] and room >= min(name, _MIN_NAME_BESIDE):
            name = min(name, room)
    for priority in range(1, 1 + max(column.priority for column in screen.columns)):
        for index, column in enumerate(screen.columns):
            fits = widths[index] and _total([*shown, index], widths, name) <= width
            if column.priority == priority and fits:
                shown.append(index)
    return [_table(table, sorted(shown), widths, name) for table in tables]


def _widths(screen: Screen) -> list[int]:
    """Returns the width of each column, or 0 for a column without values."""
    widths = []
    for index in range(len(screen.columns)):
        cells = max(
            (text_width(line.cells[index].text) for table in screen.tables for line in table.lines), default=0
        )
        heads = max((text_width(table.heads[index]) for table in screen.tables), default=0)
        widths.append(max(cells, heads) if cells else 0)
    return widths


def _total(shown: Sequence[int], widths: Sequence[int], name: int) -> int:
    return _MARK + name + sum(_GAP + widths[index] for index in shown)


def _table(table: TaskTable, shown: Sequence[int], widths: Sequence[int], name: int) -> list[Line]:
    head: Line = (
        Span(f" {left(table.title, _MARK - 1 + name)}", "title"),
        *(Span(right(table.heads[index], _GAP + widths[index]), "quiet") for index in shown),
    )
    lines = [head]
    for task in table.lines:
        mark = Span(" ! " if task.is_doubtful else "   ", "doubtful")
        cells = (_cell(task.cells[index], _GAP + widths[index]) for index in shown)
        lines.append((mark, Span(left(shortened(task.name, name), name)), *cells))
    return lines


def _cell(cell: Cell, width: int) -> Span:
    return Span(right(cell.text, width), "bad" if cell.is_wrong else "")
