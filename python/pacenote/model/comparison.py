"""The comparison of two groups of races as data; docs/comparing.md explains it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct, field

from pacenote.model.codec import encode
from pacenote.model.custom_metrics import Direction
from pacenote.model.finding import Finding
from pacenote.model.imported import UNSTATED_TIME
from pacenote.model.race_record import RaceRecord, VerdictState
from pacenote.model.race_state import RaceState
from pacenote.model.snapshot import RaceSnapshot

COMPARISON_FORMAT = 1
"""Version of the document of a comparison."""

FIRST_LOOK, CLAIM = 5, 10
"""Number of races of each side from which on there is a first look, and from which on it can be claimed."""

MetricKind = Literal["throughput", "percentile", "error rate", "system", "custom"]
"""What a metric measures."""

PercentileTime = Literal["latency", "service time"]
"""The kinds of time that races have histograms of."""

MetricRole = Literal["primary", "quality", "secondary"]
"""Whether a metric takes part in the answer: a primary one does, and a quality metric does if it became
worse.
"""

MetricWord = Literal[
    "better",
    "probably better",
    "same",
    "unclear",
    "probably worse",
    "worse",
    "void",
    "no verdict",
    "changed",
    "probably changed",
]
"""The verdict on a metric: none with too few races for an interval, and `void` if the races must not be
compared. One that is neither better nor worse with higher values has `changed` for `better` and `worse`.
"""

WORSE_WORDS: tuple[MetricWord, ...] = ("worse", "probably worse")
"""The words for a metric that became worse."""

ComparisonAnswer = MetricWord | Literal["mixed", "partly void"]
"""The word for all primary metrics: `mixed` if one is better and another one is worse, `partly void` if none
of them is worse but some are void.
"""

ComparisonDesign = Literal["paired", "unpaired", "one race each"]
"""How the races of both groups belong together: by blocks, not at all, or because there is only one pair."""

RaceKey = tuple[str, datetime | None]
"""The id of a race and when it began, if that is known."""

RunOrder = Literal["baseline first", "contender first", "mixed"]
"""The order of two groups of races: all or most of one after the other (`stats/interleaving.py`), or neither.
"""


class MetricId(Struct, frozen=True):
    """A metric of a task, or of the whole race."""

    task: str
    """Name of the task; empty for a metric of the whole race."""

    name: str
    """Its name in tables, such as `99th percentile service time`."""

    unit: str
    """Its unit; empty for a count."""

    key: str
    """Its name in options, such as `p99-service-time`."""

    kind: MetricKind
    """What it measures."""

    q: float = 0.0
    """Which percentile it is, from 0 to 100; 0 for other metrics."""

    higher_is_better: bool | None = False
    """Whether an increase is an improvement; None if neither an increase nor a decrease is."""

    @property
    def difference_unit(self) -> str:
        """The unit of the difference of two values: those of percentages differ by points."""
        return "points" if self.unit == "%" else self.unit

    @property
    def label(self) -> str:
        """Its name in options with the task: `p99-service-time:term`."""
        return f"{self.key}:{self.task}" if self.task else self.key


MAX_CHANGE = 10.0
"""An increase by more than ten times the baseline is not shown as a bound: nothing is known then."""


class ChangeInterval(Struct, frozen=True):
    """The interval of a change, in the unit of its estimate."""

    low: float
    """Lower bound."""

    high: float | None
    """Upper bound, or None if it is infinite."""

    confidence: float
    """Confidence, from 0 to 1."""


class EstimatedChange(Struct, frozen=True):
    """The change from baseline to contender, with its interval. Changes are relative to the baseline, such as
    0.03 for an increase by 3 %, or absolute in the unit of the metric.
    """

    value: float
    """The estimate."""

    low: float
    """Lower bound of the interval."""

    high: float | None
    """Upper bound of the interval, or None if it is infinite."""

    confidence: float
    """Confidence of the interval, from 0 to 1; higher than 0.95 if several metrics decide together."""

    p: float | None
    """Two-sided p-value of the hypothesis that nothing changed, or None if there is none."""

    detectable: float | None
    """The smallest increase that would have been seen with a probability of 80 %, or None if it is infinite
    or unknown.
    """

    is_absolute: bool = False
    """Whether the change is a difference, and not relative."""

    unit: str = ""
    """The unit of a difference, such as `points` of percentages; empty for a relative change, or if the
    metric has none.
    """

    alone: ChangeInterval | None = None
    """The interval as if no other metric decided, which shows that a metric is the same or not worse than a
    limit: all metrics must be for the answer, so that many of them make an error less likely. None if the
    change is not of a comparison, for error rates that vary too much to show it, and if a drift of the
    machine may hide a change.
    """

    @property
    def known_high(self) -> float | None:
        """The upper bound, or None if it says nothing: it is infinite, or above `MAX_CHANGE`."""
        return None if self.high is None or (self.high > MAX_CHANGE and not self.is_absolute) else self.high


class PercentileShift(Struct, frozen=True):
    """The relative change of a percentile from one race to another, as precise as their operations make it.
    How much races of the same configuration differ is not part of its interval: it is no verdict.
    """

    value: float
    """The change."""

    low: float | None
    """Lower bound of the 95 % interval, or None if there are too few operations."""

    high: float | None
    """Upper bound of the 95 % interval, or None if there are too few operations."""


class MetricComparison(Struct, frozen=True):
    """One metric on both sides."""

    metric: MetricId
    """The metric."""

    role: MetricRole
    """Whether it takes part in the answer."""

    baseline: tuple[float, ...]
    """Its value in each race of the baseline, in the order of the group."""

    contender: tuple[float, ...]
    """Its value in each race of the contender, in the order of the group."""

    baseline_value: float
    """The median of the values of the baseline."""

    contender_value: float
    """The median of the values of the contender."""

    word: MetricWord
    """The verdict."""

    smallest_effect: float
    """The smallest change that matters: relative, or of an error rate in points of a percentage."""

    change: EstimatedChange | None = None
    """The estimated change, or None if there are too few races."""

    usual_change: float | None = None
    """Of one race each, the largest relative change that the measured noise of races explains: 95 % of the
    pairs of races of one configuration differ by less. None with several races or without measured noise.
    """

    shift: PercentileShift | None = None
    """Of a percentile of one race each, its change as precise as the operations make it; otherwise None."""

    reason: str = ""
    """Why there is no verdict, what the ranks of the blocks say if they disagree, or that an error rate
    varies too much for its interval; otherwise empty.
    """

    has_backlog: bool = False
    """Whether it is a latency or a throughput that includes the backlog of the warm-up in a race: it decides
    nothing.
    """

    is_of_other_work: bool = False
    """Whether it is void only because an operation does other work on the two sides: its values are those of
    their races nevertheless.
    """

    lost_blocks: tuple[str, ...] = ()
    """The blocks whose races its values leave out, because one of them makes it doubtful."""

    order_problem: str = ""
    """Why a drift of the machine may have caused its change, or may hide one, such as `the baseline ran first
    in every block, …`; empty if the order of its races excludes that, and without a change.
    """

    possible_rise: float | None = None
    """Of an error rate that is 0 in all races, by how many points of a percentage it may have risen
    nevertheless, with the confidence of an interval: so few operations of the contender do not exclude more.
    None for other metrics, and if their number is not known.
    """

    contender_operations: tuple[int, ...] = ()
    """Of an error rate, the number of measured operations of each race of the contender; empty for other
    metrics, and if one of them is not known.
    """

    @property
    def is_zero(self) -> bool:
        """Whether it is 0 in all races, such as the error rate of operations that did not fail."""
        return not any((*self.baseline, *self.contender))

    @property
    def decides(self) -> bool:
        """Whether it must not be worse: it is primary, or a quality metric with a direction."""
        return self.role == "primary" or (self.role == "quality" and self.metric.higher_is_better is not None)

    @property
    def is_absolute(self) -> bool:
        """Whether its change is a difference: an error rate, or a custom metric that is not above 0 in all
        races.
        """
        if self.metric.kind == "custom":
            return min((*self.baseline, *self.contender)) <= 0
        return self.metric.kind == "error rate"

    @property
    def relative_change(self) -> float | None:
        """The estimated relative change, or else that of the medians; None if the baseline is not above 0."""
        if self.change is not None and not self.change.is_absolute:
            return self.change.value
        return self.contender_value / self.baseline_value - 1 if self.baseline_value > 0 else None


class MergedPercentileChange(Struct, frozen=True):
    """A percentile of all operations of each side, from the merged histograms of its races. It describes, and
    decides nothing: the operations of one race are not independent of each other.
    """

    metric: MetricId
    """The percentile."""

    baseline: float
    """Its value over all operations of the baseline, in the unit of the metric."""

    contender: float
    """Its value over all operations of the contender, in the unit of the metric."""

    baseline_count: int
    """Number of operations of the baseline."""

    contender_count: int
    """Number of operations of the contender."""

    has_backlog: bool = False
    """Whether it is a latency that includes the backlog of the warm-up in a race."""

    @property
    def relative_change(self) -> float | None:
        """The relative change; None if the baseline is 0."""
        return self.contender / self.baseline - 1 if self.baseline else None


class FactDifference(Struct, frozen=True):
    """A fact of the configuration that differs between the groups."""

    area: str
    """What it is about, such as `JVM`."""

    key: str
    """Its key."""

    baseline: tuple[str, ...]
    """Its values in the races of the baseline, without repetitions; empty if no race has it. If both sides
    have the same values, each is shown with the number of its races.
    """

    contender: tuple[str, ...]
    """Its values in the races of the contender, without repetitions; empty if no race has it."""


class RaceInGroup(Struct, frozen=True):
    """A race of a group."""

    race_id: str
    """Its id."""

    timestamp: datetime | None
    """When it began; None if the file that it was imported from does not state it."""

    verdict: VerdictState
    """Its own verdict."""

    block: str = ""
    """Its block, as `EXPERIMENT/BLOCK`; empty if it is not compared within a block."""

    @property
    def key(self) -> RaceKey:
        """The key of the compared race."""
        return self.race_id, self.timestamp


class RaceGroup(Struct, frozen=True):
    """One side of a comparison."""

    races: tuple[RaceInGroup, ...]
    """Its races in the order of their blocks or, without blocks, of their time."""

    track: str
    """Name of the track of the first race."""

    challenge: str | None
    """Name of the challenge of the first race, or None for a bare schedule."""

    engine: str
    """Distribution and version of the engine of the first race; empty if unknown."""

    car: str
    """Names of the cars of the first race, joined by `+`."""

    tags: Mapping[str, str]
    """The user tags that all its races have."""


class Comparison(Struct, frozen=True):
    """The comparison of a contender with a baseline."""

    baseline: RaceGroup
    """The races that are compared with."""

    contender: RaceGroup
    """The races that may be better or worse."""

    design: ComparisonDesign
    """How the races belong together."""

    run_order: RunOrder
    """The order in which the groups ran; `mixed` if they were interleaved, or if it is unknown."""

    answer: ComparisonAnswer
    """The word for all primary metrics."""

    metrics: tuple[MetricComparison, ...]
    """The metrics that all races have, in the order of Rally's table."""

    findings: tuple[Finding, ...]
    """What limits the answer; those that make metrics void come first."""

    differences: tuple[FactDifference, ...]
    """What differs between the configurations of the groups."""

    merged_percentiles: tuple[MergedPercentileChange, ...] = ()
    """The percentiles of all operations of each side; empty for one race each, whose own percentiles these
    are, and if nothing shows them.
    """

    notes: tuple[str, ...] = ()
    """Which races and what of the configurations could not be compared, one sentence each."""

    lacking_quality: tuple[str, ...] = ()
    """The labels of the quality metrics that not all races have: it is not known whether they changed."""

    lacking_primary: tuple[str, ...] = ()
    """The labels of the metrics that would decide, but that not all races have: they may be what changed."""

    partial_metrics: tuple[MetricId, ...] = ()
    """The metrics that some races have but not all."""

    @property
    def lacking(self) -> tuple[str, ...]:
        """The labels of what must not be worse, but that not all races have."""
        return (*self.lacking_primary, *self.lacking_quality)

    @property
    def primary(self) -> tuple[MetricComparison, ...]:
        """The primary metrics."""
        return tuple(metric for metric in self.metrics if metric.role == "primary")

    @property
    def worse_quality(self) -> tuple[MetricComparison, ...]:
        """The quality metrics that are worse or probably worse."""
        return tuple(
            metric for metric in self.metrics if metric.role == "quality" and metric.word in WORSE_WORDS
        )

    @property
    def deciding(self) -> tuple[MetricComparison, ...]:
        """The metrics that must not be worse: the primary ones, and the quality metrics with a direction."""
        return tuple(metric for metric in self.metrics if metric.decides)

    def is_void(self, metric: MetricComparison) -> bool:
        """Returns whether a metric is void and counts: one that is always 0 only does if all are."""
        return metric.word == "void" and (self.answer == "void" or not metric.is_zero)

    def metric(self, wanted: MetricId) -> MetricComparison | None:
        """Returns the comparison of one metric, or None if not all races have it."""
        return next((metric for metric in self.metrics if metric.metric == wanted), None)

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready document; docs/reference/comparison.md describes it."""
        document: dict[str, Any] = encode(self)
        document["partial_metrics"] = [metric.label for metric in self.partial_metrics]
        compared: tuple[tuple[str, Sequence[MetricComparison | MergedPercentileChange]], ...] = (
            ("metrics", self.metrics),
            ("merged_percentiles", self.merged_percentiles),
        )
        for key, changes in compared:
            for entry, change in zip(document[key], changes, strict=True):
                entry["relative_change"] = change.relative_change
                entry["metric"]["label"] = change.metric.label
        document["findings"] = [
            encode(finding) | {"voids": finding.makes_doubtful, "sentence": str(finding)}
            for finding in self.findings
        ]
        return {"format": COMPARISON_FORMAT, **document}


class ComparedRace(Struct, frozen=True):
    """A stored race, as a comparison reads it."""

    record: RaceRecord
    """Its record."""

    snapshot: RaceSnapshot | None = None
    """The configuration of engine and machine, or None if the race has none that can be read."""

    state: RaceState = "complete"
    """Its state, such as `running`."""

    plan: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The plan of each task as JSON, by name of the task; empty if the race has none that can be read."""

    place: int | None = None
    """Its place in its block, if it is known from the plan of an experiment; otherwise its time shows it."""

    @property
    def began(self) -> datetime | None:
        """When it began, or None if that is unknown."""
        imported = self.record.imported
        is_known = imported is None or UNSTATED_TIME not in imported.unstated
        return self.record.timestamp if is_known else None

    @property
    def key(self) -> RaceKey:
        """What only copies of a race share: two machines may give their races the same ids."""
        return self.record.race_id, self.began


class RaceNoise(Struct, frozen=True):
    """How much a metric varies between races of one configuration."""

    spread: float
    """Standard deviation of the logarithm of its values."""

    races: int
    """Number of races that it was measured with."""


class ComparisonOptions(Struct, frozen=True):
    """What a comparison is asked for, beyond the races."""

    primary: tuple[str, ...] = ()
    """Primary metrics, each as `KEY:TASK`, or `KEY` for all tasks; empty for those that the track names or,
    if it names none, the default.
    """

    smallest_effect: float | None = None
    """The smallest relative change that matters, such as 0.03; None for the default of each metric."""

    confidence: float = 0.95
    """Confidence of the answer, from 0 to 1."""

    level: Callable[[float], float] = float
    """Returns the significance level of this comparison for that of all comparisons that an experiment makes,
    of several contenders or at several looks.
    """

    noise: Mapping[str, RaceNoise] = field(default_factory=dict)
    """The measured noise of metrics by label, for comparisons of one race each."""

    left_out: tuple[str, ...] = ()
    """Which races were asked for but cannot be compared, and why, one sentence each."""

    spare_blocks: int = 0
    """Number of blocks that a metric may leave out because a race of theirs makes it doubtful. With more of
    them, these races make it void.
    """

    quality: Mapping[tuple[str, str], Direction] = field(default_factory=dict)
    """The directions of custom metrics by task, or empty text for all tasks, and key; they replace those that
    tracks declare and those that are known.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    """Short ids of races for messages, by id; a race without one is named by its id."""

    def name(self, race_id: str) -> str:
        """Returns how messages name a race."""
        return self.names.get(race_id, race_id)
