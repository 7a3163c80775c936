"""Charts that are drawn here, so that they need no script: rows of marks on one horizontal axis.

A position is a share of the width or of the height of its row, from 0 to 1; y is 0 at the top. So the same
drawing fits a phone and a desk, while texts and dots keep their sizes.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from pacenote.report.page.tone import Tone

MarkStyle = Literal["", "good", "doubtful", "wrong", "quiet", "accent", "lane1", "lane2", "lane3"]
"""The colour of a mark: of texts, of a judgement, of the background, or one of four without a meaning."""

DotForm = Literal["disc", "ring", "cross"]
"""The form of a dot, which tells what a colour alone must not tell."""

CaptionAnchor = Literal["start", "middle", "end"]
"""Which part of a caption is at its position."""


class Dot(Struct, frozen=True):
    """A value."""

    x: float
    """Position."""

    y: float = 0.5
    """Position."""

    style: MarkStyle = "accent"
    """Its colour."""

    form: DotForm = "disc"
    """Its form."""

    title: str = ""
    """What it is, shown on demand."""


class Stroke(Struct, frozen=True):
    """A straight line."""

    x: float
    """Position of its beginning."""

    y: float
    """Position of its beginning."""

    to_x: float
    """Position of its end."""

    to_y: float
    """Position of its end."""

    style: MarkStyle = "accent"
    """Its colour."""

    is_thin: bool = False
    """Whether it is a thin line."""

    is_dashed: bool = False
    """Whether it is dashed."""

    title: str = ""
    """What it is, shown on demand."""


class Bar(Struct, frozen=True):
    """A filled rectangle."""

    x: float
    """Position of its left edge."""

    to_x: float
    """Position of its right edge."""

    y: float = 0.0
    """Position of its upper edge."""

    to_y: float = 1.0
    """Position of its lower edge."""

    style: MarkStyle = "accent"
    """Its colour."""

    is_faint: bool = False
    """Whether it is behind the other marks."""

    level: int | None = None
    """How strong its colour is, from 0 to 9, so that a text on it can be read; None for a full colour."""

    title: str = ""
    """What it is, shown on demand."""


class Trace(Struct, frozen=True):
    """A line through points, or the area that they surround."""

    points: tuple[tuple[float, float], ...]
    """The positions."""

    style: MarkStyle = "accent"
    """Its colour."""

    is_area: bool = False
    """Whether it is an area, behind the other marks."""


class Caption(Struct, frozen=True):
    """A short text beside the marks."""

    x: float
    """Position."""

    y: float
    """Position of its middle."""

    text: str
    """The text."""

    anchor: CaptionAnchor = "middle"
    """Which part of it is at its position."""

    style: MarkStyle = "quiet"
    """Its colour."""


Mark = Dot | Stroke | Bar | Trace | Caption
"""A part of a drawing."""


class Tick(Struct, frozen=True):
    """A labelled position of the axis."""

    x: float
    """Position."""

    label: str
    """Its label."""

    is_strong: bool = False
    """Whether its line stands out, as that of no change does."""


class DrawingRow(Struct, frozen=True):
    """Marks beside a label. Those that come later are drawn over the others."""

    label: str
    """What is drawn."""

    marks: tuple[Mark, ...]
    """The marks."""

    note: str = ""
    """The result in a few words."""

    tone: Tone = ""
    """How the note is shown."""

    height_px: int = 28
    """Its height in pixels."""


class KeyEntry(Struct, frozen=True):
    """What a style of a drawing means."""

    style: MarkStyle
    """The colour."""

    text: str
    """What it means."""

    form: DotForm | Literal["line", "dashed", "bar", "area"] = "disc"
    """The form of the marks."""


class Drawing(Struct, frozen=True):
    """A chart that is drawn without a script."""

    id: str
    """Identifies it on the page."""

    title: str
    """What it shows."""

    summary: str
    """What there is to see, in a sentence."""

    table: str
    """Id of the table with its data."""

    rows: tuple[DrawingRow, ...]
    """Its rows, from top to bottom."""

    ticks: tuple[Tick, ...] = ()
    """The axis below the rows."""

    unit: str = ""
    """What the axis shows."""

    key: tuple[KeyEntry, ...] = ()
    """What the marks mean."""

    has_rules: bool = True
    """Whether a line goes from each label of the axis through the rows."""
