"""A page with sections of text, tables and charts. Every chart draws the data of a table of the same page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pacenote.model.race_record import VerdictState
from pacenote.model.race_state import RaceState

Tone = Literal["", "good", "doubtful", "wrong", "quiet"]
"""How a text is shown: as a judgement, or in the background."""

LineStyle = Literal["line", "thin", "dashed", "faint", "band", "bar"]
"""How values over time are shown: a line, a thin or dashed one, a line in the background, an area between two
columns, or bars.
"""


@dataclass(frozen=True, slots=True)
class PageCell:
    """A value of a table."""

    text: str
    """The value as shown; empty if there is none."""

    sort: float | None = None
    """The number by which a column is sorted, or None to sort by the text."""

    tone: Tone = ""
    """How it is shown."""


@dataclass(frozen=True, slots=True)
class PageColumn:
    """A column of a table."""

    heading: str
    """Its heading, with the unit if the cells have none."""

    is_number: bool = True
    """Whether its cells are aligned to the right."""


@dataclass(frozen=True, slots=True)
class RowGroup:
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


@dataclass(frozen=True, slots=True)
class PageTable:
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


@dataclass(frozen=True, slots=True)
class ChartLine:
    """Values of a chart over time."""

    label: str
    """What they are."""

    column: int
    """Number of the column of the table, from 0."""

    style: LineStyle = "line"
    """How they are shown."""

    to_column: int | None = None
    """The other column of a band."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart over the time of the race, which is the first column of its table."""

    id: str
    """Identifies it on the page."""

    title: str
    """What it shows."""

    summary: str
    """What there is to see, in a sentence."""

    table: str
    """Id of the table with its data."""

    unit: str
    """Unit of the values."""

    lines: tuple[ChartLine, ...]
    """What it draws."""

    kind: str = ""
    """The kind of the groups that it draws; empty for all."""

    is_logarithmic: bool = False
    """Whether the axis of the values is logarithmic."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A chart of the number of operations by time and duration. The columns of its table after the first one
    are levels of durations.
    """

    id: str
    """Identifies it on the page."""

    title: str
    """What it shows."""

    summary: str
    """What there is to see, in a sentence."""

    table: str
    """Id of the table with its data."""

    levels_ms: tuple[float, ...]
    """Where each level begins and the last one ends, in milliseconds: one more than there are levels."""

    length_s: float
    """Length of a row in seconds."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Percentiles of one task."""

    name: str
    """The task."""

    points: tuple[tuple[float, float], ...]
    """Percentiles (0 to 100) with their values in milliseconds."""


@dataclass(frozen=True, slots=True)
class CurveChart:
    """Percentiles of tasks on an axis of the share above them."""

    id: str
    """Identifies it on the page."""

    title: str
    """What it shows."""

    summary: str
    """What there is to see, in a sentence."""

    table: str
    """Id of the table with its data."""

    curves: tuple[Curve, ...]
    """The tasks, the slowest first."""


@dataclass(frozen=True, slots=True)
class Band:
    """When a task ran, in seconds since the race's first task began."""

    name: str
    """The task."""

    from_s: float
    """Its beginning."""

    to_s: float
    """Its end."""

    measured_from_s: float
    """End of its warm-up; the beginning of the task if it had none."""

    lane: int
    """Number of its lane: tasks that overlap have different lanes."""


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """What all charts over time share."""

    end_s: float
    """End of the race, in seconds since its first task began."""

    bands: tuple[Band, ...]
    """The tasks."""

    stalls: tuple[tuple[float, float], ...]
    """Beginning and end of each stall, which the charts mark."""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str
    """The text."""

    tone: Tone = ""
    """How it is shown."""


@dataclass(frozen=True, slots=True)
class PageCommand:
    """A command to enter."""

    text: str
    """The command."""


@dataclass(frozen=True, slots=True)
class FactList:
    """Labels with texts."""

    facts: tuple[tuple[str, str], ...]
    """Each label with its text."""


@dataclass(frozen=True, slots=True)
class Item:
    """A titled entry of a list."""

    title: str
    """What it is, in one line."""

    details: tuple[tuple[str, str], ...] = ()
    """Labels with texts."""

    tone: Tone = ""
    """How its title is shown."""


@dataclass(frozen=True, slots=True)
class ItemList:
    """A list of titled entries."""

    title: str
    """What it lists."""

    items: tuple[Item, ...]
    """The entries."""

    is_folded: bool = False
    """Whether it is shown only on demand."""


Block = Text | PageCommand | FactList | ItemList | PageTable | Chart | HeatMap | CurveChart
"""A part of a section."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading."""

    id: str
    """Identifies it on the page."""

    title: str
    """Its heading."""

    blocks: tuple[Block, ...]
    """What it shows."""


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One of the first figures of the page."""

    label: str
    """What it is."""

    value: str
    """The figure with its unit."""

    detail: str = ""
    """What it refers to."""

    tone: Tone = ""
    """How it is shown."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the race, with its answer."""

    question: str
    """The question."""

    blocks: tuple[Text | PageCommand, ...]
    """The answer."""


@dataclass(frozen=True, slots=True)
class RacePage:
    """The report of a race."""

    title: str
    """Title of the document."""

    state: VerdictState
    """The verdict."""

    badge: VerdictState | RaceState
    """The verdict, or the state of a race that is not complete."""

    heading: str
    """Track, challenge and engine."""

    subtitle: str
    """When it ran, for how long, and its id."""

    figures: tuple[KeyFigure, ...]
    """The most important figures."""

    questions: tuple[Question, ...]
    """The most important questions with their answers."""

    sections: tuple[Section, ...]
    """All else."""

    axis: TimeAxis | None
    """What charts over time share; None if there are none."""

    footer: str
    """What wrote the page, and from which race."""
