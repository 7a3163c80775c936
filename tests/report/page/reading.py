"""Reads pages in tests: their answers, drawings and tables."""

from __future__ import annotations

from pacenote.report.page.drawing import Bar, Caption, Dot, Drawing, DrawingRow
from pacenote.report.page.page import PageCell, PageTable, ReportPage, Text


def answer(page: ReportPage, number: int) -> str:
    """Returns the answer to one of the questions."""
    return " ".join(block.text for block in page.questions[number].blocks)


def drawings(page: ReportPage) -> dict[str, Drawing]:
    """Returns the drawings by id."""
    blocks = (block for section in page.sections for block in section.blocks)
    return {block.id: block for block in blocks if isinstance(block, Drawing)}


def tables(page: ReportPage) -> dict[str, PageTable]:
    """Returns the tables by id."""
    blocks = (block for section in page.sections for block in section.blocks)
    return {block.id: block for block in blocks if isinstance(block, PageTable)}


def texts(page: ReportPage) -> list[str]:
    """Returns the paragraphs of all sections."""
    return [block.text for section in page.sections for block in section.blocks if isinstance(block, Text)]


def cells(table: PageTable) -> list[list[str]]:
    """Returns the texts of the cells of a table by row."""
    return [
        [cell.text if isinstance(cell, PageCell) else cell for cell in row]
        for group in table.groups
        for row in group.rows
    ]


def dots(row: DrawingRow) -> list[Dot]:
    """Returns the dots of a row."""
    return [mark for mark in row.marks if isinstance(mark, Dot)]


def bars(row: DrawingRow) -> list[Bar]:
    """Returns the bars of a row."""
    return [mark for mark in row.marks if isinstance(mark, Bar)]


def captions(row: DrawingRow) -> list[str]:
    """Returns the captions of a row."""
    return [mark.text for mark in row.marks if isinstance(mark, Caption)]
