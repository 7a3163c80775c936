"""Charts over the time of a race, and of percentiles: the script of the page draws them, from its tables."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

LineStyle = Literal["line", "thin", "dashed", "faint", "band", "bar"]
"""How values over time are shown: a line, a thin or dashed one, a line in the background, an area between two
columns, or bars.
"""


class ChartLine(Struct, frozen=True):
    """Values of a chart over time."""

    label: str
    """What they are."""

    column: int
    """Number of the column of the table, from 0."""

    style: LineStyle = "line"
    """How they are shown."""

    to_column: int | None = None
    """The other column of a band."""


class Chart(Struct, frozen=True):
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


class HeatMap(Struct, frozen=True):
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


class Curve(Struct, frozen=True):
    """Percentiles of one task."""

    name: str
    """The task."""

    points: tuple[tuple[float, float], ...]
    """Percentiles (0 to 100) with their values in milliseconds."""


class CurveChart(Struct, frozen=True):
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


class Band(Struct, frozen=True):
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


class TimeAxis(Struct, frozen=True):
    """What all charts over time share."""

    end_s: float
    """End of the race, in seconds since its first task began."""

    bands: tuple[Band, ...]
    """The tasks."""

    stalls: tuple[tuple[float, float], ...]
    """Beginning and end of each stall, which the charts mark."""
