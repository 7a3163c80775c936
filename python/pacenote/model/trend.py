"""The trend of a track as data: its races over time, and where metrics changed (docs/trend.md)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Literal

from msgspec import Struct, field

from pacenote.model.accepted_regression import AcceptedRegression
from pacenote.model.codec import encode
from pacenote.model.comparison import EstimatedChange, FactDifference, MetricId, MetricWord
from pacenote.model.custom_metrics import QualityDirection
from pacenote.model.damaged_race import DamagedRace
from pacenote.model.race_record import VerdictState

TREND_FORMAT = 2
"""Version of the document of a trend."""

NEW_RACES = 10
"""A change is new if it was not found yet so many races ago, unless a day is given."""

TrendAnswer = Literal[
    "regression",
    "earlier regression",
    "newest races unusable",
    "last race deviates",
    "no regression",
    "too few races",
]
"""What a trend says of the newest races: the first of these that holds, for any metric or for the races."""


class TrendRace(Struct, frozen=True):
    """A race of a series."""

    race_id: str
    """Its id."""

    name: str
    """The id as messages show it: the beginning of an id that Pacenote chose."""

    timestamp: datetime
    """When it began."""

    verdict: VerdictState
    """Its own verdict: `valid` or `suspect`."""

    engine: str
    """Distribution and version of the engine; empty if unknown."""

    revision: str
    """The revision that the engine was built from; empty if unknown."""

    tags: Mapping[str, str]
    """Its user tags."""


class TrendPoint(Struct, frozen=True):
    """The value of a metric in one race."""

    race: int
    """Index of the race in `Trend.races`."""

    value: float
    """The value in the unit of the metric."""

    low: float | None = None
    """Lower bound of the 95 % interval of a percentile, from the operations of its race; None without one."""

    high: float | None = None
    """Upper bound of the 95 % interval of a percentile, from the operations of its race; None without one."""

    is_doubtful: bool = False
    """Whether the race itself makes the value doubtful."""

    is_outlier: bool = False
    """Whether it is so far from the races around it that the search for changes left it out."""

    has_backlog: bool = False
    """Whether it is a latency that includes the backlog of the warm-up, so that it decides nothing."""


class TrendLevel(Struct, frozen=True):
    """Consecutive races of which a metric did not change."""

    first: int
    """Index of its first race in `Trend.races`."""

    last: int
    """Index of its last race in `Trend.races`."""

    races: int
    """Number of its races that have the metric."""

    value: float
    """The mean of the metric without outliers, in its unit: the geometric one, unless it is an error rate."""

    low: float
    """Lower bound of the 95 % interval of that mean, in its unit."""

    high: float
    """Upper bound of the 95 % interval of that mean, in its unit."""


class TrendChange(Struct, frozen=True):
    """A change point of a metric."""

    before: int
    """Index of the last race of the old level in `Trend.races`."""

    after: int
    """Index of the first race of the new level in `Trend.races`."""

    word: MetricWord
    """The verdict on the change: `same` if it is certain, but too small to matter."""

    change: EstimatedChange
    """The estimated change of the level."""

    p: float
    """Probability of such a change anywhere between its neighbours if nothing changed."""

    matters: bool
    """Whether the estimate is at least the smallest change that matters."""

    raised: int | None = None
    """Index in `Trend.races` of the race that raised the alarm of the online detector; None if the change is
    one between levels.
    """

    total: EstimatedChange | None = None
    """The change from the old level to the newest one, if only the steps since then together matter."""

    is_new: bool = False
    """Whether it was not found yet before the newest races, as the options define them."""

    is_regression: bool = False
    """Whether it is a worsening that matters, was not made up for since, and was not accepted."""

    accepted: str = ""
    """Why it was accepted; empty if it was not."""


class TrendDrift(Struct, frozen=True):
    """A steady change of a metric."""

    per_race: float
    """The relative change from one race to the next."""

    total: float
    """The relative change from the first race to the last one."""

    word: MetricWord
    """`better` or `worse` if the total is at least the smallest change that matters, otherwise `same`."""

    is_regression: bool = False
    """Whether it became worse by what matters, also since it was accepted."""

    accepted: str = ""
    """Why it was accepted; empty if it was not."""


class TrendDeviation(Struct, frozen=True):
    """The newest races, which are off the level, but too few for a change point."""

    races: int
    """Number of these races: one or two."""

    change: float
    """Relative deviation of the last one from the level or, of an error rate, the difference in points."""

    word: MetricWord
    """`better` or `worse`."""


class MetricTrend(Struct, frozen=True):
    """One metric over time."""

    metric: MetricId
    """The metric."""

    smallest_effect: float
    """The smallest change that matters: relative, or of an error rate in points of a percentage."""

    points: tuple[TrendPoint, ...]
    """Its values in the order of the races, without races that do not have it."""

    levels: tuple[TrendLevel, ...] = ()
    """Its levels in their order; empty with too few races, and if it drifts."""

    changes: tuple[TrendChange, ...] = ()
    """The changes between them."""

    noise: float | None = None
    """Standard deviation of races of one level: relative, or of an error rate in points; None if unknown."""

    correlation: float = 0.0
    """Correlation between a race and the race before it, without the changes; at least 0."""

    correlation_p: float = 1.0
    """Probability of such a correlation if races are independent."""

    detectable: float | None = None
    """The smallest worsening that is found by its third race with a probability of 80 % or more, or None."""

    drift: TrendDrift | None = None
    """Its steady change, if that describes it better than levels do."""

    deviation: TrendDeviation | None = None
    """That its newest races are off the level, or None."""

    reason: str = ""
    """Why no change can be found; otherwise empty."""

    is_missing: bool = False
    """Whether earlier races have a value that counts, but the newest one does not, which nobody accepted."""

    @property
    def is_absolute(self) -> bool:
        """Whether its changes are differences: an error rate, or a custom metric that is not above 0 in all
        races.
        """
        if self.metric.kind == "custom":
            return any(point.value <= 0 for point in self.points)
        return self.metric.kind == "error rate"

    @property
    def last_change(self) -> TrendChange | None:
        """The last change that matters."""
        return next((change for change in reversed(self.changes) if change.matters), None)

    @property
    def regressions(self) -> tuple[TrendChange, ...]:
        """Its changes that are regressions."""
        return tuple(change for change in self.changes if change.is_regression)

    @property
    def is_worse(self) -> bool:
        """Whether it has a regression, or a drift that is one."""
        return bool(self.regressions) or (self.drift is not None and self.drift.is_regression)


class ChangedFact(Struct, frozen=True):
    """A fact of the configuration that differs between the races beside a change."""

    difference: FactDifference
    """The fact, with its values in the last race before and the first race after the change."""

    only_here: bool
    """Whether it has one value in all races of the old level, and another one in all those of the new one."""


class TrendEvent(Struct, frozen=True):
    """A place between two races at which metrics changed."""

    before: int
    """Index of the last race before in `Trend.races`."""

    after: int
    """Index of the first race after in `Trend.races`."""

    metrics: tuple[str, ...]
    """Labels of the metrics that changed there by what matters."""

    facts: tuple[ChangedFact, ...]
    """What differs between the configurations of both races; what differs only here comes first."""

    notes: tuple[str, ...] = ()
    """What of the configurations could not be compared, one sentence each."""


class TrendOptions(Struct, frozen=True):
    """What a trend is asked for, beyond the races."""

    metrics: tuple[str, ...] = ()
    """Metrics, each as `KEY:TASK`, or `KEY` for all tasks; empty for the primary ones."""

    smallest_effect: float | None = None
    """The smallest relative change that matters, such as 0.03; None for the default of each metric."""

    quality: tuple[QualityDirection, ...] = ()
    """In which direction custom metrics are better; before what the tracks of the races declare."""

    checked_quality: tuple[QualityDirection, ...] = ()
    """Those of them that must be for metrics of the races."""

    last: int | None = None
    """Maximum number of races, the newest ones; None for all."""

    new_races: int = NEW_RACES
    """A change is new if it was not found yet so many races ago."""

    since: date | None = None
    """The day, in UTC, before which a change must not have been found to be new, in place of `new_races`, and
    to be a regression; None without one.
    """

    not_before: datetime | None = None
    """When the newest race must have begun at the earliest to count as the newest; None for any time."""

    accepted: tuple[AcceptedRegression, ...] = ()
    """Which regressions were accepted."""

    names: Mapping[str, str] = field(default_factory=dict)
    """Short ids of races, by id; a race without one is named by its id."""

    left_out: tuple[str, ...] = ()
    """Which races were found, but cannot be read, one sentence each."""

    damaged: tuple[DamagedRace, ...] = ()
    """Those of them whose records cannot be read."""

    def name(self, race_id: str) -> str:
        """Returns how messages name a race."""
        return self.names.get(race_id, race_id)


class Trend(Struct, frozen=True):
    """The races of a track and configuration over time."""

    track: str
    """Name of the track."""

    challenge: str | None
    """Name of the challenge, or None for a bare schedule."""

    configuration: Mapping[str, str]
    """What all races have in common, by name: engine, car, machine, data."""

    races: tuple[TrendRace, ...]
    """The races, oldest first."""

    metrics: tuple[MetricTrend, ...]
    """The metrics, in the order of Rally's table."""

    events: tuple[TrendEvent, ...]
    """The places of their changes that matter, oldest first."""

    answer: TrendAnswer
    """What it says of the newest races."""

    new_from: int
    """Index of the first of the newest races: what the races before it show is not new; the number of races
    if nothing can be new.
    """

    level: float
    """The level of significance of each metric: the p-value below which it changed."""

    newest_unusable: str = ""
    """Which races after the newest one that can be used are void or unfinished, or that none is as new as it
    has to be, in one sentence; empty if the newest race counts.
    """

    left_out: tuple[str, ...] = ()
    """Which races were left out, and why, one sentence each."""

    notes: tuple[str, ...] = ()
    """What limits the answer, one sentence each."""

    earlier: Trend | None = None
    """The trend of the series before, whose machine or data were others, if it ended with a regression that
    was not accepted; None otherwise.
    """

    @property
    def regressions(self) -> tuple[tuple[MetricTrend, TrendChange], ...]:
        """The changes that are regressions, with their metrics."""
        return tuple((metric, change) for metric in self.metrics for change in metric.regressions)

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready document; docs/reference/trend.md describes it."""
        return {"format": TREND_FORMAT, **self._labelled()}

    def _labelled(self) -> dict[str, Any]:
        """Returns the values with the label of each metric."""
        document: dict[str, Any] = encode(self)
        for entry, metric in zip(document["metrics"], self.metrics, strict=True):
            entry["metric"]["label"] = metric.metric.label
        if self.earlier is not None:
            document["earlier"] = self.earlier._labelled()
        return document
