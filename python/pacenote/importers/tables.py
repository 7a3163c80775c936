"""Finds tables with metrics anywhere in a text: Markdown, box drawing, CSV, tabs or aligned columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from pacenote.errors import PacenoteError
from pacenote.importers.metrics import is_known
from pacenote.importers.numbers import is_no_value, parse_number

MAX_ROWS = 20_000
"""Number of rows that a table may have: thousands of tasks."""

MAX_COLUMNS = 30
"""Number of columns that a table may have: a few, and one for each cluster."""

_MAX_LINE = 10_000
"""Number of characters of a line that is read; rows have a few hundred."""

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|\[\d{1,2}(?:;\d{1,3})*m(?!\])"
)
"""Colours and other sequences of terminals, also in logs that dropped the escape character."""

_BARS = str.maketrans(dict.fromkeys("│┃║┆┊", "|"))
_RULE = re.compile(r"[\s|:+=─━═╌┄┈┬┴┼├┤┌┐└┘╔╗╚╝╠╣╦╩╬╭╮╯╰┏┓┗┛┣┫┳┻╋╇╈╪╫╞╡╟╢\-—–]*")
"""A line between the rows of a table."""

_CELL = re.compile(r"(?<!\\)\|")
_COLUMNS = re.compile(r"\t| {2,}")
_STYLE = re.compile(r"\*\*|`")
_BOLD = "__"
"""Marks a whole cell as bold; it may also be part of a name."""


class Table(Struct, frozen=True):
    """A table with a column of metrics."""

    line: int
    """Number of the line with the headings, from 1."""

    heads: tuple[str, ...]
    """The headings in lower case."""

    rows: tuple[tuple[str, ...], ...]
    """The cells; each row has as many as there are headings."""

    end: int
    """Number of the last line."""


def clean_lines(text: str) -> list[str]:
    """Returns the lines of a text without colours, and with plain bars in tables. Lines that are too long for
    a row are empty.
    """
    return [
        _ESCAPES.sub("", line).translate(_BARS).rstrip() if len(line) <= _MAX_LINE else ""
        for line in text.splitlines()
    ]


def find_tables(lines: Sequence[str]) -> Iterator[Table]:
    """Yields the tables with metrics, from top to bottom. Raises PacenoteError if one has too many
    columns.
    """
    number = 0
    while number < len(lines):
        table = _table_at(lines, number) if "metric" in lines[number].lower() else None
        if table is not None:
            yield table
        number = table.end if table is not None else number + 1


def _table_at(lines: Sequence[str], start: int) -> Table | None:
    """Returns the table whose headings are in this line, or None if there is none."""
    line = lines[start]
    if "|" in line:
        return _bar_table(lines, start)
    for delimiter in (",", ";", "\t"):
        if _is_head(heads := _csv_cells(line, delimiter)):
            return _csv_table(lines, start, delimiter, len(heads))
    return _aligned_table(lines, start)


def _is_head(cells: Sequence[str]) -> bool:
    names = [cell.lower() for cell in cells]
    return names.count("metric") == 1 and len(names) >= 2


def _checked(heads: Sequence[str], start: int) -> tuple[str, ...]:
    """Returns the headings of a table. Raises PacenoteError if there are too many."""
    if len(heads) > MAX_COLUMNS:
        raise PacenoteError(
            f"the table in line {start + 1} has more than {MAX_COLUMNS} columns", hint="split the table"
        )
    return tuple(heads)


def _bar_table(lines: Sequence[str], start: int) -> Table | None:
    cells = _bar_cells(lines[start])
    names = [cell.lower() for cell in cells]
    if "metric" not in names:
        return None
    # What stands before the first bar is not part of the table, such as the time in a log.
    first = names.index("metric") - (1 if "lap" in names[: names.index("metric")] else 0)
    names = names[first:]
    while names and not names[-1]:
        names.pop()
    heads = _checked(names, start)
    rows, number = list[tuple[str, ...]](), start + 1
    while number < len(lines) and len(rows) <= MAX_ROWS:
        line = lines[number]
        if "|" not in line and not (line.strip() and _RULE.fullmatch(line)):
            break
        if not _RULE.fullmatch(line):
            own = _bar_cells(line)[first:]
            # Both tools append the next table without a blank line.
            if len(own) < len(heads) - 1 or _is_head(own):
                break
            rows.append(_filled(own, len(heads)))
        number += 1
    return Table(start + 1, heads, tuple(rows), number)


def _bar_cells(line: str) -> list[str]:
    cells = [_plain(cell.replace("\\|", "|")) for cell in _CELL.split(line)]
    return cells[1:] if cells and not cells[0] else cells


def _plain(cell: str) -> str:
    """Returns the text of a cell without Markdown's bold and code."""
    text = _STYLE.sub("", cell).strip()
    is_bold = len(text) > 2 * len(_BOLD) and text.startswith(_BOLD) and text.endswith(_BOLD)
    return text[len(_BOLD) : -len(_BOLD)] if is_bold else text


def _filled(cells: Sequence[str], count: int) -> tuple[str, ...]:
    return tuple((*cells, *[""] * count)[:count])


def _csv_cells(line: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []


def _csv_table(lines: Sequence[str], start: int, delimiter: str, columns: int) -> Table:
    cells = _csv_cells(lines[start], delimiter)
    heads = _checked([cell.lower().strip("\ufeff") for cell in cells], start)
    rows, number = list[tuple[str, ...]](), start + 1
    while number < len(lines) and len(rows) <= MAX_ROWS:
        cells = _csv_cells(lines[number], delimiter)
        if len(cells) < min(3, columns) or _is_head(cells):
            break
        rows.append(_filled(cells, columns))
        number += 1
    return Table(start + 1, heads, tuple(rows), number)


def _aligned_table(lines: Sequence[str], start: int) -> Table | None:
    """Returns a table whose columns are separated by blanks. A cell without text leaves no trace, so cells
    are assigned by what they contain: the metric, the task unless it is a number, numbers, the unit.
    """
    names = [cell.lower() for cell in _COLUMNS.split(lines[start].strip())]
    if not _is_head(names) or names[0] != "metric" or len(names) < 3:
        return None
    heads = _checked(names, start)
    rows, number = list[tuple[str, ...]](), start + 1
    while number < len(lines) and len(rows) <= MAX_ROWS:
        line = lines[number].strip()
        if not (line and _RULE.fullmatch(line)):
            row = _aligned_row([_plain(cell) for cell in _COLUMNS.split(line)], heads)
            if row is None:
                break
            rows.append(row)
        number += 1
    return Table(start + 1, heads, tuple(rows), number) if rows else None


def _aligned_row(cells: Sequence[str], heads: Sequence[str]) -> tuple[str, ...] | None:
    numbers = [cell for cell in cells[1:] if parse_number(cell.rstrip("%")) is not None or is_no_value(cell)]
    texts = [cell for cell in cells[1:] if cell not in numbers]
    if not numbers or not is_known(cells[0]):
        return None
    units = texts[-1:] if texts and (len(texts) > 1 or cells[-1] == texts[-1] or cells[1] != texts[0]) else []
    tasks = texts[: len(texts) - len(units)]
    row = []
    for head in heads:
        if head == "metric":
            row.append(cells[0])
        elif head in ("task", "operation"):
            row.append(tasks[0] if tasks else "")
        elif head == "unit":
            row.append(units[0] if units else "")
        else:
            row.append(numbers.pop(0) if numbers else "")
    return tuple(row)
