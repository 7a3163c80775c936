"""The target rate of a task, and whether the task achieved it."""

from __future__ import annotations

import math

from pacenote.model.codec import Name, Number, Stored
from pacenote.model.driver_facts import LateJoins
from pacenote.model.pacing_options import Arrivals
from pacenote.model.result import TaskResult
from pacenote.units import OPS

MAX_SHORTFALL = 0.05
"""Default of `--max-shortfall`: by how much a task may miss its target rate, as a fraction of the rate."""

UNSENT_SHARE = 0.01
"""Highest acceptable share of planned operations that were not sent: above it, a task did not run at its
target rate.
"""

_DEVIATIONS = 3.0
"""By how many standard deviations random arrivals may be fewer than expected."""


class TargetRate(Stored, frozen=True):
    """The rate that the track asks of a task, over all its clients."""

    value: Number
    """Work per second, in `unit`."""

    unit: Name = OPS
    """What the rate counts: operations, or the unit of the task, such as documents."""

    operations: Number | None = None
    """Operations per second, or None if they follow from the work of each operation: the schedule counts
    documents, or the work is only known while the race runs.
    """

    arrivals: Arrivals = "deterministic"
    """When operations are due."""


def achieved_rate(task: TaskResult, target: TargetRate) -> float:
    """Returns the rate of successful work that a task achieved in its window, in the unit of its target."""
    if target.unit == OPS:
        return _succeeded(task) / task.window_s if task.window_s else 0.0
    if task.throughput is None:
        return 0.0
    if task.reported_s is None:
        return task.throughput.mean
    # This throughput refers to the time that the engine or a runner reports, but the target to the window.
    return task.throughput.mean * task.reported_s / task.window_s if task.window_s else 0.0


def misses_target(
    task: TaskResult, target: TargetRate, max_shortfall: float, joins: LateJoins | None = None
) -> bool:
    """Returns whether significantly fewer operations ended in the measured window than its target rate asks
    for; `max_shortfall` is the tolerated share, from 0 to 1, and `joins` are the clients that joined late.

    An operation that was sent in time may end after the window, so those of one mean service time are not
    expected; but if the task ran its time, those of the warm-up that end in the window make up for them. An
    operation may overlap the end of the window (`_overlapping`), and the number of random arrivals varies. If
    a client was free for every operation when it was due, the task ran at its rate, however long they took,
    unless clients that joined late skipped operations.
    """
    if target.unit != OPS and achieved_rate(task, target) >= target.value:
        return False
    # Of a schedule that clients share, the others execute all operations.
    skipped = joins is not None and not task.open_loop and late_share(task, joins) > 0
    if not task.accounting.unsent and not task.accounting.waited and not skipped:
        return False
    return _falls_short(task, target, max_shortfall, task.window_operations)


def keeps_target(task: TaskResult, target: TargetRate, max_shortfall: float) -> bool:
    """Returns whether a task kept its target rate with operations that succeeded, and sent nearly all of its
    schedule. One that missed it because operations failed is not blamed for its rate: another rule reports
    the failures.
    """
    if leaves_unsent(task):
        return False
    if has_other_work(task, target, max_shortfall) and achieved_rate(task, target) < target.value:
        return False
    return not _falls_short(task, target, max_shortfall, _succeeded(task))


def has_other_work(task: TaskResult, target: TargetRate, max_shortfall: float) -> bool:
    """Returns whether the operations of a task that succeeded in its window had significantly fewer or more
    documents than its target rate takes for granted, such as short bulks: at its rate of operations, it then
    sends other documents per second than was asked. `max_shortfall` of these, and those of an operation, are
    tolerated. It is not judged if many operations failed.
    """
    expected, had = work_per_operation(target), mean_work(task, target)
    if expected is None or had is None or target.unit != "docs":
        return False
    # Documents of operations that failed in part count as work, but these operations do not count.
    if _fails_often(task):
        return False
    return abs(expected - had) * _succeeded(task) > max_shortfall * expected * _succeeded(task) + expected


def mean_work(task: TaskResult, target: TargetRate) -> float | None:
    """Returns the mean work, in the unit of a target rate, of the operations that succeeded in the window of
    a task; None if none did.
    """
    succeeded = _succeeded(task)
    return achieved_rate(task, target) * task.window_s / succeeded if succeeded else None


def work_per_operation(target: TargetRate) -> float | None:
    """Returns the work of an operation, in the unit of a target rate, that this rate takes for granted; None
    if it counts operations, or if these follow from the work of each.
    """
    if target.unit == OPS or not target.operations:
        return None
    return target.value / target.operations


def leaves_unsent(task: TaskResult) -> bool:
    """Returns whether more than the acceptable share of the operations of a task was not sent."""
    counts = task.accounting
    return counts.unsent > UNSENT_SHARE * (counts.operations + counts.unsent)


def missing_share(task: TaskResult, target: TargetRate) -> float:
    """Returns the share of the operations that were expected in the measured window but did not end in it."""
    expected = _expected(task, target)
    return max(0.0, 1.0 - task.window_operations / expected) if expected else 0.0


def late_share(task: TaskResult, joins: LateJoins) -> float:
    """Returns which share of the measured window of all clients passed without operations because some joined
    late.

    If each client has a number of iterations, those that began before the last one have done theirs when it
    is still running: each has no operation for as long as the last one joined after it. What a client misses
    at the begin of the window comes on top. If clients share the iterations, all have been done when the
    window ends, and those that join later miss no more.
    """
    if not task.window_s:
        return 0.0
    missed_s = joins.missed_measured_s
    if task.open_loop:
        missed_s = min(joins.missed_s if missed_s is None else missed_s, joins.clients * task.window_s)
        return min(max(0.0, missed_s / (task.clients * task.window_s)), 1.0)
    if task.ended_by in ("iterations", "source"):
        missed_s = joins.missed_s if missed_s is None else missed_s
        missed_s += task.clients * joins.latest_s - joins.missed_s
    elif missed_s is None:
        missed_s = joins.missed_s - joins.clients * (task.window_from_s or 0.0)
    share = missed_s / (task.clients * task.window_s)
    return min(max(0.0, share), 1.0)


def late_share_of_task(task: TaskResult, joins: LateJoins) -> float:
    """Returns which share of the whole time of all clients that share a schedule passed without their
    connections because some joined late.
    """
    available_s = task.clients * task.duration_s
    missed_s = min(joins.missed_s, joins.clients * task.duration_s)
    return missed_s / available_s if available_s else 0.0


def mean_service_s(task: TaskResult) -> float:
    """Returns the mean service time of successes and failures in seconds, or 0 if none was measured."""
    times = [summary for summary in (task.service_time, task.failed_service_time) if summary is not None]
    count = sum(summary.count for summary in times)
    return sum(summary.mean_ms * summary.count for summary in times) / count / 1000.0 if count else 0.0


def _falls_short(task: TaskResult, target: TargetRate, max_shortfall: float, done: float) -> bool:
    """Returns whether `done` operations are too few for the measured window."""
    if not task.window_operations:
        return False  # Another rule reports a task of which nothing was measured.
    expected = _expected(task, target)
    tolerated = max_shortfall * expected + _overlapping(task, target)
    if target.arrivals != "deterministic":
        tolerated += _DEVIATIONS * math.sqrt(expected)
    return expected - done > tolerated


def _overlapping(task: TaskResult, target: TargetRate) -> float:
    """Returns how many operations may overlap the ends of the measured window without being in it: one, or
    more if the task ran its time and each client follows the work of its own operations, which need not be
    that of the others. Each then has a part of an operation at both ends, from none to all with the same
    chance, so that their sum has the variance clients / 6.
    """
    if target.operations is None and target.unit != OPS and task.ended_by == "time":
        return max(1.0, _DEVIATIONS * math.sqrt(task.clients / 6.0))
    return 1.0


def _expected(task: TaskResult, target: TargetRate) -> float:
    """Returns how many operations are expected to end in the measured window. If a task ran its time, those
    that were in flight when the window began are among them: as many as the time before it allowed.
    """
    uncounted_s = mean_service_s(task)
    if task.ended_by == "time":
        uncounted_s = max(0.0, uncounted_s - (task.window_from_s or 0.0))
    return operations_per_s(task, target) * max(0.0, task.window_s - uncounted_s)


def _fails_often(task: TaskResult) -> bool:
    """Returns whether so many operations in the window failed that the work of the others is not the mean."""
    return task.window_operations - _succeeded(task) > UNSENT_SHARE * task.window_operations


def _succeeded(task: TaskResult) -> float:
    """Returns how many of the operations that ended in the measured window succeeded. If an older version did
    not record it, this is estimated from the error rate, although it refers to other operations: those that
    are measured may end after the window, and operations of the warm-up in it.
    """
    if task.window_succeeded is not None:
        return task.window_succeeded
    return task.window_operations * (1.0 - (task.error_rate or 0.0))


def operations_per_s(task: TaskResult, target: TargetRate) -> float:
    """Returns the operations per second that a target rate asks for. If they follow from the work of each
    operation, this is that of those in the window in the mean, or of all that ended if many in the window
    failed.
    """
    if target.operations is not None:
        return target.operations
    work = 1.0 if target.unit == OPS else operation_work(task)
    return target.value / work if work else 0.0


def operation_work(task: TaskResult) -> float | None:
    """Returns the mean work of an operation, in the unit of the task: of those that succeeded in the window,
    or of all that ended if many in the window failed; None if there was none.
    """
    if task.unit == OPS:
        return 1.0
    succeeded = _succeeded(task)
    if succeeded and task.throughput is not None and task.throughput.mean and not _fails_often(task):
        seconds = task.window_s if task.reported_s is None else task.reported_s
        return task.throughput.mean * seconds / succeeded
    ended = task.accounting.succeeded + task.accounting.failed
    work = task.work.done + task.work.failed
    return work / ended if work and ended else None
