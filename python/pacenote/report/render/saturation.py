"""The report of a saturation as Markdown, and as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pacenote.report.render.markdown import escape
from pacenote.report.saturation import Remark, SaturationReport, SaturationTable

if TYPE_CHECKING:  # Markdown does not need rich.
    from rich.console import Console
    from rich.table import Table

    from pacenote.report.screen.screen import Command, StoredRace

LEVELS_TITLE = "Closed loop, in which clients wait for responses, by clients"
"""The title of the table of levels."""

_GAP = 3
"""Columns of the terminal between two columns of a table."""

_OUTCOME = 24
"""Columns of the terminal that the last column of a table, whose text is wrapped, has at least."""


def render_saturation(report: SaturationReport) -> str:
    """Returns the answer, all probes and the closed-loop sweep as Markdown that ends in a newline."""
    lines = [f"# Saturation of task {escape(report.task)}", "", f"**{escape(report.answer)}**", ""]
    lines += (
        f"{'  ' if remark.detail else ''}- {escape(remark.text)}"
        for remark in (*report.method, *report.remarks)
    )
    if report.probes is not None:
        lines += ["", *_pipe_table(report.probes)]
    if report.levels is not None:
        lines += ["", f"## {LEVELS_TITLE}", "", *_pipe_table(report.levels), "", *_law_lines(report.law)]
    return "\n".join([*lines, ""])


def print_saturation(
    report: SaturationReport, race: StoredRace, commands: Sequence[Command], console: Console
) -> None:
    """Prints all probes, the closed-loop sweep, the answer, where the race is stored and the next commands on
    a terminal. Texts are not interpreted as markup.
    """
    from rich.text import Text

    from pacenote.report.render.screen import render_lines
    from pacenote.report.screen.layout import closing_lines

    if report.probes is not None:
        _print_table(report.probes, console)
        console.print()
    _print_remarks(report.method, console)
    if report.levels is not None:
        console.print()
        console.print(Text(LEVELS_TITLE, style="bold"))
        _print_table(report.levels, console)
        _print_remarks(report.law, console)
    console.print()
    console.print(Text(f"Saturation of task {report.task}: {report.answer}", style="bold"))
    _print_remarks(report.remarks, console)
    console.print()
    render_lines(closing_lines(race, commands, console.width), console)


def _law_lines(law: Sequence[Remark]) -> Iterator[str]:
    for remark in law:
        yield f"{'- ' if remark.detail else ''}{escape(remark.text)}"
        if not remark.detail and len(law) > 1:
            yield ""


def _pipe_table(table: SaturationTable) -> Iterator[str]:
    yield f"| {' | '.join(map(escape, table.heads))} |"
    yield f"|{'|'.join(' --- ' for _ in table.heads)}|"
    for row in table.rows:
        yield f"| {' | '.join(map(escape, row))} |"


def _print_remarks(remarks: Iterable[Remark], console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    for remark in remarks:
        console.print(Padding(Text(remark.text), (0, 0, 0, 4 if remark.detail else 2)))


def _print_table(table: SaturationTable, console: Console) -> None:
    """Prints the columns for which the terminal is wide enough, and names the others."""
    from rich.padding import Padding
    from rich.text import Text

    left_out = _left_out(table, console.width)
    kept = [number for number, head in enumerate(table.heads) if head not in left_out]
    rows = (tuple(row[number] for number in kept) for row in table.rows)
    console.print(_table(SaturationTable(tuple(table.heads[number] for number in kept), tuple(rows))))
    _print_remarks(map(Remark, table.notes), console)
    if left_out:
        text = f"not shown in {console.width} columns: {', '.join(left_out)} (see --report-format=markdown)"
        console.print(Padding(Text(text, style="dim"), (0, 0, 0, 2)))


def _left_out(table: SaturationTable, width: int) -> tuple[str, ...]:
    """Returns the titles of the columns that must be left out, so that no number is cut off."""
    from rich.cells import cell_len

    *numbers, last = zip(table.heads, *table.rows, strict=True)
    needed = {cells[0]: max(map(cell_len, cells)) + _GAP for cells in numbers}
    outcome = min(_OUTCOME, max(map(cell_len, last)))
    for count in range(len(table.spare) + 1):
        left_out = table.spare[:count]
        if sum(size for head, size in needed.items() if head not in left_out) + outcome <= width:
            break
    return left_out


def _table(table: SaturationTable) -> Table:
    from rich.table import Table
    from rich.text import Text

    shown = Table(show_edge=False, pad_edge=False)
    for number, head in enumerate(table.heads, 1):
        last = number == len(table.heads)
        # A head that is not a Text would be markup.
        shown.add_column(Text(head), justify="left" if last else "right", no_wrap=not last, overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(cell) for cell in row))
    return shown
