"""The report of a saturation as Markdown, and as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pacenote.report.saturation import Remark, SaturationReport, SaturationTable

if TYPE_CHECKING:  # Markdown does not need rich.
    from rich.console import Console
    from rich.table import Table

LEVELS_TITLE = "Closed loop, by clients"


def render_saturation(report: SaturationReport) -> str:
    """Returns the answer, all probes and the closed-loop sweep as Markdown that ends in a newline."""
    lines = [f"# Saturation of task {report.task}", "", f"**{report.answer}**", ""]
    lines += (f"{'  ' if remark.detail else ''}- {remark.text}" for remark in report.remarks)
    if report.probes is not None:
        lines += ["", *_pipe_table(report.probes)]
    if report.levels is not None:
        lines += ["", f"## {LEVELS_TITLE}", "", *_pipe_table(report.levels), "", *_law_lines(report.law)]
    return "\n".join([*lines, ""])


def print_saturation(report: SaturationReport, console: Console) -> None:
    """Prints the answer, all probes and the closed-loop sweep on a terminal. Texts are not interpreted as
    markup.
    """
    from rich.text import Text

    console.print(Text(f"Saturation of task {report.task}: {report.answer}", style="bold"))
    _print_remarks(report.remarks, console)
    if report.probes is not None:
        console.print()
        console.print(_table(report.probes))
    if report.levels is not None:
        console.print()
        console.print(Text(LEVELS_TITLE, style="bold"))
        console.print(_table(report.levels))
        _print_remarks(report.law, console)


def _law_lines(law: Sequence[Remark]) -> Iterator[str]:
    for remark in law:
        yield f"- {remark.text}" if remark.detail else remark.text
        if not remark.detail and len(law) > 1:
            yield ""


def _pipe_table(table: SaturationTable) -> Iterator[str]:
    yield f"| {' | '.join(table.heads)} |"
    yield f"|{'|'.join(' --- ' for _ in table.heads)}|"
    for row in table.rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"


def _print_remarks(remarks: Iterable[Remark], console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    for remark in remarks:
        console.print(Padding(Text(remark.text), (0, 0, 0, 4 if remark.detail else 2)))


def _table(table: SaturationTable) -> Table:
    from rich.table import Table
    from rich.text import Text

    shown = Table(show_edge=False, pad_edge=False)
    for number, head in enumerate(table.heads, 1):
        last = number == len(table.heads)
        shown.add_column(head, justify="left" if last else "right", no_wrap=not last, overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(cell) for cell in row))
    return shown
