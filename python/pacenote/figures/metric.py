"""What is known of a metric: its name, unit and meaning, and what each place that shows it calls it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from msgspec import Struct

from pacenote.model.comparison import MetricKind

MetricForm = Literal["times", "gauge", "counter"]
"""What the figures of a metric are: a distribution of durations, values, or a number that grows during a
race.
"""

MetricUnit = Literal["ms", "s", "bytes", "ratio", "rate", "other", ""]
"""The unit of a metric; empty for a number of things, `rate` for work per second in the unit of the task, and
`other` if the unit differs from figure to figure: the unit of the task, unless the figure has its own.
"""

PercentileKind = Literal["latency", "service-time", "processing-time", "lateness"]
"""Kind of a row with a percentile: the time that it is a percentile of."""

RowKind = PercentileKind | Literal["shards", "disk-usage", "other"]
"""Kind of a row, which selects footnotes: percentiles of a time, values of primary shards, disk space of
fields, or other values.
"""

RuleUnit = Literal["share", "s", "ms", "bytes", "count", "1/s", "ratio"]
"""A unit of rules: `share` is a ratio that is shown as a percentage."""

RowGroup = Literal["rally", "task", "race"]
"""Where a row is in a report: among the rows that Rally has, among the further rows of its task, or after
those of all tasks.
"""

VALUE = "value"
"""The statistic of a metric that has one figure."""


class ShownUnit(Struct, frozen=True):
    """The unit in which a figure is shown."""

    name: str = ""
    """Its name; empty for a number of things."""

    divisor: float = 1
    """How many units of the metric it is."""

    factor: float = 1
    """How many of it a unit of the metric is."""

    def of(self, value: float) -> float:
        """Returns a value of the metric in this unit."""
        value = value if self.factor == 1 else value * self.factor
        return value if self.divisor == 1 else value / self.divisor


class MetricRow(Struct, frozen=True):
    """The rows of a metric in a report or a comparison."""

    label: str
    """Rally's name of a row; `{which}` stands for the statistic, and `{part}` for what it describes."""

    unit: ShownUnit | None = ShownUnit()
    """Its unit; None for that of the figure."""

    kind: RowKind = "other"
    """Its kind."""

    decimals: int | None = None
    """Number of decimals that Rally shows, or None for all digits."""

    group: RowGroup = "rally"
    """Where it is."""

    percentiles: tuple[float, ...] = ()
    """Which percentiles have rows; if empty, those that Rally shows of so many values."""

    bulk_label: str = ""
    """Its name for bulks that index documents, if that differs."""

    hides_zero: bool = False
    """Whether a value of 0 has no row."""

    def named(self, which: str, part: str = "") -> str:
        """Returns Rally's name of the row of a statistic."""
        return self.label.replace("{which}", which).replace("{part}", part)


class StoredName(Struct, frozen=True):
    """What Rally's metrics documents call a figure of the engine."""

    name: str
    """Its name."""

    unit: str | None = ""
    """Its unit there; empty for a number of things, and None for that of the figure."""

    is_sampled: bool = True
    """Whether the document says that it is a normal sample, with its unit."""


class RuleName(Struct, frozen=True):
    """What the rules of the diagnosis call a figure."""

    name: str
    """Its name."""

    text: str
    """Its meaning."""

    unit: RuleUnit
    """Its unit there."""

    statistic: str = VALUE
    """Which figure of the metric it is."""

    divisor: float = 1
    """How many units of the metric its unit is."""


class EnginePhrase(Struct, frozen=True):
    """What the screen calls a figure of the engine in its phrases, which are shorter than Rally's names."""

    name: str
    """Its name: of a time, of a size, or of one of several things."""

    line: Literal["work", "state"]
    """In which line it is: the work of the engine, or its collections and the size of its data."""

    place: int
    """Its place in the line."""

    counted_by: str = ""
    """Key of the metric that says how often it was done; empty if that is not shown."""


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """One metric."""

    key: str
    """Its name, which exports have: lower-case letters, digits and underscores."""

    unit: MetricUnit
    """Its unit."""

    form: MetricForm
    """What its figures are."""

    text: str
    """Its meaning in one phrase, which ends without a full stop."""

    part: str = ""
    """What the column `part` of exports names; empty if it is empty."""

    origin: str | Callable[[Any], object] = ""
    """Where its value is in `SystemMetrics` or `TaskResult`; empty if `of_race` computes it."""

    origin_of_part: str = ""
    """Where its value is in `SubOperationResult`; empty if only tasks have one."""

    statistics: tuple[str, ...] = (VALUE,)
    """Which figures of a value that has several; distributions have a count, a mean and percentiles."""

    is_scheduled: bool = False
    """Whether only tasks with a schedule have it."""

    is_latency: bool = False
    """Whether it includes the time for which operations waited for others."""

    row: MetricRow | None = None
    """Its rows in reports and on pages."""

    compared: MetricRow | None = None
    """Its rows in comparisons and trends."""

    kind: MetricKind = "system"
    """How it is compared."""

    higher_is_better: bool = False
    """Whether an increase is an improvement."""

    result: str = ""
    """Its name in Rally's results document."""

    is_of_node: bool = False
    """Whether Rally stores it for a node instead of a race."""

    stored: StoredName | None = None
    """Its name in Rally's metrics documents."""

    rules: tuple[RuleName, ...] = ()
    """Its names in the rules of the diagnosis."""

    phrase: EnginePhrase | None = None
    """What the screen calls it; None if the screen has no phrase of it."""

    is_total: bool = False
    """Whether it is the sum of those of the other metrics that have the same `part`."""

    @property
    def option_key(self) -> str:
        """Its name in options, such as `error-rate`; percentiles have theirs before it."""
        return self.key.replace("_", "-")
