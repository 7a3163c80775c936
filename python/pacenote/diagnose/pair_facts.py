"""The figures of races that are compared: what makes their comparison invalid, and how much they differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median, stdev

from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.model.comparison import Comparison, MetricComparison
from pacenote.model.driving_options import driving_options
from pacenote.model.imported import ImportedTask, imported_tasks
from pacenote.model.race_frequencies import changed_frequency
from pacenote.model.race_record import RaceRecord
from pacenote.model.target_rate import achieved_rate
from pacenote.model.task_kinds import indexes, reported_tasks, searches
from pacenote.model.warmup_backlog import share_of_schedule
from pacenote.units import format_change, format_count

TARGET_TOLERANCE = 0.01
"""By how much an achieved rate may differ from its target so that the target is what limits it."""

_CONSTANT = 0.02
"""By how much the largest and the smallest throughput of a task differ at most that is bound by its target:
imported races do not state their targets.
"""

MIN_SPREAD_RACES = 3
"""Number of races of one configuration from which on their spread is known."""

_GB = 1e9


def add_pair_figures(
    builder: EvidenceBuilder,
    baseline: Sequence[RaceRecord],
    contender: Sequence[RaceRecord],
    comparison: Comparison | None,
) -> None:
    """Adds the figures of a comparison; without a contender, those of several races of one configuration.
    `comparison` is None if the races cannot be compared.
    """
    window = Window()
    builder.set(window, "pair.races", len(baseline) + len(contender))
    for name, value in _of_sides(baseline, contender) if contender else ():
        builder.set(window, name, value)
    bound = _bound_tasks(baseline, contender) if contender else []
    for task in _error_rates(baseline[0]) if contender else ():
        builder.set(Window(task), "pair.bound_by_target", task in bound)
    for task, change in _error_rate_changes(baseline, contender).items() if contender else ():
        builder.set(Window(task), "pair.error_rate_change", change)
    if comparison is not None:
        for name, value in _of_comparison(comparison):
            builder.set(window, name, value)


def one_race(builder: EvidenceBuilder) -> None:
    """Adds why a diagnosis of one race has no figures of a comparison."""
    builder.miss("comparison", "only one race is diagnosed")


def _of_sides(
    baseline: Sequence[RaceRecord], contender: Sequence[RaceRecord]
) -> Iterator[tuple[str, float | str | None]]:
    everything = (*baseline, *contender)
    errors = [_error_rates(record) for record in everything]
    yield "pair.worst_error_rate", max((max(rates.values(), default=0.0) for rates in errors), default=None)
    changes = _error_rate_changes(baseline, contender)
    yield "pair.error_rate_change", max(changes.values(), default=None)
    yield "pair.documents_change", _relative(baseline, contender, _documents)
    yield "pair.store_change", _relative(baseline, contender, _store)
    segments = [_medians(side, _segments) for side in (baseline, contender)]
    if segments[0] is not None and segments[1] is not None:
        yield "pair.segments_change", abs(segments[1] - segments[0])
    if (slower := changed_frequency(baseline, contender)) is not None:
        yield "pair.frequency_change", slower.share
        yield "pair.frequency_task", slower.task
    yield "pair.searches", all(_searches(record) for record in everything)
    if not any(record.imported for record in everything):
        yield "pair.settings_changed", len(changed_options(baseline[0], contender[0]))


def _of_comparison(comparison: Comparison) -> Iterator[tuple[str, float | str | None]]:
    primary = next((metric for metric in comparison.primary if metric.metric.kind != "error rate"), None)
    smaller = min(len(comparison.baseline.races), len(comparison.contender.races))
    yield "pair.pairs", smaller
    yield "pair.shown", _shown(smaller, primary)
    if primary is None:
        return
    yield "pair.metric", primary.metric.label
    yield "pair.change", primary.relative_change
    if primary.change is not None and not primary.change.is_absolute:
        yield "pair.change_low", primary.change.low
        yield "pair.change_high", primary.change.high
    spreads = [_spread(side) for side in (primary.baseline, primary.contender)]
    yield "pair.spread", max((spread for spread in spreads if spread is not None), default=None)


def _shown(pairs: int, primary: MetricComparison | None) -> str:
    """Returns what a comparison shows, in words."""
    number = format_count(pairs, "pair")
    if primary is None:
        return f"{number} of races, which have no metric in common"
    change = primary.relative_change
    name = primary.metric.label
    by = (
        f"{name} changed by {format_change(change)}"
        if change is not None
        else f"how {name} changed is not known"
    )
    estimate = primary.change
    if estimate is None or estimate.is_absolute or estimate.low is None or estimate.high is None:
        return f"{number} of races: {by}; how much of that is chance is not known"
    interval = f"{format_change(estimate.low)} to {format_change(estimate.high)}"
    confidence = f"{math.floor(estimate.confidence * 1000) / 10:g} %"
    return f"{number} of races: {by}, {confidence} interval {interval}"


def _spread(values: Sequence[float]) -> float | None:
    """Returns the standard deviation of the logarithm, which is relative; None for too few races."""
    if len(values) < MIN_SPREAD_RACES or min(values) <= 0:
        return None
    return math.expm1(stdev(map(math.log, values)))


def _imported(record: RaceRecord) -> Iterable[ImportedTask]:
    return imported_tasks(record.imported.values if record.imported else ())


def _error_rates(record: RaceRecord) -> dict[str, float]:
    """Returns the error rates that are known, by task."""
    tasks = _imported(record) if record.imported else reported_tasks(record)
    return {task.task: task.error_rate for task in tasks if task.error_rate is not None}


def _error_rate_changes(baseline: Sequence[RaceRecord], contender: Sequence[RaceRecord]) -> dict[str, float]:
    """Returns by how much the error rates of tasks differ that all races have."""
    sides = [[_error_rates(record) for record in side] for side in (baseline, contender)]
    common = [name for name in sides[0][0] if all(name in rates for side in sides for rates in side)]
    return {task: abs(_middle(sides[0], task) - _middle(sides[1], task)) for task in common}


def _middle(side: Sequence[Mapping[str, float]], task: str) -> float:
    return median(rates[task] for rates in side)


def _documents(record: RaceRecord) -> float | None:
    """Returns the indexed documents, or for an imported race the share of operations that indexed them."""
    if record.imported is None:
        return float(sum(task.work.done for task in record.tasks if indexes(task)))
    rates = [task.error_rate for task in _imported(record) if task.indexes]
    known = [1 - rate for rate in rates if rate is not None]
    return math.prod(known) if known else None


def _store(record: RaceRecord) -> float | None:
    if record.imported is None:
        return record.system.store_size
    size = _total(record, "Store size")
    return None if size is None else size * _GB


def _segments(record: RaceRecord) -> float | None:
    return record.system.segment_count if record.imported is None else _total(record, "Segment count")


def _total(record: RaceRecord, metric: str) -> float | None:
    values = record.imported.values if record.imported else ()
    return next((value.value for value in values if value.metric == metric and not value.task), None)


def _medians(side: Sequence[RaceRecord], of: Callable[[RaceRecord], float | None]) -> float | None:
    values = [value for record in side if (value := of(record)) is not None]
    return median(values) if values else None


def _relative(
    baseline: Sequence[RaceRecord],
    contender: Sequence[RaceRecord],
    of: Callable[[RaceRecord], float | None],
) -> float | None:
    """Returns the difference of the medians of both sides, relative to the larger one."""
    old, new = _medians(baseline, of), _medians(contender, of)
    if old is None or new is None or not max(old, new):
        return None
    return 1 - min(old, new) / max(old, new)


def _searches(record: RaceRecord) -> bool:
    if record.imported is not None:
        return any(not task.indexes and task.percentiles for task in _imported(record))
    return any(searches(task) for task in record.tasks)


def _bound_tasks(baseline: Sequence[RaceRecord], contender: Sequence[RaceRecord]) -> list[str]:
    """Returns the tasks whose target rate limits them in all races."""
    rates_by_race = [_bound_rates(record) for record in (*baseline, *contender)]
    tasks = []
    for task in rates_by_race[0]:
        rates = [rates[task] for rates in rates_by_race if task in rates]
        if len(rates) == len(rates_by_race) and max(rates) - min(rates) <= TARGET_TOLERANCE * max(rates):
            tasks.append(task)
    return tasks


def _bound_rates(record: RaceRecord) -> dict[str, float]:
    """Returns the rates of the tasks that achieve their target. Of imported races, whose targets are unknown,
    these are the tasks with a constant throughput.
    """
    if record.imported is None:
        return {
            task.task: rate
            for task in record.tasks
            if (target := record.targets.get(task.task)) is not None
            and (rate := achieved_rate(task, target) * share_of_schedule(task))
            >= target.value * (1 - TARGET_TOLERANCE)
        }
    return {
        task.task: task.throughput["median"]
        for task in _imported(record)
        if {"min", "median", "max"} <= set(task.throughput)
        and task.throughput["max"] - task.throughput["min"] <= _CONSTANT * task.throughput["median"]
    }


def changed_options(first: RaceRecord, second: RaceRecord) -> set[str]:
    """Returns the options, parameters and settings that differ between two races."""
    options = [dict(_options(record)) for record in (first, second)]
    return {key for key in options[0] | options[1] if options[0].get(key) != options[1].get(key)}


def _options(record: RaceRecord) -> Iterator[tuple[str, object]]:
    options = record.options
    yield "version", (record.cluster.distribution, record.cluster.version, record.cluster.build_hash)
    yield "car", record.car
    for name, table in (
        ("car-params", record.car_params),
        ("track-params", record.track.params),
        ("set", options.settings),
        ("env", options.engine_variables),
        ("plugin-params", options.plugin_params),
    ):
        for key, value in table.items():
            yield f"{name}.{key}", value
    for option in options.jvm_options:
        name, _, value = option.partition("=")
        yield f"jvm.{name}", value or True
    for name in ("runtime_jdk", "data", "caches", "plugins", "nodes", "include_tasks", "exclude_tasks"):
        yield name, getattr(options, name)
    yield from driving_options(record).items()
