"""Thresholds of one race, such as `p99:term<100ms` or `recall:knn>0.9`: whether the interval of a figure is
within them.

They fail closed: a figure that is missing, doubtful, or known too imprecisely is not within its threshold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from pacenote.compare.imported_metrics import custom_metric
from pacenote.compare.metrics import percentile_metric
from pacenote.compare.race_findings import is_disturbed
from pacenote.errors import UsageError
from pacenote.figures.catalogue import METRICS
from pacenote.model.comparison import MetricId
from pacenote.model.custom_metrics import custom_key, declared_metrics
from pacenote.model.messages import list_with_rest
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import (
    LEAST_EQUAL_VALUES,
    LEAST_VALUES,
    CensoredPercentile,
    DurationSummary,
    Percentile,
    TaskResult,
    ValueSummary,
    find_percentile,
)
from pacenote.model.sample_counts import PERCENTILES
from pacenote.model.task_kinds import reported_tasks
from pacenote.model.threshold import Threshold, ThresholdResult
from pacenote.model.unserved import UNSERVED, has_unserved, is_endless
from pacenote.model.warmup_backlog import BACKLOG_REASON, includes_backlog
from pacenote.stats.binomial import most_failures, upper_bound
from pacenote.units import format_number

_FORM = re.compile(
    # A task may have a < in its name.
    r"\s*+(?:p(?P<q>[0-9.]++)|(?P<errors>errors|error-rate))(?::(?P<task>(?s:.*))|\s*+)"
    r"<\s*+(?P<limit>[0-9.]++)\s*+(?P<unit>us|µs|ms|s|%)\s*+"
)

_CUSTOM = re.compile(
    r"\s*+(?P<key>[^\s:<>]++)(?::(?P<task>[^<>]*+)|\s*+)(?P<relation>[<>])\s*+(?P<limit>-?[0-9.]++)\s*+"
)

_UNITS_MS = {"us": 0.001, "µs": 0.001, "ms": 1.0, "s": 1000.0}

HINT = "write it as p99:term<100ms, errors:term<0.1% or recall:knn>0.9, without :term for all tasks"
"""How a threshold is written."""

_NAMED = 10

_FAILED = "failed or were not answered"

FEW_STRETCHES = (
    "it is not known how independent its operations are: they ended in fewer than 8 parts of its time, or an "
    "older version of Pacenote raced"
)
"""Why figures of a task have no interval."""


def parse_threshold(text: str) -> Threshold:
    """Returns a threshold. Raises UsageError if it has another form."""
    match = _FORM.fullmatch(text)
    if match is None and (custom := _custom_threshold(text)) is not None:
        return custom
    if match is None or (match["unit"] == "%") != bool(match["errors"]):
        raise UsageError(f"--threshold cannot be '{text}'", hint=HINT)
    try:
        limit = float(match["limit"])
        q = float(match["q"]) if match["q"] else None
    except ValueError:
        raise UsageError(f"--threshold cannot be '{text}'", hint=HINT) from None
    task = (match["task"] or "").strip()
    if q is None:
        return Threshold(None, limit / 100, task, text.strip())
    known = next((known for known in PERCENTILES if math.isclose(known, q)), None)
    if known is None:
        names = ", ".join(f"p{known:g}" for known in PERCENTILES)
        raise UsageError(f"--threshold={text}: p{q:g} has no limit", hint=f"use one of {names}")
    return Threshold(known, limit * _UNITS_MS[match["unit"]], task, text.strip())


def _custom_threshold(text: str) -> Threshold | None:
    """Returns a threshold of a custom metric, or None if it is none, or has the key of a time or an error."""
    match = _CUSTOM.fullmatch(text)
    if match is None or custom_key(match["key"]) != match["key"] or match["key"] == "errors":
        return None
    try:
        limit = float(match["limit"])
    except ValueError:
        return None
    task = (match["task"] or "").strip()
    return Threshold(None, limit, task, text.strip(), match["key"], match["relation"] == ">")


def judge_thresholds(record: RaceRecord, thresholds: Sequence[Threshold]) -> list[ThresholdResult]:
    """Returns what each threshold says of each of its tasks."""
    return [result for threshold in thresholds for result in _results(record, threshold)]


def _results(record: RaceRecord, threshold: Threshold) -> Iterator[ThresholdResult]:
    tasks = {task.task: task for task in reported_tasks(record)}
    named = [threshold.task] if threshold.task else list(tasks)
    if threshold.key and not threshold.task and tasks:
        # Not every task returns it, but one must.
        named = [name for name in named if threshold.key in _custom_values(tasks[name])]
        if not named:
            yield ThresholdResult(threshold, "", f"no task has {threshold.key}")
            return
    if not named:
        yield ThresholdResult(threshold, "", "the race has no task with figures")
    for name in named:
        if name not in tasks:
            known = list_with_rest([*tasks], _NAMED) or "none"
            yield ThresholdResult(threshold, name, f"the race has no task {name}; its tasks: {known}")
        elif threshold.key:
            yield _custom(record, threshold, tasks[name])
        elif threshold.q is not None:
            yield _percentile(record, threshold, threshold.q, tasks[name])
        else:
            yield _errors(record, threshold, tasks[name])


def _percentile(record: RaceRecord, threshold: Threshold, q: float, task: TaskResult) -> ThresholdResult:
    times = task.latency if task.paced else task.service_time
    percentile = times.at(q) if times else None
    kind = "latency" if task.paced else "service time"
    metric = percentile_metric(task.task, "latency" if task.paced else "service time", q)
    if percentile is None:
        return ThresholdResult(threshold, task.task, f"{kind} has no p{q:g}")
    problem = _doubt(record, metric)
    if task.paced and is_endless(task, q):
        problem = problem or f"more than {100 - q:.3g} % of its operations {UNSERVED}"
        return ThresholdResult(threshold, task.task, problem, f"p{q:g} {kind} endless")
    if not task.paced and _failed_share(task) > 1 - q / 100:
        problem = problem or f"more than {100 - q:.3g} % of its operations {_FAILED}"
    if task.paced and has_unserved(task):
        problem = problem or _unknown_unserved(task, q)
        percentile = _with_unserved(task, percentile)
    if not task.paced and times is not None and _failed_share(task) > 0:
        bounded = _with_failures(task, times, percentile)
        if percentile.supported and percentile.high_ms is not None and bounded.high_ms is None:
            problem = problem or f"too many operations {_FAILED} for an upper bound of p{q:g}"
        percentile = bounded
    high = "∞" if percentile.high_ms is None else f"{format_number(percentile.high_ms)}"
    low = "0" if percentile.low_ms is None else f"{format_number(percentile.low_ms)}"
    value = f"p{q:g} {kind} {format_number(percentile.ms)} ms (95 % interval {low} … {high} ms)"
    if not problem and not percentile.supported:
        problem = f"too few samples for p{q:g}"
    if not problem and percentile.high_ms is None:
        problem = _unbounded(percentile)
    if not problem and task.paced and includes_backlog(task, q):
        problem = BACKLOG_REASON
    if not problem and not (percentile.high_ms or 0.0) < threshold.limit:
        problem = f"it is not shown to be below {format_number(threshold.limit)} ms"
    return ThresholdResult(threshold, task.task, problem, value)


def _with_failures(task: TaskResult, times: DurationSummary, percentile: Percentile) -> Percentile:
    """Returns a percentile of service time with the upper bound that it has if operations that failed or were
    not answered rank above all others, as those without a latency do in a task with a schedule.
    """
    counts = task.accounting
    bound_ms = _slowest_ms(task, times, counts.normal + counts.unanswered, percentile.q)
    high_ms = None if percentile.high_ms is None or bound_ms is None else max(percentile.high_ms, bound_ms)
    return replace(percentile, high_ms=high_ms)


def _failed_share(task: TaskResult) -> float:
    """Returns which share of the measured operations of a task failed or was not answered."""
    counts = task.accounting
    failed = (task.error_rate or 0.0) * counts.normal
    return (failed + counts.unanswered) / max(counts.normal + counts.unanswered, 1)


def _unknown_unserved(task: TaskResult, q: float) -> str:
    """Returns why it is not known how far operations without a latency raise a percentile, or its upper
    bound; empty if it is.
    """
    if task.unsent_is_least:
        return "it is not known how many of its operations were not sent"
    with_unserved = find_percentile(task.latency_with_failures, q)
    if with_unserved is None:
        return f"operations {UNSERVED}, and an older version of Pacenote did not record latency with them"
    if with_unserved.supported and _bound_ms(task, with_unserved) is None:
        return f"too many operations {UNSERVED} for an upper bound of p{q:g}"
    return ""


def _with_unserved(task: TaskResult, percentile: Percentile) -> Percentile:
    """Returns a percentile of latency if operations without one rank above all others. Those slow operations
    that succeeded may come in bursts, too: as for `percentile`, that of the successes, its upper bound
    is at least as many times as large as the value.
    """
    of_all = find_percentile(task.latency_with_failures, percentile.q)
    if of_all is None or of_all.ms is None:
        return percentile
    bound_ms, high_ms = _bound_ms(task, of_all), None
    if percentile.high_ms is not None and bound_ms is not None:
        widened_ms = percentile.high_ms * of_all.ms / percentile.ms if percentile.ms else percentile.high_ms
        high_ms = max(bound_ms, widened_ms)
    return replace(
        percentile, ms=of_all.ms, high_ms=high_ms, supported=percentile.supported and of_all.supported
    )


def _bound_ms(task: TaskResult, of_all: CensoredPercentile) -> float | None:
    """Returns the upper bound of a percentile of all operations in ms if those without latency come in
    bursts; None if there is none. That of the driver is as if they were independent.

    Of the successes, only percentiles are known: the bound is the smallest one above which there are at most
    as many operations as there may be.
    """
    effect, latency, counts = _unserved_effect(task), task.latency, task.accounting
    if effect <= 1 or latency is None or of_all.high_ms is None:
        return of_all.high_ms
    due = counts.normal + counts.unanswered + counts.unsent
    slowest_ms = _slowest_ms(task, latency, due, of_all.q)
    return None if slowest_ms is None else max(of_all.high_ms, slowest_ms)


def _slowest_ms(task: TaskResult, times: DurationSummary, due: int, q: float) -> float | None:
    """Returns the upper bound of a percentile, in ms, if those of the `due` operations that have no time rank
    above all others, by the percentiles of the others; None if there are too many of them.
    """
    effect = _unserved_effect(task)
    few = most_failures(int(due / effect), 1 - q / 100)
    slower = -1 if few is None else int(few * effect) - (due - times.count)
    if slower < 0:
        return None
    within = (each.ms for each in times.percentiles if times.count * (1 - each.q / 100) <= slower)
    return min(within, default=times.max_ms)


def _unserved_effect(task: TaskResult) -> float:
    """Returns the design effect of the operations without latency: those that were not answered or not sent
    are one event at the end, and so are those that failed if it is not known how independent they were.
    """
    counts = task.accounting
    failed = (task.error_rate or 0.0) * counts.normal
    of_failures = failed if task.error_design_effect is None else task.error_design_effect
    return max(1.0, of_failures, counts.unanswered + counts.unsent)


def _custom_values(task: TaskResult) -> dict[str, ValueSummary]:
    return {custom_key(name): value for name, value in task.values.items()}


def _custom(record: RaceRecord, threshold: Threshold, task: TaskResult) -> ThresholdResult:
    summary = _custom_values(task).get(threshold.key)
    if summary is None:
        return ThresholdResult(threshold, task.task, f"its operations did not return {threshold.key}")
    name = f"mean {threshold.key} {format_number(summary.mean)}"
    if summary.low is None or summary.high is None:
        problem = f"its mean has no interval: {_missing_interval(summary)}"
        return ThresholdResult(threshold, task.task, problem, name)
    value = f"{name} (95 % interval {format_number(summary.low)} … {format_number(summary.high)})"
    customs = declared_metrics([record.task_meta])
    problem = _doubt(record, custom_metric(task.task, customs.of(task.task, threshold.key)))
    is_kept = summary.low > threshold.limit if threshold.is_minimum else summary.high < threshold.limit
    if not problem and not is_kept:
        side = "above" if threshold.is_minimum else "below"
        problem = f"it is not shown to be {side} {format_number(threshold.limit)}"
    return ThresholdResult(threshold, task.task, problem, value)


def _missing_interval(value: ValueSummary) -> str:
    """Returns why the mean of a custom metric has no interval."""
    if value.count < LEAST_VALUES:
        return f"fewer than {LEAST_VALUES} operations returned it"
    if value.min == value.max and value.count < LEAST_EQUAL_VALUES:
        return f"its values are equal, and fewer than {LEAST_EQUAL_VALUES} operations returned it"
    return "the race is of an older version, or its values are too large"


def _errors(record: RaceRecord, threshold: Threshold, task: TaskResult) -> ThresholdResult:
    operations, effect = task.accounting.normal, task.error_design_effect
    if task.error_rate is None or not operations:
        return ThresholdResult(threshold, task.task, "no operation was measured")
    if effect is None:
        return ThresholdResult(threshold, task.task, f"the error rate has no interval: {FEW_STRETCHES}")
    failed = math.ceil(round(task.error_rate * operations) / effect)
    high = upper_bound(failed, max(failed, 1, int(operations / effect)))
    value = f"error rate {task.error_rate * 100:.3g} % (95 % interval up to {high * 100:.3g} %)"
    metric = MetricId(task.task, "error rate", "%", METRICS["error_rate"].option_key, "error rate")
    problem = _doubt(record, metric)
    if not problem and not high < threshold.limit:
        problem = f"it is not shown to be below {threshold.limit * 100:g} %"
    return ThresholdResult(threshold, task.task, problem, value)


def _unbounded(estimate: Percentile) -> str:
    """Returns why a percentile of enough samples has no upper bound."""
    if estimate.low_ms is None:
        return f"p{estimate.q:g} has no interval: {FEW_STRETCHES}"
    return f"too few slow operations, or bursts of them, were measured for an upper bound of p{estimate.q:g}"


def _doubt(record: RaceRecord, metric: MetricId) -> str:
    """Returns why a figure of a race proves nothing; empty if it does."""
    if not record.complete:
        return "the race is not complete"
    if record.verdict.state == "void":
        return f"the race is void: {'; '.join(record.verdict.reasons)}"
    return "the race makes it doubtful" if is_disturbed(record, metric) else ""
