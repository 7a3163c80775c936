"""Makes races of the tables in a text: one of each summary, two of each comparison."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from pacenote.errors import PacenoteError
from pacenote.importers.found_race import FoundRace, RaceFacts
from pacenote.importers.headers import comparison_facts, summary_facts
from pacenote.importers.metrics import first_versions, imported_value, is_figure_of_task
from pacenote.importers.names import MAX_NAME, UnreadFigures, public_name
from pacenote.importers.numbers import has_decimal_commas, is_no_value, parse_number
from pacenote.importers.tables import MAX_ROWS, Table, clean_lines, find_tables
from pacenote.model.imported import ImportedValue
from pacenote.model.printable import whole_line

MAX_RACES = 1_000
"""Number of races that one file may have."""

_TEXT_HEADS = frozenset({"lap", "metric", "task", "operation", "unit"})
_DIFFERENCES = frozenset({"diff", "diff %", "%diff", "% diff", "diff%", "difference", "change"})
_PACENOTES = frozenset({"95 % interval", "race id", "mark", "detectable", "verdict"})
"""Headings that only reports of Pacenote have."""

_ROUNDING = 0.005
"""Share of the largest figure of a row by which its difference may be wrong."""

_ALL_LAPS = "all"
_SIDES: tuple[Literal["baseline", "contender"], ...] = ("baseline", "contender")


class _Column(Struct, frozen=True):
    """A column of a table with the figures of one race."""

    index: int
    """Its number, from 0."""

    side: Literal["", "baseline", "contender"] = ""
    """The side of a comparison; empty for a summary."""

    cluster: str = ""
    """Name of the cluster, if there are several."""


def races_in_text(text: str) -> tuple[tuple[FoundRace, ...], tuple[str, ...]]:
    """Returns the races of all tables in a text, and a sentence for each kind of row that was left out.

    Raises PacenoteError if there is no table with figures of tasks.
    """
    lines, races, unread = clean_lines(text), list[FoundRace](), UnreadFigures()
    end = 0
    for number, table in enumerate(find_tables(lines)):
        races += _races(table, lines[end : table.line - 1], unread)
        end = table.end
        if max(number, len(races)) > MAX_RACES:
            raise PacenoteError(f"it has more than {MAX_RACES:,} tables or races", hint="split the file")
    problems = unread.texts()
    if not races:
        raise PacenoteError(
            "no summary or comparison of Rally or OpenSearch Benchmark found in it"
            + (f" ({problems[0]})" if problems else ""),
            hint="expected a table with the columns Metric, Task and Value, or Metric, Task, Baseline and "
            "Contender, or race.json, test_run.json or test_execution.json",
        )
    return tuple(races), problems


def _races(table: Table, before: Sequence[str], unread: UnreadFigures) -> list[FoundRace]:
    if _PACENOTES & set(table.heads) or any(line.startswith("- Race ID: ") for line in before):
        raise PacenoteError(
            f"line {table.line} is a report of Pacenote",
            hint="copy the folder of the race into the folder `races` below PACENOTE_HOME",
        )
    if len(table.rows) > MAX_ROWS:
        raise PacenoteError(
            f"the table in line {table.line} has more than {MAX_ROWS:,} rows", hint="split the file"
        )
    columns = _columns(table.heads)
    facts: Mapping[str, RaceFacts]
    if columns and columns[0].side:
        facts = dict(zip(_SIDES, comparison_facts(before), strict=True))
    else:
        facts = {"": summary_facts(before)}
    races = list[FoundRace]()
    decimal_comma = _has_decimal_commas(table, columns)
    contradictions = (
        tuple(_contradictions(table, decimal_comma=decimal_comma)) if columns and columns[0].side else ()
    )
    for column in columns:
        for rows in _laps(table):
            values = _values(table, rows, column, unread, decimal_comma=decimal_comma)
            if any(map(is_figure_of_task, values)):
                races.append(
                    FoundRace(
                        form="comparison" if column.side else "summary",
                        facts=facts[column.side],
                        values=values,
                        side=column.side,
                        contradictions=contradictions,
                        cluster=column.cluster,
                    )
                )
            elif column.side:
                unread.add_text(f"the table in line {table.line}: the {column.side} has no figure of a task")
    return races


def _has_decimal_commas(table: Table, columns: Sequence[_Column]) -> bool:
    """Returns whether the figures of a table have decimal commas: those of one side may not show it."""
    indices = [
        *(column.index for column in columns),
        *(index for index, head in enumerate(table.heads) if head in _DIFFERENCES),
    ]
    return has_decimal_commas(row[index].rstrip("% ") for row in table.rows for index in indices)


def _contradictions(table: Table, *, decimal_comma: bool) -> Iterator[str]:
    """Yields the rows of a comparison whose difference is not that of their values."""
    if "diff" not in table.heads:
        return
    names = (*_SIDES, "diff")
    columns = [[row[table.heads.index(name)] for row in table.rows] for name in names]
    metric = table.heads.index("metric")
    task = next((table.heads.index(name) for name in ("task", "operation") if name in table.heads), None)
    for row, *cells in zip(table.rows, *columns, strict=True):
        numbers = [parse_number(cell, decimal_comma=decimal_comma) for cell in cells]
        old, new, difference = numbers
        if old is None or new is None or difference is None:
            continue
        # People and Rally round the values, from which Rally computed the difference before.
        rounded = max(map(abs, (old, new, difference))) * _ROUNDING + sum(map(_last_place, cells)) / 2
        if abs(new - old - difference) <= rounded:
            continue
        name = whole_line(row[metric]) + (
            f" of {whole_line(row[task])}" if task is not None and row[task] else ""
        )
        yield f"{name}: {' to '.join(map(str.strip, cells[:2]))} is not a change of {cells[2].strip()}"


def _last_place(text: str) -> float:
    """Returns what the last digit of a number counts: 0.1 for `12.5`."""
    return 10.0 ** -len(re.split(r"[.,]", text.strip())[-1]) if re.search(r"[.,]\d+$", text.strip()) else 1.0


def _columns(heads: Sequence[str]) -> tuple[_Column, ...]:
    """Returns the columns with figures: those of a comparison, of a summary, or of several clusters."""
    if set(_SIDES) <= set(heads):
        return tuple(_Column(heads.index(side), side) for side in _SIDES)
    if "value" in heads:
        return (_Column(heads.index("value")),)
    if "unit" not in heads or not {"task", "operation"} & set(heads):
        return ()
    others = [name for name in heads if name and name not in _TEXT_HEADS | _DIFFERENCES]
    return tuple(_Column(heads.index(name), cluster=name) for name in others)


def _laps(table: Table) -> Iterator[Sequence[tuple[str, ...]]]:
    """Yields the rows of a race: in Rally's first versions it had laps, and a summary of all."""
    if "lap" not in table.heads:
        yield table.rows
        return
    index = table.heads.index("lap")
    laps: dict[str, list[tuple[str, ...]]] = {}
    for row in table.rows:
        laps.setdefault(row[index].lower(), []).append(row)
    yield from (laps[_ALL_LAPS],) if _ALL_LAPS in laps else laps.values()


def _values(
    table: Table,
    rows: Sequence[tuple[str, ...]],
    column: _Column,
    unread: UnreadFigures,
    *,
    decimal_comma: bool,
) -> tuple[ImportedValue, ...]:
    """Returns the figures of a column, and adds those that cannot be read to `unread`. Rows without a value
    are left out.
    """
    heads = table.heads
    indices = {name: heads.index(name) for name in _TEXT_HEADS if name in heads}
    task_index = indices.get("task", indices.get("operation"))
    place = f"the table in line {table.line}, "
    values: dict[tuple[str, str], ImportedValue] = {}
    whole_names: dict[tuple[str, str], tuple[str, ...]] = {}
    for row in rows:
        text, metric = row[column.index], public_name(row[indices["metric"]])
        if not metric or is_no_value(text.rstrip("% ")):
            continue
        task = public_name(row[task_index]) if task_index is not None else ""
        unit = public_name(row[indices["unit"]]) if "unit" in indices else ""
        if task_index is None and (old := first_versions(metric)):
            metric, task, unit = old
        number = parse_number(text.rstrip("%"), decimal_comma=decimal_comma)
        if number is None:
            unread.add(metric, task, f"'{text[:40]}' is not a number", place=place)
            continue
        value = imported_value(metric, task, number, unit)
        if isinstance(value, str):
            unread.add(metric, task, value, place=place)
            continue
        key = (value.metric, value.task)
        cut = _cut_names(row[index] for index in (indices["metric"], task_index) if index is not None)
        if whole_names.setdefault(key, cut) != cut:
            reason = (
                f"the first {MAX_NAME} characters of its names are those of another; the first one counts"
            )
            unread.add(metric, task, reason, place=place)
            continue
        if key in values and values[key] != value:
            unread.add(metric, task, "it has two values; the first one counts", place=place)
            continue
        values[key] = value
    return tuple(values.values())


def _cut_names(cells: Iterable[str]) -> tuple[str, ...]:
    """Returns the whole names of those that `public_name` cuts off."""
    return tuple(name for name in map(whole_line, cells) if len(name) > MAX_NAME)
