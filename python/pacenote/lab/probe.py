"""Did the engine keep up: one probe of a rate judged by what its task came to."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.model.driver_health import THREAD_CPU_SHARE
from pacenote.model.result import Percentile, TaskResult
from pacenote.model.saturation import Objective, Probe, ProbeOutcome
from pacenote.model.verdict import LATENESS_SHARE

SENT_SHARE = 0.99
"""A rate was put on the engine only if at least this share of what was due was done in the window."""

OPERATIONS = 100
"""A probe is to have so many at least: of fewer, one is a larger share than may be missing or fail."""

MARGIN = 1.1
"""More operations than are needed, because some may fail and random arrivals vary."""

LONGEST_S = 300.0
"""No probe is longer, even if a percentile then lacks samples."""


def window_s(objective: Objective, rate: float, shortest_s: float) -> float:
    """How long to measure a rate so that the limited percentiles have the samples they need."""
    operations = max(OPERATIONS, MARGIN * objective.samples_needed())
    return max(shortest_s, min(LONGEST_S, operations / rate))


def lowest_rate(objective: Objective, shortest_s: float) -> float:
    """Below it no probe has the samples that the limited percentiles need."""
    return MARGIN * objective.samples_needed() / max(shortest_s, LONGEST_S)


def work_per_operation(result: TaskResult) -> float:
    """Work of one operation in the task's unit, failed work included; 1 where nothing was done."""
    begun = result.accounting.succeeded + result.accounting.failed
    whole = result.work.done + result.work.failed
    return whole / begun if begun and whole else 1.0


def judged(number: int, rate: float, result: TaskResult, objective: Objective, busiest: float) -> Probe:
    """The probe of `rate` operations per second; `busiest` is the largest share of its time that a thread of
    the driver was busy.

    A driver that falls short makes latency longer and throughput lower, never better: it voids failures only.
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
    """Operations per second that were answered in the window, failures too: errors have a limit of their
    own.
    """
    if result.throughput is None or result.work.done == 0:
        return 0.0
    failed = result.work.failed / result.work.done
    return result.throughput.mean * (1 + failed) / work_per_operation(result)


def _engine_limits(achieved: float, result: TaskResult, objective: Objective) -> Iterator[str]:
    if result.error_rate > objective.error_rate:
        yield f"error rate {result.error_rate * 100:.3g} %"
    # Random arrivals are more or fewer than the rate says, and few operations never fill a window exactly.
    due, done = result.accounting.normal + result.accounting.unsent, achieved * result.window_s
    if not due:
        yield "no operation was measured"
    # One may lie across the end of the window and none across its beginning.
    elif done < SENT_SHARE * due - 1:
        yield f"only {done / due * 100:.1f} % of what was due was done"
    planned = result.accounting.operations + result.accounting.unsent
    if result.accounting.unsent > (1 - SENT_SHARE) * planned:
        yield f"{result.accounting.unsent:,} operations could not be sent in time"
    for limit in objective.latency:
        found = result.latency.at(limit.q) if result.latency else None
        yield from _over(found, limit.q, limit.ms)


def _over(found: Percentile | None, q: float, limit_ms: float) -> Iterator[str]:
    if found is None:
        yield f"there is no p{q:g} of latency"
    elif found.ms > limit_ms:
        yield f"p{q:g} of latency is {found.ms:.4g} ms"
    elif not found.supported:
        yield f"p{q:g} of latency has too few samples"


def _driver_limits(result: TaskResult, busiest: float) -> Iterator[str]:
    if busiest > THREAD_CPU_SHARE:
        yield f"a driver thread was busy {busiest * 100:.0f} % of the time"
    late, service = result.lateness, result.service_time
    if late is None or service is None:
        return
    for q in (50.0, 99.0):
        ours, typical = late.at(q), service.at(q)
        if ours is None or typical is None or not (ours.supported and typical.supported):
            continue
        if ours.ms > LATENESS_SHARE * typical.ms:
            yield f"p{q:g} lateness of the driver is {ours.ms:.4g} ms"
