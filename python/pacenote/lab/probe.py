"""One probe of a rate: its duration, and the decision whether the engine kept up."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.model.driver_health import THREAD_CPU_SHARE
from pacenote.model.result import Percentile, TaskResult
from pacenote.model.saturation import Objective, Probe, ProbeOutcome
from pacenote.model.verdict import excessive_lateness

MIN_COMPLETED_SHARE = 0.99
"""A rate passes only if at least this share of the operations that were due was done in the window."""

MIN_OPERATIONS = 100
"""Minimum number of operations of a probe; with fewer, a single failure would exceed the allowed share."""

MARGIN = 1.1
"""Ratio of planned to required operations, as some may fail and random arrivals vary."""

MAX_WINDOW_S = 300.0
"""Seconds of the longest measured window, even if a percentile then has too few samples."""


def window_s(objective: Objective, rate: float, shortest_s: float) -> float:
    """Returns the seconds to measure at a rate, which give the limited percentiles the samples they need."""
    operations = max(MIN_OPERATIONS, MARGIN * objective.samples_needed())
    return max(shortest_s, min(MAX_WINDOW_S, operations / rate))


def lowest_rate(objective: Objective, shortest_s: float) -> float:
    """Returns the rate below which no probe has the samples that the limited percentiles need."""
    return MARGIN * objective.samples_needed() / max(shortest_s, MAX_WINDOW_S)


def work_per_operation(result: TaskResult) -> float:
    """Returns the work of one operation in the task's unit, including failed work, or 1 if no work was
    done.
    """
    operations = result.accounting.succeeded + result.accounting.failed
    work = result.work.done + result.work.failed
    return work / operations if operations and work else 1.0


def evaluate_probe(
    number: int, rate: float, result: TaskResult, objective: Objective, busiest: float
) -> Probe:
    """Returns the probe of `rate` operations per second; `busiest` is the CPU share of the busiest driver
    thread.

    A driver that cannot keep up increases latency and decreases throughput but never improves them, so that
    it voids only a failed probe.
    """
    achieved = _achieved(result)
    driver = tuple(_driver_limits(result, busiest))
    engine = tuple(_engine_limits(achieved, result, objective))
    outcome: ProbeOutcome = "passed"
    if engine:
        outcome = "void" if driver else "failed"
    times = result.latency or result.service_time
    return Probe(
        number=number,
        rate=rate,
        achieved=achieved,
        work=result.throughput.mean if result.throughput else 0.0,
        error_rate=result.error_rate,
        latency=times.percentiles if times else (),
        waited=result.accounting.waited,
        unsent=result.accounting.unsent,
        outcome=outcome,
        reasons=(*engine, *driver),
    )


def _achieved(result: TaskResult) -> float:
    """Returns the operations answered per second of the window.

    Failures count, as they have a separate limit.
    """
    if result.throughput is None or result.work.done == 0:
        return 0.0
    failed = result.work.failed / result.work.done
    return result.throughput.mean * (1 + failed) / work_per_operation(result)


def _engine_limits(achieved: float, result: TaskResult, objective: Objective) -> Iterator[str]:
    """Yields a message for each limit that the engine has exceeded."""
    if result.error_rate > objective.error_rate:
        yield f"error rate {result.error_rate * 100:.3g} %"
    # Compared with the operations that were due, not with the rate: random arrivals vary, and few operations
    # do not fill a window exactly.
    due, done = result.accounting.normal + result.accounting.unsent, achieved * result.window_s
    if not due:
        yield "no operation was measured"
    # One operation may overlap the end of the window without another one that overlaps its beginning.
    elif done < MIN_COMPLETED_SHARE * due - 1:
        yield f"only {done / due * 100:.1f} % of the operations that were due were done"
    planned = result.accounting.operations + result.accounting.unsent
    if result.accounting.unsent > (1 - MIN_COMPLETED_SHARE) * planned:
        yield f"{result.accounting.unsent:,} operations could not be sent in time"
    for limit in objective.latency:
        percentile = result.latency.at(limit.q) if result.latency else None
        yield from _exceeded(percentile, limit.q, limit.ms)


def _exceeded(percentile: Percentile | None, q: float, limit_ms: float) -> Iterator[str]:
    if percentile is None:
        yield f"p{q:g} of latency is missing"
    elif percentile.ms > limit_ms:
        yield f"p{q:g} of latency is {percentile.ms:.4g} ms"
    elif not percentile.supported:
        yield f"p{q:g} of latency has too few samples"


def _driver_limits(result: TaskResult, busiest: float) -> Iterator[str]:
    """Yields a message for each sign that the driver could not keep up."""
    if busiest > THREAD_CPU_SHARE:
        yield f"a driver thread was busy {busiest * 100:.0f} % of the time"
    for late, _ in excessive_lateness(result):
        yield f"p{late.q:g} lateness of the driver is {late.ms:.4g} ms"
