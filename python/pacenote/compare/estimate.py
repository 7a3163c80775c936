"""The change of each metric with its interval, and its verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from pacenote.compare.pairing import PairedRaces
from pacenote.model.comparison import (
    ChangeInterval,
    ComparisonOptions,
    EstimatedChange,
    MetricComparison,
    MetricId,
    MetricRole,
    MetricWord,
    PercentileShift,
)
from pacenote.model.unserved import ENDLESS_REASON
from pacenote.model.warmup_backlog import backlog_reason
from pacenote.stats.absolute_effect import (
    MAX_DISPERSION,
    AbsoluteEffect,
    OperationCount,
    counting_error,
    dispersion,
    paired_difference,
    total,
    unpaired_difference,
)
from pacenote.stats.effect import RESOLUTION, Effect, paired_effect, unpaired_effect
from pacenote.stats.multiplicity import benjamini_hochberg_confidences
from pacenote.stats.noise_floor import MIN_RACES
from pacenote.stats.percentile_change import BoundedPercentile, percentile_change
from pacenote.stats.rank_effect import rank_effect
from pacenote.stats.student import MIN_BLOCKS, StudentEstimate, t_quantile
from pacenote.stats.weighted_holm import FamilyConfidence, weighted_holm_confidences
from pacenote.stats.words import word_of
from pacenote.units import format_change, format_count

_MAX_LOG = 700.0
"""The largest logarithm whose exponential is a number."""

ONE_EACH = "one race each"
"""Why two races have no verdict."""

PROBABLE: Mapping[MetricWord, MetricWord] = {
    "better": "probably better",
    "worse": "probably worse",
    "changed": "probably changed",
}
"""What is said at most if a task is steady on one side only, or if the change contains a drift."""

_BY_ORDER: Mapping[MetricWord, MetricWord] = {**PROBABLE, "same": "unclear"}
"""What is said at most if the order of the races does not exclude a drift of the machine."""

_ZERO = "0 in all races, which does not prove that both sides are the same"


_TOO_NARROW = (
    "its failures come in bursts or differ between races, so that the change may be larger than its interval"
)

_Bounds = tuple[float | None, float | None]


class Failures(Struct, frozen=True):
    """The operations of the races of both sides, and how many failed."""

    baseline: Sequence[OperationCount]
    """Those of the baseline."""

    contender: Sequence[OperationCount]
    """Those of the contender."""

    @property
    def counting_error(self) -> float:
        """The standard error that the difference of the error rates, from 0 to 1, has at least."""
        return counting_error(total(self.baseline), total(self.contender))

    @property
    def vary_too_much(self) -> bool:
        """Whether the races of a side differ by more than the failures of independent operations would."""
        return dispersion(self.baseline, self.contender) > MAX_DISPERSION


class Measured(Struct, frozen=True):
    """A metric before its verdict."""

    metric: MetricComparison
    """The metric with its values."""

    races: PairedRaces
    """The races that the values are from."""

    is_void: bool
    """Whether its values must not be compared."""

    is_at_most_probable: bool = False
    """Whether nothing is better or worse than *probably*, whatever its interval is."""

    is_endless: bool = False
    """Whether it is a percentile of latency that is without end in a race (`Datum.is_endless`)."""

    samples_needed: int = 0
    """Number of samples that its percentile needs to count, or 0 if every race has enough."""

    is_count_known: bool = True
    """Whether the numbers of samples of its percentile are known."""

    failures: Failures | None = None
    """Of an error rate, the operations of the races, if they are known."""

    bounds: tuple[_Bounds, _Bounds] = ((None, None), (None, None))
    """Of a percentile, its interval in the first race of each side."""

    @property
    def has_backlog(self) -> bool:
        """Whether it is a latency that includes the backlog of the warm-up in a race."""
        return self.metric.has_backlog

    @property
    def is_sound(self) -> bool:
        """Whether its values say something about a change, if there are enough of them."""
        return not (self.is_void or self.has_backlog or self.is_endless)


def decided(
    metrics: Sequence[Measured], races: PairedRaces, options: ComparisonOptions
) -> tuple[MetricComparison, ...]:
    """Returns the metrics with their changes and verdicts.

    Primary metrics decide together, with Holm's weighted correction, so do quality metrics, and secondary
    ones with that of Benjamini and Hochberg. That a metric is the same is shown by its interval of
    `options.confidence`: the probability of saying so of one that changed by what matters is not larger
    because others are said to be the same, too. Metrics without an estimate do not take part.
    """
    alone = 1 - options.level(1 - options.confidence)
    effects = [_effect(each, alone) for each in metrics]
    estimated = [(each, effect) for each, effect in zip(metrics, effects, strict=True) if effect is not None]
    secondary = [effect for each, effect in estimated if each.metric.role == "secondary"]
    families = {role: iter(_family(estimated, role, options)) for role in _FAMILIES}
    others = iter(benjamini_hochberg_confidences([effect.p for effect in secondary], alone))
    comparisons = []
    for measurement, effect in zip(metrics, effects, strict=True):
        if effect is None:
            undecided = _decided(measurement, None, None)
            comparisons.append(replace(undecided, possible_rise=_possible_rise(measurement, alone)))
        elif measurement.metric.role in families:
            comparisons.append(_decided(measurement, effect, next(families[measurement.metric.role])))
        else:
            own = next(others)
            comparisons.append(_decided(measurement, effect, FamilyConfidence(own, own)))
    if races.design != "one race each":
        return tuple(comparisons)
    return tuple(
        replace(each, usual_change=_usual_change(each, options), shift=_shift(own))
        for own, each in zip(metrics, comparisons, strict=True)
    )


def _possible_rise(measurement: Measured, confidence: float) -> float | None:
    """Returns by how many points an error rate that is 0 in all races may have risen: the upper bound of that
    of the contender, whose operations are counted (Clopper and Pearson).
    """
    if measurement.failures is None or not measurement.metric.is_zero or measurement.is_void:
        return None
    if measurement.races.design == "one race each":
        return None
    operations = total(measurement.failures.contender).operations
    return -100 * math.expm1(math.log((1 - confidence) / 2) / operations)


_FAMILIES: tuple[MetricRole, ...] = ("primary", "quality")
"""Roles of metrics of which none may be said to have changed by chance."""


def _family(
    estimated: Iterable[tuple[Measured, _AnyEffect]], role: MetricRole, options: ComparisonOptions
) -> tuple[FamilyConfidence, ...]:
    """Returns the confidences that the metrics with a role need, because they decide together."""
    own = [(each, effect) for each, effect in estimated if each.metric.role == role]
    return weighted_holm_confidences(
        [_in_units_of_what_matters(effect, each.metric) for each, effect in own],
        options.confidence,
        options.level,
    )


def _shift(measurement: Measured) -> PercentileShift | None:
    """Returns the change of a percentile from one race to another, unless they must not be compared."""
    if not measurement.is_sound or measurement.metric.metric.kind != "percentile":
        return None
    values = (measurement.metric.baseline[0], measurement.metric.contender[0])
    old, new = (
        BoundedPercentile(value, *bounds) for value, bounds in zip(values, measurement.bounds, strict=True)
    )
    change = percentile_change(old, new)
    if change is None or (change.low is None and change.high is None):
        return None
    low, high = (None if bound is None else bound - 1 for bound in (change.low, change.high))
    return PercentileShift(change.ratio - 1, low, high)


def _usual_change(metric: MetricComparison, options: ComparisonOptions) -> float | None:
    """Returns by how much two races of one configuration differ at most, predicted from their noise."""
    noise = options.noise.get(metric.metric.label)
    if noise is None or noise.races < MIN_RACES or metric.is_absolute:
        return None
    half = t_quantile(noise.races - 1, (1 + options.confidence) / 2) * noise.spread * math.sqrt(2)
    return _finite(math.expm1(min(half, _MAX_LOG)))


_AnyEffect = Effect | AbsoluteEffect


def _effect(measurement: Measured, confidence: float) -> _AnyEffect | None:
    races = measurement.races
    old, new = measurement.metric.baseline, measurement.metric.contender
    if not measurement.is_sound or measurement.samples_needed or races.design == "one race each":
        return None
    if measurement.metric.is_absolute:
        difference = None if measurement.metric.is_zero else _difference(measurement)
        return difference and difference.at(confidence)
    if races.design == "paired":
        return paired_effect(old, new, confidence, races.lags)
    return unpaired_effect(old, new, confidence)


def _difference(measurement: Measured) -> AbsoluteEffect | None:
    """Returns the difference of error rates, in points of a percentage, or of custom metrics, in their
    unit.
    """
    old, new = measurement.metric.baseline, measurement.metric.contender
    error = measurement.failures.counting_error * 100 if measurement.failures else 0.0
    if measurement.metric.metric.kind == "custom":
        # Equal values do not prove that nothing varies.
        error = RESOLUTION / 2 * max(map(abs, (*old, *new)))
    if measurement.races.design == "paired":
        return paired_difference(old, new, error, measurement.races.lags)
    return unpaired_difference(old, new, error)


def _in_units_of_what_matters(effect: _AnyEffect, metric: MetricComparison) -> StudentEstimate:
    scale = effect.margin(metric.smallest_effect) or 1.0
    own = effect.estimate
    return StudentEstimate(own.value / scale, own.standard_error / scale, own.degrees)


def _decided(
    measurement: Measured, alone: _AnyEffect | None, confidence: FamilyConfidence | None
) -> MetricComparison:
    """Returns a metric with its verdict, from its change as if it decided alone, and the confidence that it
    needs because others decide, too.
    """
    metric, races = measurement.metric, measurement.races
    if alone is not None and confidence is not None:
        effect, higher = alone.at(confidence.interval), metric.metric.higher_is_better
        word = word_of(effect, metric.smallest_effect, higher_is_better=higher)
        if word_of(alone, metric.smallest_effect, higher_is_better=higher) == "same":
            word, effect = "same", alone
        is_too_narrow = measurement.failures is not None and measurement.failures.vary_too_much
        if is_too_narrow and word == "same":
            word = "unclear"
        reason = _TOO_NARROW if is_too_narrow else _by_ranks(metric, effect, word)
        if measurement.is_at_most_probable:
            word = PROBABLE.get(word, word)
        if problem := races.order_problem:
            # What the machine did meanwhile may be the change, or hide one.
            word = _BY_ORDER.get(word, word)
        detectable = _finite(alone.at(confidence.power).detectable)
        own = metric.metric
        interval = None if is_too_narrow or problem else _interval(alone, own)
        change = replace(estimated_change(effect, own), detectable=detectable, alone=interval)
        return replace(metric, word=word, change=change, reason=reason, order_problem=problem)
    if measurement.is_void:
        return replace(metric, word="void", reason="the races must not be compared")
    if measurement.has_backlog:
        return replace(metric, reason=backlog_reason(metric.metric.kind))
    if measurement.is_endless:
        return replace(metric, reason=ENDLESS_REASON)
    if races.design == "one race each":
        return replace(metric, reason=ONE_EACH)
    if measurement.samples_needed:
        return replace(metric, reason=_too_few_samples(measurement))
    if metric.is_zero:
        return replace(metric, reason=_ZERO)
    return replace(metric, reason=_without_interval(metric, races))


def _too_few_samples(measurement: Measured) -> str:
    if measurement.metric.metric.q >= 100:
        return "a maximum has no interval"
    if not measurement.is_count_known:
        return f"not known whether each race has {measurement.samples_needed:,} samples, which it needs"
    return f"too few samples: a race needs {measurement.samples_needed:,}"


def _without_interval(metric: MetricComparison, races: PairedRaces) -> str:
    """Returns why a metric that is not 0 in all races has no interval."""
    old, new = len(races.baseline), len(races.contender)
    if races.design == "paired" and old < MIN_BLOCKS:
        return f"{format_count(old, 'block')}: an interval needs {MIN_BLOCKS}"
    if min(old, new) < 2:
        return f"{old} against {new} races: an interval needs 2 of each"
    if metric.metric.kind == "error rate":
        return "nothing varies within a side, and the number of operations is not known"
    return "a value is 0, so that there is no ratio"


def _by_ranks(metric: MetricComparison, effect: _AnyEffect, word: MetricWord) -> str:
    """Returns what the ranks of the blocks say, if a primary metric has another word by them: then a few
    races, or a skewed distribution, decide.
    """
    if metric.role != "primary" or not effect.paired or not isinstance(effect, Effect):
        return ""
    ranks = rank_effect(metric.baseline, metric.contender, effect.confidence)
    other = word_of(ranks, metric.smallest_effect, higher_is_better=metric.metric.higher_is_better)
    if ranks is None or other == word:
        return ""
    low, high = (format_change(bound - 1) for bound in (ranks.low, ranks.high))
    return f"by ranks {other}: {low.removesuffix(' %')} … {high}"


def _interval(effect: _AnyEffect, metric: MetricId) -> ChangeInterval:
    change = estimated_change(effect, metric)
    return ChangeInterval(change.low, change.high, change.confidence)


def estimated_change(effect: Effect | AbsoluteEffect, metric: MetricId) -> EstimatedChange:
    """Returns a change of a metric with its interval, as a comparison shows it."""
    if isinstance(effect, AbsoluteEffect):
        return EstimatedChange(
            effect.difference,
            effect.low,
            effect.high,
            effect.confidence,
            effect.p,
            effect.detectable,
            is_absolute=True,
            unit=metric.difference_unit,
        )
    return EstimatedChange(
        value=effect.ratio - 1,
        low=effect.low - 1,
        high=_finite(effect.high - 1),
        confidence=effect.confidence,
        p=effect.p,
        detectable=_finite(effect.detectable),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
