"""Smaller versions of a page that has very many races or tasks: fewer marks and rows, as the page states."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from pacenote.report.page.drawing import Bar, Caption, Dot, Drawing, DrawingRow, Mark, Trace
from pacenote.report.page.page import Block, ItemList, PageTable, ReportPage, RowGroup, Section, Text
from pacenote.units import format_count


class PageLimits(Struct, frozen=True):
    """How much of a page is kept."""

    dots: int
    """Largest number of dots in a row of a drawing, besides those that stand out."""

    rows: int
    """Largest number of rows of a drawing and of a table."""


_LIMITS = (PageLimits(100, 400), PageLimits(50, 100), PageLimits(20, 40), PageLimits(10, 10))
_BARS = 4
"""How many times as many bars as dots a row may have: bars that are left out would look like a gap."""


def smaller_pages(page: ReportPage) -> Iterator[ReportPage]:
    """Yields versions of a page from the largest to the smallest one: without the texts of marks, which the
    tables have too, then with fewer marks and rows.
    """
    page = replace(page, sections=tuple(map(_without_titles, page.sections)))
    yield page
    for limits in _LIMITS:
        yield replace(page, sections=tuple(_limited(section, limits) for section in page.sections))


def _without_titles(section: Section) -> Section:
    return replace(
        section,
        blocks=tuple(
            replace(block, rows=tuple(map(_row_without_titles, block.rows)))
            if isinstance(block, Drawing)
            else block
            for block in section.blocks
        ),
    )


def _row_without_titles(row: DrawingRow) -> DrawingRow:
    return replace(row, marks=tuple(map(_without_title, row.marks)))


def _without_title(mark: Mark) -> Mark:
    return mark if isinstance(mark, Trace | Caption) else replace(mark, title="")


def _limited(section: Section, limits: PageLimits) -> Section:
    """Returns a section with fewer marks and rows, and a text that says so if anything is left out."""
    blocks = tuple(_limited_block(block, limits) for block in section.blocks)
    if blocks == section.blocks:
        return section
    note = Text(
        f"So that the page stays small, this section has about {limits.dots} dots in a row of a chart, and "
        f"at most {limits.rows} rows in a chart or table. The report as JSON has all values.",
        "quiet",
    )
    return replace(section, blocks=(note, *blocks))


def _limited_block(block: Block, limits: PageLimits) -> Block:
    if isinstance(block, ItemList) and len(block.items) > limits.rows:
        title = f"{block.title}; the first {limits.rows}"
        return replace(block, title=title, items=block.items[: limits.rows])
    if isinstance(block, PageTable):
        return _limited_table(block, limits.rows)
    if not isinstance(block, Drawing):
        return block
    if any(sum(isinstance(mark, Bar) for mark in row.marks) > _BARS * limits.dots for row in block.rows):
        return Text(f"{block.title}: left out, because it has too many parts. {block.summary}", "quiet")
    rows = tuple(_limited_row(row, limits.dots) for row in block.rows[: limits.rows])
    left_out = len(block.rows) - len(rows)
    more = f" {format_count(left_out, 'more row')} left out." if left_out else ""
    return replace(block, rows=rows, summary=f"{block.summary}{more}")


def _limited_row(row: DrawingRow, most: int) -> DrawingRow:
    """Returns a row with fewer dots: those that stand out, and the others at equal distances."""
    dots = [mark for mark in row.marks if isinstance(mark, Dot)]
    if len(dots) <= most:
        return row
    ends = {id(end(dots, key=place)) for end in (min, max) for place in (_x, _y)}
    every = -(-len(dots) // most)
    marked = [dot for dot in dots if dot.form != "disc"]
    kept = ends | {id(dot) for dot in dots[::every]} | {id(dot) for dot in marked if len(marked) <= most}
    return replace(
        row, marks=tuple(mark for mark in row.marks if not isinstance(mark, Dot) or id(mark) in kept)
    )


def _x(dot: Dot) -> float:
    return dot.x


def _y(dot: Dot) -> float:
    return dot.y


def _limited_table(table: PageTable, most: int) -> PageTable:
    """Returns a table with its first rows."""
    count = sum(len(group.rows) for group in table.groups)
    if count <= most:
        return table
    groups: list[RowGroup] = []
    for group in table.groups:
        kept = group.rows[: most - sum(len(each.rows) for each in groups)]
        groups += [replace(group, rows=kept)] if kept else []
    return replace(
        table, groups=tuple(groups), caption=f"{table.caption}; the first {most} of {count:,} rows"
    )
