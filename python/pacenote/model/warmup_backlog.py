"""What the backlog of a warm-up does to the latency and the throughput of its task.

Operations of the measured window that waited for an operation of the warm-up, directly or in a chain or in
the engine, have a true latency, but one that describes the warm-up. If they are more than 1 % of the measured
operations, raise latency by more than 10 % and are unlike the others, its latency is marked wherever it is
shown, and decides nothing. If they are fewer, so are the percentiles that they decide, and the maximum. If
they are more than 1 % and latency is not marked, the report says why.

A window in which the engine works off what the warm-up left does more than its schedule asks for. If that is
more than 1 %, its throughput is marked in the same way: it is neither the rate that was asked nor what the
engine can do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from pacenote.model.comparison import MetricKind
from pacenote.model.finding import Finding
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.units import format_count, format_range, format_rate

BACKLOG_MARK = "§"
"""Marks a latency that includes the backlog of the warm-up."""

BACKLOG_REASON = "latency includes the backlog of the warm-up"
"""Says why a latency does not decide."""

RATE_BACKLOG_REASON = "throughput includes the backlog of the warm-up"
"""Says why a throughput does not decide."""

MISSED_ADVICE = "remove what made it miss its target rate: no warm-up is long enough for that"
"""What to do about the backlog of a task that missed its target rate."""

_LARGEST = 100.0
"""The percentile that is the largest value."""

_LIMIT = "limit 1 %"
_LIMIT_SHARE = 0.01
_FEWEST = 5
"""Fewest delayed operations that mark latency."""
_LIMIT_EFFECT = 1.1
"""How many times as large as without the delayed operations a figure of latency is that is marked."""


def backlog_reason(kind: MetricKind) -> str:
    """Returns why a metric of this kind does not decide if it includes the backlog of the warm-up."""
    return RATE_BACKLOG_REASON if kind == "throughput" else BACKLOG_REASON


def throughput_includes_backlog(task: TaskResult) -> bool:
    """Returns whether the throughput of a task includes what its warm-up left to the window. One that refers
    to the time which the engine or a runner reports does not depend on the window.
    """
    return task.warmup_backlog.throughput_marked and task.reported_s is None


def share_of_schedule(task: TaskResult) -> float:
    """Returns the share of the operations of the window that its own schedule asked for; 1 unless throughput
    is marked.
    """
    backlog = task.warmup_backlog
    if not backlog.throughput_marked or not task.window_operations:
        return 1.0
    return max(0.0, 1.0 - backlog.surplus / task.window_operations)


def surplus_text(task: TaskResult) -> str:
    """Returns by how much the window of a task whose throughput is marked exceeds its schedule, and until
    when the warm-up should have lasted; otherwise an empty string.
    """
    if not throughput_includes_backlog(task):
        return ""
    backlog = task.warmup_backlog
    share = _percent((1.0 - share_of_schedule(task)) * 100)
    advice = f": {backlog_advice(task)}" if backlog.until_s is not None and backlog.gone else ""
    return (
        f"{backlog.surplus:,} of {task.window_operations:,} operations in the window ({share}) are left from "
        f"the warm-up and raise throughput{advice}"
    )


def backlog_text(task: TaskResult) -> str:
    """Returns how many operations waited for the warm-up of a task of whose latency at least a percentile is
    marked, until when, and which figures they decide unless it is all; otherwise an empty string.
    """
    backlog = task.warmup_backlog
    if not includes_backlog(task, _LARGEST):
        return ""
    counts = f"{backlog.operations:,} of {task.accounting.normal:,} measured operations"
    decided = _decided(task)
    if not backlog.gone or backlog.until_s is None:
        return f"{counts} waited for the warm-up, and some still did when the task ended{decided}"
    until = f"the last of them due at {format_rate(backlog.until_s)} s"
    return f"{counts} waited for the warm-up, {until}{decided}"


def _decided(task: TaskResult) -> str:
    """Returns which figures of latency the backlog decides, if these are not all."""
    backlog = task.warmup_backlog
    if backlog.marked or backlog.from_quantile is None:
        return ""
    percentile = 100.0 * backlog.from_quantile
    largest = "the maximum" if percentile >= _LARGEST else f"p{percentile:g} and everything above it"
    return f"; they decide {'the mean, ' if mean_includes_backlog(task) else ''}{largest}"


def unmarked_backlog_text(task: TaskResult) -> str:
    """Returns how many operations waited for the warm-up of a task and why its latency is not marked, if they
    are more than 1 %; otherwise an empty string.
    """
    backlog, measured = task.warmup_backlog, task.accounting.normal
    if includes_backlog(task, _LARGEST) or not measured or backlog.operations <= _LIMIT_SHARE * measured:
        return ""
    share = _percent(backlog.operations / measured * 100)
    counts = f"{backlog.operations:,} of {measured:,} measured operations ({share}) waited for the warm-up"
    if backlog.effect is None:
        return counts
    if backlog.effect <= _LIMIT_EFFECT:
        return f"{counts}, but latency is hardly higher for it (at most {backlog.effect:.3g} times)"
    reason = "but others waited as well" if backlog.operations >= _FEWEST else "but they are very few"
    return f"{counts}, and latency is up to {backlog.effect:.3g} times as high, {reason}"


def drain_text(task: TaskResult) -> str:
    """Returns from when on a task was measured whose window waited for the backlog of the warm-up, and how
    many operations that took; empty if it did not have to wait.
    """
    drain = task.warmup_backlog.drain
    if drain is None or not (drain.operations or drain.gave_up):
        return ""
    operations = format_count(drain.operations, "operation")
    if drain.window_from_s is None:
        return f"nothing was measured: the backlog of the warm-up took {operations} more"
    begin = f"measured from {format_rate(drain.window_from_s)} s on, {operations} later than planned"
    if drain.gave_up:
        return f"{begin}: the backlog of the warm-up was not gone, but --warmup-drain waits no longer"
    backlog = task.warmup_backlog
    if backlog.operations:
        count = format_count(backlog.operations, "measured operation")
        where = f", {backlog.in_engine:,} of them in the engine" if backlog.in_engine else ""
        return f"{begin}, but {count} still waited for the warm-up{where}"
    return f"{begin}: the backlog of the warm-up was gone then"


def unused_drain_text(record: RaceRecord) -> str:
    """Returns that `--warmup-drain` had no effect on a race that ran to its end; otherwise an empty text."""
    is_used = any(task.warmup_backlog.drain for task in record.tasks)
    if not record.pacing.warmup_drain or is_used or not record.complete:
        return ""
    return "--warmup-drain had no effect: no task has both a warm-up and a known rate"


def backlog_advice(task: TaskResult, *, misses_target: bool = False) -> str:
    """Returns how long the warm-up of a task should have been, unless it missed its target rate: one that
    cannot keep its rate never catches up, however long its warm-up is.
    """
    if misses_target:
        return MISSED_ADVICE
    backlog = task.warmup_backlog
    if not backlog.gone or backlog.until_s is None:
        return "use a lower rate, more clients or a much longer warm-up"
    if backlog.iterations is not None and task.open_loop:
        # Clients that share a schedule share its iterations, and --max-connections rounds up what each has.
        operations = backlog.iterations * task.clients
        return f"raise the warmup-iterations of all clients together to at least {operations:,}"
    if backlog.iterations is not None:
        return f"raise warmup-iterations to at least {backlog.iterations:,}"
    # An operation belongs to the warm-up if it is due before the end of it.
    return f"raise warmup-time-period to at least {math.floor(backlog.until_s) + 1:,} s"


def has_sound_latency(task: TaskResult) -> bool:
    """Returns whether the latency of a task, or its service time if it has no schedule, describes what was
    measured, so that it may stand for the race.
    """
    return not task.warmup_backlog.marked


def includes_backlog(task: TaskResult, percentile: float) -> bool:
    """Returns whether a percentile (0 to 100; 100 for the largest value) of the latency of a task includes
    the backlog of its warm-up, so that it decides nothing.
    """
    lowest = task.warmup_backlog.from_quantile
    return task.warmup_backlog.marked or (lowest is not None and percentile >= 100.0 * lowest - 1e-9)


def mean_includes_backlog(task: TaskResult) -> bool:
    """Returns whether the mean of the latency of a task includes the backlog of its warm-up: a few operations
    that decide high percentiles may raise no other figure of `effect`.
    """
    backlog = task.warmup_backlog
    is_raised = backlog.effect is not None and backlog.effect > _LIMIT_EFFECT
    return backlog.marked or (backlog.from_quantile is not None and is_raised)


def warmup_backlogs(tasks: Iterable[TaskResult]) -> Iterator[Finding]:
    """Yields findings about tasks whose latency contains the backlog of their warm-up. The figures are true,
    so none is doubtful; those of latency are marked.
    """
    alike: dict[str, list[TaskResult]] = {}
    for task in tasks:
        if task.warmup_backlog.marked:
            alike.setdefault(backlog_advice(task), []).append(task)
    for advice, group in alike.items():
        shares = (task.warmup_backlog.operations / task.accounting.normal * 100 for task in group)
        count = sum(task.warmup_backlog.operations for task in group)
        yield Finding(
            f"{format_count(count, 'measured operation')} waited for the warm-up, "
            f"{format_range(shares, _percent)} of all ({_LIMIT}): {BACKLOG_REASON}",
            "track",
            advice,
            tuple(task.task for task in group),
        )


def _percent(value: float) -> str:
    return f"{value:.3g} %"
