"""The report of a recording as Markdown, CSV and JSON, and its tables as texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import asdict

from pacenote.model.output_text import csv_text, json_text
from pacenote.model.printable import whole_line
from pacenote.report.recording.breakdown import Breakdown, BreakdownRow, Figures
from pacenote.report.recording.build import RecordingReport
from pacenote.report.recording.events import Unit
from pacenote.report.recording.gauges import GaugeRow, GaugeTable, GaugeUnit, Readings
from pacenote.report.render.markdown import escape, pipe_table
from pacenote.report.screen.text import shortened
from pacenote.units import format_bytes, format_change, format_count, format_seconds

_CSV_COLUMNS = (
    *("Table", "Name", "Detail", "Side", "Count", "Total", "Unit", "Min", "Max", "Share", "Bytes", "Average"),
)

_GAP = 3
_LEAST_NAME = 24
"""Columns between two cells of a table, and those that a name has at least."""

_TOTALS = {"bytes": "Total size", "ns": "Total time", "samples": "Samples"}
_SHARES = {"bytes": "Pressure", "ns": "Share", "samples": "Share"}
"""Heads of the columns of what events weigh, and of its share; the JDK's tools call that of sizes pressure.
"""


def render_recording(report: RecordingReport, limit: int, width: int | None = None) -> str:
    """Returns the report as Markdown that ends in a newline, with `limit` rows per table; 0 for all.

    On a terminal with `width` columns, long names lose their middle.
    """
    lines = [f"- {escape(whole_line(fact))}" for fact in report.facts]
    for table in report.tables:
        heads, rows = table_texts(table, limit)
        lines += ["", f"## {escape(whole_line(table.title))}", ""]
        lines.append(_pipe_table(heads, rows, len(table.heads), width))
        lines += [part for note in table_notes(table, limit) for part in ("", escape(note))]
    for gauge in report.gauges:
        heads, rows = gauge_texts(gauge, limit)
        lines += ["", f"## {escape(whole_line(gauge.title))}", "", _pipe_table(heads, rows, 1, width)]
        lines += [part for note in gauge_notes(gauge, limit) for part in ("", escape(note))]
    if report.notes:
        lines += ["", "## Notes", "", *(f"- {escape(whole_line(note))}" for note in report.notes)]
    return "\n".join([*lines, ""])


def _pipe_table(heads: Sequence[str], rows: Sequence[Sequence[str]], keys: int, width: int | None) -> str:
    """Returns a table whose first columns, `keys`, are names, and whose others are numbers."""
    if width is not None:
        numbers = [max(len(row[index]) for row in (heads, *rows)) for index in range(keys, len(heads))]
        room = (width - sum(numbers) - _GAP * len(heads) - 1) // keys
        room = max(room, _LEAST_NAME)
        rows = [[*(shortened(cell, room) for cell in row[:keys]), *row[keys:]] for row in rows]
    return pipe_table(heads, rows, "left", range(keys))


def table_texts(table: Breakdown, limit: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Returns the heads of a table, and its first `limit` rows (0 for all), as texts."""
    rows = table.rows[:limit] if limit else table.rows
    if table.baseline is None:
        return _heads(table), [(*map(whole_line, row.keys), *_cells(table, row.figures)) for row in rows]
    heads = (*table.heads, "Baseline", "Contender", "Change", "Baseline share", "Contender share")
    whole = table.baseline
    return heads, [(*map(whole_line, row.keys), *_compared_cells(table, row, whole)) for row in rows]


def table_notes(table: Breakdown, limit: int) -> Iterator[str]:
    """Yields what a reader has to know about a table: its note, and what its first `limit` rows leave out."""
    left_out = table.rows[limit:] if limit else ()
    if left_out and table.is_stack:
        yield f"{format_count(len(left_out), 'more caller')} (`--limit=0` shows all)"
    elif left_out:
        share = sum(row.figures.total for row in left_out) / table.whole.total if table.whole.total else 0.0
        yield f"{format_count(len(left_out), 'more row')} with {_share(share)} (`--limit=0` shows all)"
    if table.note:
        yield table.note


def gauge_texts(table: GaugeTable, limit: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Returns the heads of a table of gauges, and its first `limit` rows (0 for all), as texts."""
    rows = table.rows[:limit] if limit else table.rows
    heads: tuple[str, ...] = ("Readings", "Smallest", "Average", "Largest")
    if table.has_baseline:
        heads = ("Baseline", "Contender", "Change", "Baseline largest", "Contender largest")
    return (table.head, *heads), [(whole_line(row.name), *_gauge_cells(table, row)) for row in rows]


def gauge_notes(table: GaugeTable, limit: int) -> Iterator[str]:
    """Yields how many rows the first `limit` leave out, and what a reader has to know about the table."""
    if limit and len(table.rows) > limit:
        yield f"{format_count(len(table.rows) - limit, 'more row')} (`--limit=0` shows all)"
    if table.note:
        yield table.note


def _gauge_cells(table: GaugeTable, row: GaugeRow) -> Iterator[str]:
    old, new, unit = row.baseline, row.readings, table.unit
    if not table.has_baseline:
        if new is not None:
            yield f"{new.count:,}"
            yield from (_gauge(value, unit) for value in (new.min, new.average, new.max))
        return
    yield "" if old is None else _gauge(old.average, unit)
    yield "" if new is None else _gauge(new.average, unit)
    if old is None or new is None or not old.average:
        yield ""
    else:
        yield format_change(new.average / old.average - 1)
    yield "" if old is None else _gauge(old.max, unit)
    yield "" if new is None else _gauge(new.max, unit)


def _gauge(value: float, unit: GaugeUnit) -> str:
    return format_bytes(value) if unit == "bytes" else _share(value)


def _heads(table: Breakdown) -> tuple[str, ...]:
    counted = () if table.unit == "samples" else (table.counted,)
    extremes = ("Smallest", "Average", "Largest") if table.has_extremes else ()
    sizes = ("Bytes",) if table.has_bytes else ()
    return (*table.heads, *counted, _TOTALS[table.unit], *sizes, *extremes, _SHARES[table.unit])


def _cells(table: Breakdown, figures: Figures) -> Iterator[str]:
    if table.unit != "samples":
        yield f"{figures.count:,}"
    yield _amount(figures.total, table.unit)
    if table.has_bytes:
        yield "" if figures.bytes is None else format_bytes(figures.bytes)
    if table.has_extremes:
        average = figures.total / figures.count if figures.count else None
        for value in (figures.min, average, figures.max):
            yield "" if value is None else _amount(value, table.unit)
    yield _share(_part(figures, table.whole))


def _compared_cells(table: Breakdown, row: BreakdownRow, whole: Figures) -> Iterator[str]:
    old, new = row.baseline, row.figures
    yield _amount(old.total, table.unit)
    yield _amount(new.total, table.unit)
    yield format_change(new.total / old.total - 1) if old.total else ""
    yield _share(_part(old, whole))
    yield _share(_part(new, table.whole))


def _amount(value: float, unit: Unit) -> str:
    if unit == "bytes":
        return format_bytes(value)
    return format_seconds(value / 1e9) if unit == "ns" else f"{value:,}"


def _part(figures: Figures, whole: Figures) -> float | None:
    return figures.total / whole.total if whole.total else None


def _share(share: float | None) -> str:
    """Formats a share with two decimals, as the pressure in field report S3."""
    return "" if share is None else f"{share * 100:.2f} %"


def render_recording_csv(report: RecordingReport) -> str:
    """Returns all rows of all tables as CSV text, one line for each side."""
    return csv_text([_CSV_COLUMNS, *_csv_rows(report)])


def _csv_rows(report: RecordingReport) -> Iterator[tuple[object, ...]]:
    for table in report.tables:
        for row in table.rows:
            name, *details = map(whole_line, row.keys)
            for side, figures, whole in _sides(table, row):
                numbers = (figures.count, figures.total, table.unit, figures.min, figures.max)
                share = _part(figures, whole)
                more = (share, figures.bytes, None)
                yield (table.name, name, "; ".join(details), side, *numbers, *more)
    for gauge in report.gauges:
        for line in gauge.rows:
            for side, readings in _gauge_sides(gauge, line):
                columns = _gauge_columns(gauge, readings)
                yield (gauge.name, whole_line(line.name), "", side, *columns)


def _gauge_sides(table: GaugeTable, row: GaugeRow) -> Sequence[tuple[str, Readings | None]]:
    if not table.has_baseline:
        return (("recording", row.readings),)
    return (("baseline", row.baseline), ("contender", row.readings))


def _gauge_columns(table: GaugeTable, readings: Readings | None) -> tuple[object, ...]:
    """Returns the columns of a line from the count on."""
    if readings is None:
        return (None, None, table.unit, None, None, None, None, None)
    sizes = (table.unit, readings.min, readings.max)
    return (readings.count, None, *sizes, None, None, readings.average)


def _sides(table: Breakdown, row: BreakdownRow) -> Sequence[tuple[str, Figures, Figures]]:
    if table.baseline is None:
        return (("recording", row.figures, table.whole),)
    return (("baseline", row.baseline, table.baseline), ("contender", row.figures, table.whole))


def render_recording_json(report: RecordingReport) -> str:
    """Returns the report with all rows as one JSON object; docs/reference/jfr.md describes it."""
    document = {
        "format": 1,
        "facts": list(report.facts),
        "tables": [_table_document(table) for table in report.tables],
        "gauges": [_gauge_document(table) for table in report.gauges],
        "notes": list(report.notes),
    }
    return json_text(document)


def _table_document(table: Breakdown) -> dict[str, Any]:
    whole = {side: _figures_document(figures) for side, figures in _wholes(table)}
    rows = [
        {
            "keys": list(row.keys),
            **{
                side: {**_figures_document(figures), "share": _part(figures, of)}
                for side, figures, of in _sides(table, row)
            },
        }
        for row in table.rows
    ]
    names = {"name": table.name, "title": table.title, "heads": list(table.heads), "unit": table.unit}
    return {**names, "is_stack": table.is_stack, "whole": whole, "rows": rows}


def _gauge_document(table: GaugeTable) -> dict[str, Any]:
    rows = [
        {
            "name": row.name,
            **{
                side: None if readings is None else asdict(readings)
                for side, readings in _gauge_sides(table, row)
            },
        }
        for row in table.rows
    ]
    return {"name": table.name, "title": table.title, "head": table.head, "unit": table.unit, "rows": rows}


def _wholes(table: Breakdown) -> Iterator[tuple[str, Figures]]:
    if table.baseline is None:
        yield "recording", table.whole
    else:
        yield from (("baseline", table.baseline), ("contender", table.whole))


def _figures_document(figures: Figures) -> dict[str, int | None]:
    return {
        "count": figures.count,
        "total": figures.total,
        "min": figures.min,
        "max": figures.max,
        "bytes": figures.bytes,
    }
