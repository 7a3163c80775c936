"""A page with sections of text, tables and charts. Every chart draws the data of a table of the same page."""

from __future__ import annotations

from msgspec import Struct

from pacenote.report.page.drawing import Drawing
from pacenote.report.page.flame_drawing import FlameDrawing
from pacenote.report.page.time_charts import Chart, CurveChart, HeatMap, TimeAxis
from pacenote.report.page.tone import Tone


class PageCell(Struct, frozen=True):
    """A value of a table."""

    text: str
    """The value as shown; empty if there is none."""

    sort: float | None = None
    """The number by which a column is sorted, or None to sort by the text."""

    tone: Tone = ""
    """How it is shown."""


class PageColumn(Struct, frozen=True):
    """A column of a table."""

    heading: str
    """Its heading, with the unit if the cells have none."""

    is_number: bool = True
    """Whether its cells are aligned to the right."""


class RowGroup(Struct, frozen=True):
    """Rows of a table below one heading."""

    heading: str
    """The heading; empty for none."""

    rows: tuple[tuple[PageCell | str, ...], ...]
    """The rows, with a cell for each column."""

    kind: str = ""
    """What charts can select groups by, such as the unit of the values; empty if there is only one kind."""

    lane: int = 0
    """Number of the lane in which charts draw it: groups that overlap in time have different lanes."""

    end: float | None = None
    """Where its last row ends, in the unit of the first column; None if that does not matter."""


class PageTable(Struct, frozen=True):
    """A table."""

    id: str
    """Identifies it on the page."""

    caption: str
    """What it contains."""

    columns: tuple[PageColumn, ...]
    """Its columns."""

    groups: tuple[RowGroup, ...]
    """Its rows."""

    is_sortable: bool = False
    """Whether the user can sort it."""

    is_folded: bool = False
    """Whether it is shown only on demand."""


class Text(Struct, frozen=True):
    """A paragraph."""

    text: str
    """The text."""

    tone: Tone = ""
    """How it is shown."""


class PageCommand(Struct, frozen=True):
    """A command to enter."""

    text: str
    """The command."""


class FactList(Struct, frozen=True):
    """Labels with texts."""

    facts: tuple[tuple[str, str], ...]
    """Each label with its text."""


class Item(Struct, frozen=True):
    """A titled entry of a list."""

    title: str
    """What it is, in one line."""

    details: tuple[tuple[str, str], ...] = ()
    """Labels with texts."""

    tone: Tone = ""
    """How its title is shown."""


class ItemList(Struct, frozen=True):
    """A list of titled entries."""

    title: str
    """What it lists."""

    items: tuple[Item, ...]
    """The entries."""

    is_folded: bool = False
    """Whether it is shown only on demand."""


Block = (
    Text
    | PageCommand
    | FactList
    | ItemList
    | PageTable
    | Drawing
    | FlameDrawing
    | Chart
    | HeatMap
    | CurveChart
)
"""A part of a section."""


class Section(Struct, frozen=True):
    """A part of the page with a heading."""

    id: str
    """Identifies it on the page."""

    title: str
    """Its heading."""

    blocks: tuple[Block, ...]
    """What it shows."""

    is_printed: bool = True
    """Whether it is on paper, too."""


class KeyFigure(Struct, frozen=True):
    """One of the first figures of the page."""

    label: str
    """What it is."""

    value: str
    """The figure with its unit."""

    detail: str = ""
    """What it refers to."""

    tone: Tone = ""
    """How it is shown."""


class Question(Struct, frozen=True):
    """A question with its answer."""

    question: str
    """The question."""

    blocks: tuple[Text | PageCommand, ...]
    """The answer."""


class ReportPage(Struct, frozen=True):
    """A page."""

    title: str
    """Title of the document."""

    badge: str
    """The result in a word, such as the verdict on a race."""

    tone: Tone
    """How the badge is shown."""

    heading: str
    """What the page is about."""

    subtitle: str
    """When it was measured, for how long, and its id."""

    figures: tuple[KeyFigure, ...]
    """The most important figures."""

    questions: tuple[Question, ...]
    """The most important questions with their answers."""

    sections: tuple[Section, ...]
    """All else."""

    footer: str
    """What wrote the page, and from what."""

    axis: TimeAxis | None = None
    """What charts over time share; None if there are none."""
