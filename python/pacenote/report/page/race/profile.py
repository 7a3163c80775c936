"""The hottest methods of a race whose JVMs were recorded, and the stacks that most events have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.model.shell_command import shell_command
from pacenote.report.page.flame_drawing import flame_drawing
from pacenote.report.page.page import (
    Block,
    FactList,
    PageCell,
    PageColumn,
    PageCommand,
    PageTable,
    RowGroup,
    Text,
)
from pacenote.report.recording.breakdown import Breakdown, BreakdownRow
from pacenote.report.recording.hot_methods import NodeProfile
from pacenote.units import format_bytes, format_seconds, format_share

_TOTALS = {"bytes": "Total size", "ns": "Total time", "samples": "Samples"}


def profile_blocks(profiles: Sequence[NodeProfile], race_id: str) -> Iterator[Block]:
    """Yields the tables of each node and one flame graph; nothing if no JVM was recorded."""
    is_drawn = False
    for number, profile in enumerate(profiles):
        if profile.problem:
            where = f" of {profile.node}" if profile.node else ""
            yield Text(f"The recording{where} is not shown: {profile.problem}.", "quiet")
            continue
        facts = (fact.partition(": ") for fact in profile.facts)
        node = (("Node", profile.node),) if profile.node else ()
        yield FactList((*node, *((label, text) for label, _, text in facts)))
        for table in profile.tables:
            yield _table(f"data-profile-{number}-{table.name}", table)
            if table.note:
                yield Text(table.note, "quiet")
        if profile.flame is not None and not is_drawn:
            # The page stays small: the graphs of further nodes are made by the command.
            is_drawn = True
            yield flame_drawing("flame", f"data-profile-{number}-{profile.tables[0].name}", profile.flame)
        yield from (Text(f"{note}.", "quiet") for note in profile.notes)
    yield from _commands(profiles, race_id)


def _commands(profiles: Sequence[NodeProfile], race_id: str) -> Iterator[Block]:
    """Yields the commands that show all of the first recording that can be read."""
    for profile in profiles:
        if not profile.problem:
            yield Text("All methods, threads and stacks, and a flame graph that can be searched:", "quiet")
            node = (f"--node={profile.node}",) if profile.node else ()
            of_node = shell_command("pacenote", "jfr", f"--race={race_id}", *node)
            yield PageCommand(f"{of_node}\n{of_node} --flame-graph=flame.html")
            return


def _table(name: str, table: Breakdown) -> PageTable:
    counted = () if table.unit == "samples" else (PageColumn(table.counted),)
    columns = (
        *(PageColumn(head, is_number=False) for head in table.heads),
        *counted,
        PageColumn(_TOTALS[table.unit]),
        PageColumn("Share"),
    )
    rows = tuple(tuple(_cells(table, row)) for row in table.rows)
    return PageTable(name, table.title, columns, (RowGroup("", rows),), is_sortable=True)


def _cells(table: Breakdown, row: BreakdownRow) -> Iterator[PageCell | str]:
    figures, share = row.figures, row.figures.total / table.whole.total
    yield from row.keys
    if table.unit != "samples":
        yield PageCell(f"{figures.count:,}", figures.count)
    amount = f"{figures.total:,}"
    if table.unit != "samples":
        is_size = table.unit == "bytes"
        amount = format_bytes(figures.total) if is_size else format_seconds(figures.total / 1e9)
    yield PageCell(amount, figures.total)
    yield PageCell(format_share(share), share)
