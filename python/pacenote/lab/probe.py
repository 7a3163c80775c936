"""One probe of a rate: its duration, and the decision whether the engine met the objective."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.model.finding import Finding
from pacenote.model.result import CensoredPercentile, TaskResult, find_percentile
from pacenote.model.saturation import LatencyLimit, Objective, Probe, ProbeOutcome
from pacenote.model.warmup_backlog import BACKLOG_REASON, includes_backlog
from pacenote.race.measured_seconds import MeasuredSeconds
from pacenote.stats.binomial import most_failures, proves_above, upper_bound
from pacenote.stats.dependence import Block, design_effect, mean_effect, shows_above, shows_at_most, total
from pacenote.stats.power import operations_to_decide
from pacenote.units import format_excess, format_unlike
from pacenote.verdict.determine import disturbances
from pacenote.verdict.driver_health import clock_findings

MIN_COMPLETED_SHARE = 0.99
"""A rate passes only if at least this share of the operations that were due was done in the window."""

CHANCE_DEVIATIONS = 3.0
"""Standard deviations by which the number of operations in flight differs by chance between two times."""

MIN_SILENT_CONNECTIONS = 4
"""Number of connections from which on it is hardly chance if all of them are busy for several rounds: if
service times are exponential, c connections end no operation for two rounds in (1 + 2c) exp(-2c) of the time,
41 % for one and 0.3 % for four.
"""

SILENT_ROUNDS = 2.0
"""How many times as long as all connections need for one operation each a pause without any reply is at least
if the engine stopped as a whole.
"""

NO_LOWER_RATE = (
    "more operations were in flight at the end than at the beginning: by chance or because they wait for "
    "each other, which only a lower rate shows"
)
"""Why a probe of the first rate is undecided if operations are missing."""

MAX_VOID_TRIALS = 3
"""Maximum number of trials of a rate that something other than the engine affects, such as the driver.

A short disturbance of the host voids only one trial.
"""

MIN_OPERATIONS = 100
"""Minimum number of operations of a probe, even if its objective limits nothing."""

MARGIN = 1.1
"""Ratio of planned to required operations, as some may fail and random arrivals vary."""

MAX_WINDOW_S = 300.0
"""Seconds of the longest measured window, even if it then has too few operations to decide."""


MAX_BURST_WINDOW_S = 600.0
"""The same if slow operations come in bursts, so that more of them are needed."""


class MachineUse(Struct, frozen=True):
    """What other programs and other machines took from the engine during a run."""

    findings: tuple[Finding, ...] = ()
    """What to report of it, without what is reported of the driver."""

    by_others: bool = False
    """Whether they used the processors of the engine beyond a limit, whichever finding reports it."""


class RunEvidence(Struct, frozen=True):
    """What is known about a run of a task beside its result."""

    driver: Mapping[str, object]
    """The driver's report about itself (`driver` in `race.json`)."""

    machine: MachineUse = field(default_factory=MachineUse)
    """What other programs and other machines took from the engine."""

    seconds: MeasuredSeconds = field(default_factory=MeasuredSeconds)
    """The measured seconds, as far as they are known."""

    effects: tuple[float, ...] = ()
    """The design effects of the probes before (`stats.dependence`)."""

    lower_service_ms: float | None = None
    """The shortest mean service time of probes at lower rates in ms (`lower_service_ms`); None if no rate was
    lower.
    """

    def effect_of(self, blocks: Sequence[Block]) -> float:
        """Returns the mean design effect of the seconds of this run and of earlier ones."""
        return mean_effect((*self.effects, design_effect(blocks)))

    def effect_of_failures(self) -> float:
        """Returns the design effect of the operations that failed."""
        return self.effect_of(self.seconds.failed())

    def effect_above(self, limit: LatencyLimit) -> float:
        """Returns the design effect of the operations that failed or were slower than a limit."""
        return self.effect_of(self.seconds.above(limit.ms))

    def own_effect(self, objective: Objective) -> float:
        """Returns the largest design effect of this run."""
        slow = (self.seconds.above(limit.ms) for limit in objective.latency)
        return max(map(design_effect, (self.seconds.failed(), *slow)))


def window_s(objective: Objective, rate: float, shortest_s: float, effect: float = 1.0) -> float:
    """Returns the seconds to measure at a rate, so that a probe probably decides whether it passes; with a
    design effect above 1, it needs as many times the operations.
    """
    longest_s = MAX_BURST_WINDOW_S if effect > 1 else MAX_WINDOW_S
    return max(shortest_s, min(longest_s, effect * _operations(objective) / rate))


def quick_rate(objective: Objective, shortest_s: float) -> float:
    """Returns the rate from which on no probe is longer than the shortest."""
    return _operations(objective) / shortest_s


def lowest_rate(objective: Objective, shortest_s: float) -> float:
    """Returns the rate below which no probe has the samples that the objective needs."""
    return MARGIN * objective.samples_needed() / max(shortest_s, MAX_WINDOW_S)


def lowest_decided_rate(objective: Objective, shortest_s: float) -> float:
    """Returns the rate below which even the longest probe often does not decide."""
    return MARGIN * _samples_to_decide(objective) / max(shortest_s, MAX_WINDOW_S)


def _operations(objective: Objective) -> float:
    """Returns the number of operations for which a probe is planned."""
    return max(MIN_OPERATIONS, MARGIN * _samples_to_decide(objective))


def _samples_to_decide(objective: Objective) -> int:
    return max((operations_to_decide(share) for share in objective.limited_shares()), default=0)


def work_per_operation(result: TaskResult) -> float | None:
    """Returns the work of one operation of the measured window in the task's unit, or None if no work was
    done in it: it is not known how much work is in an operation that was not answered.

    Bulks that fail count the work that failed, so they are included; other operations that fail have none.
    How much of it failed in the window is not recorded: as large a share as in the whole probe is taken.
    """
    work = result.work
    operations = result.window_operations if work.failed else result.window_succeeded
    if not operations or not work.done or result.throughput is None or not result.throughput.mean:
        return None
    seconds = result.window_s if result.reported_s is None else result.reported_s
    attempted = result.throughput.mean * seconds * (1.0 + work.failed / work.done)
    return attempted / operations


def lower_service_ms(probes: Iterable[Probe], rate: float) -> float | None:
    """Returns the shortest mean service time, in ms, of the probes at rates below `rate`: the time for which
    operations are in flight if few wait for each other. None if none of them succeeded at lower rates.
    """
    return min(
        (probe.service_ms for probe in probes if probe.rate < rate and probe.service_ms is not None),
        default=None,
    )


def evaluate_probe(
    number: int, rate: float, result: TaskResult, objective: Objective, evidence: RunEvidence
) -> Probe:
    """Returns the probe of `rate` operations per second.

    A slow driver or machine increases latency and decreases throughput but never improves them, so it voids
    only a probe that does not pass. A driver does not make the engine report failures either, nor do other
    programs, unless they kept it from keeping up: a probe fails if these failures alone are too many. Lost
    samples void a probe that passes as well, because they may hide bursts, and so does a clock that cannot be
    trusted.
    """
    percentiles = tuple(_dependent_bounds(result, objective, evidence))
    result = replace(result, latency_with_failures=percentiles)
    failures = tuple(_failures(result, objective, evidence))
    undecided = tuple(_undecided(result, objective, evidence))
    # Without the name of the only task, and without advice.
    disturbed = tuple(_disturbances(result, evidence))
    outcome: ProbeOutcome = "failed" if failures else "undecided" if undecided else "passed"
    excused = disturbed and outcome != "passed" and not _fails_by_reports(result, objective, evidence)
    if excused or _may_hide_bursts(result, objective, evidence) or any(clock_findings(evidence.driver)):
        outcome = "void"
    times = result.latency or result.service_time
    return Probe(
        number=number,
        rate=rate,
        achieved=result.window_operations / result.window_s if result.window_s else 0.0,
        work=result.throughput.mean if result.throughput else 0.0,
        work_per_operation=work_per_operation(result),
        error_rate=result.error_rate,
        latency=times.percentiles if times else (),
        latency_with_failures=result.latency_with_failures,
        service_ms=_service_ms(result, objective, evidence),
        silent_share=_silent_share(result, evidence),
        operations=result.accounting.operations,
        due=_due(result),
        late=_late(result, evidence),
        waited=result.accounting.waited,
        unsent=result.accounting.unsent,
        outcome=outcome,
        reasons=(*failures, *undecided, *disturbed),
    )


def _dependent_bounds(
    result: TaskResult, objective: Objective, evidence: RunEvidence
) -> Iterator[CensoredPercentile]:
    """Yields the percentiles of latency with failures; if slow operations come in bursts, with the bound
    of as many times fewer operations as the design effect says.
    """
    due = _due(result)
    for percentile in result.latency_with_failures:
        effects = [evidence.effect_above(limit) for limit in objective.latency if limit.q == percentile.q]
        # Without the seconds of this probe, nothing can be ranked: operations count as independent.
        if percentile.ms is None or not evidence.seconds.latencies_ns:
            yield percentile
            continue
        effect = max(effects) if effects else design_effect(evidence.seconds.above(percentile.ms))
        if effect <= 1:
            yield percentile
            continue
        few = most_failures(int(due / effect), 1 - percentile.q / 100)
        high_ms = None if few is None else evidence.seconds.at_rank(due - int(few * effect))
        # The percentile is rounded to three digits.
        yield replace(percentile, high_ms=None if high_ms is None else max(high_ms, percentile.ms))


def _may_hide_bursts(result: TaskResult, objective: Objective, evidence: RunEvidence) -> bool:
    """Returns whether a probe that would pass may only do so because samples were lost: without the seconds,
    operations count as independent, and bursts of slow ones show as much as if they were.
    """
    is_unknown = result.samples.lost > 0 and not evidence.seconds.latencies_ns
    limits = bool(objective.limited_shares())
    return is_unknown and limits and not _fails_by_reports(result, objective, evidence)


def level_left_out(result: TaskResult, objective: Objective, evidence: RunEvidence) -> tuple[str, ...]:
    """Returns the reasons why a measurement of the closed loop does not describe how the engine scales."""
    errors = [] if result.accounting.normal else ["no operation was measured"]
    rate = result.error_rate or 0.0
    if rate > objective.error_rate:
        errors.append(f"error rate {format_excess(rate, objective.error_rate, '.3g')}")
    return (*errors, *_disturbances(result, evidence))


def _disturbances(result: TaskResult, evidence: RunEvidence) -> Iterator[str]:
    """Yields a message for everything other than the engine that may have affected a measurement: what the
    engine causes, such as connections that it closes, is part of what is measured.
    """
    for finding in (*disturbances((result,), evidence.driver), *evidence.machine.findings):
        if finding.cause != "engine":
            yield finding.text


def _due(result: TaskResult) -> int:
    """Returns the number of operations that were due in the measured window.

    Operations are sent in the order in which they are due, so those that were not sent belong to the window.
    """
    return result.accounting.normal + result.accounting.unanswered + result.accounting.unsent


def _late(result: TaskResult, evidence: RunEvidence) -> int:
    """Returns how many of these waited for a connection or were not sent: without all samples, those that did
    at least, as if every operation of the warm-up had waited.
    """
    waited, counts = evidence.seconds.waited, result.accounting
    return counts.unsent + (max(0, counts.waited - counts.warmup) if waited is None else waited)


def _failures(result: TaskResult, objective: Objective, evidence: RunEvidence) -> Iterator[str]:
    """Yields a message for each limit that the engine has exceeded."""
    # Without proof, an engine whose error rate is just within the limit would often fail by chance.
    errors = Block(result.accounting.normal, _failed(result))
    if shows_above(errors, objective.error_rate, evidence.effect_of_failures()):
        yield f"error rate {format_excess(result.error_rate or 0.0, objective.error_rate, '.3g')}"
    # Compared with the operations that were due, not with the rate: random arrivals vary, and few operations
    # do not fill a window exactly. Failures count as done, as they have a separate limit.
    due, done = _due(result), result.window_operations
    if not result.accounting.normal:
        yield "no operation was measured"
    elif _missing(result) > _overlapping_by_chance(result, evidence):
        share = format_excess(done / due, MIN_COMPLETED_SHARE, ".1f")
        yield f"only {share} of the operations that were due were done"
    if result.accounting.unsent > (1 - MIN_COMPLETED_SHARE) * due:
        yield f"{result.accounting.unsent:,} operations could not be sent in time"
    for limit in objective.latency:
        percentile = find_percentile(result.latency_with_failures, limit.q)
        if _may_be_a_burst(evidence, limit):
            continue
        if percentile is None:
            yield f"p{limit.q:g} of latency is missing"
        elif percentile.ms is None:
            share = f"{100 - limit.q:.3g} %"
            yield f"no p{limit.q:g} of latency: more than {share} of the operations failed or were not sent"
        elif percentile.ms > limit.ms and not _waited_for_warmup(result, limit):
            yield f"p{limit.q:g} of latency is {format_unlike(percentile.ms, limit.ms, '.4g')} ms"


def _silent_share(result: TaskResult, evidence: RunEvidence) -> float | None:
    """Returns for which share of the window no operation ended although all connections waited: as many
    operations as there are connections ended in half of each pause on average. None if that is not known, as
    with few connections: all of them are often busy for longer by chance.
    """
    is_known = evidence.seconds.ended_ns and result.window_operations
    if not is_known or result.window_from_s is None or result.clients < MIN_SILENT_CONNECTIONS:
        return None
    round_s = result.clients * result.window_s / result.window_operations
    silent_s = evidence.seconds.silent_s(SILENT_ROUNDS * round_s, result.window_from_s, result.window_s)
    return min(1.0, silent_s / result.window_s)


def _service_ms(result: TaskResult, objective: Objective, evidence: RunEvidence) -> float | None:
    """Returns the mean service time of the operations that succeeded: of the measured ones or, if the warm-up
    has a backlog so long that none was measured, of those that ended in the window. None if too many of these
    failed: replies are then not as slow as those that an engine owes.
    """
    if result.service_time is not None:
        return result.service_time.mean_ms
    if result.accounting.normal or result.window_from_s is None or result.window_succeeded is None:
        return None
    failed = result.window_operations - result.window_succeeded
    if failed > objective.error_rate * result.window_operations:
        return None
    return evidence.seconds.service_ms(result.window_from_s, result.window_s)


def _missing(result: TaskResult) -> float:
    """Returns how many operations fewer were done in the window than the share that must be."""
    return MIN_COMPLETED_SHARE * _due(result) - result.window_operations


def overlapping_by_chance(in_flight: float) -> float:
    """Returns by how much the number of operations in flight may be larger at the end of a window than at its
    beginning, although they do not become more, if `in_flight` of them are on average: by one at least.

    If operations do not wait for each other, the number of those in flight varies at most like that of a
    Poisson process with their mean, whatever the distribution of their service times, so that the variance of
    the difference is at most twice the mean. Behind a queue in the engine it varies more.
    """
    return max(1.0, CHANCE_DEVIATIONS * math.sqrt(2.0 * in_flight))


def _overlapping_by_chance(result: TaskResult, evidence: RunEvidence) -> float:
    """Returns the same of a result. A backlog makes service times longer, so that the mean number in flight
    is that of the shortest mean service time, also at lower rates.
    """
    if result.service_time is None or not result.window_s:
        return 1.0
    known = (result.service_time.mean_ms, evidence.lower_service_ms)
    service_s = min(duration_ms for duration_ms in known if duration_ms is not None) / 1000.0
    return overlapping_by_chance(result.window_operations / result.window_s * service_s)


def _may_have_backlog(result: TaskResult, evidence: RunEvidence) -> bool:
    """Returns whether operations are missing which were in flight either by chance or in a backlog: only the
    service times of lower rates show that.
    """
    chance = _overlapping_by_chance(result, evidence)
    return evidence.lower_service_ms is None and 1.0 < _missing(result) <= chance


def includes_warmup(result: TaskResult, objective: Objective) -> bool:
    """Returns whether a figure of latency that an objective limits includes a backlog of the warm-up."""
    is_limited = any(includes_backlog(result, limit.q) for limit in objective.latency)
    return result.warmup_backlog.marked or is_limited


def _waited_for_warmup(result: TaskResult, limit: LatencyLimit) -> bool:
    """Returns whether a percentile includes a backlog of the warm-up that the engine worked off, so that it
    may sustain the rate; otherwise, the rate is too high.
    """
    return includes_backlog(result, limit.q) and result.warmup_backlog.gone


def _may_be_a_burst(evidence: RunEvidence, limit: LatencyLimit) -> bool:
    """Returns whether slow operations come in bursts, too few of which were seen to show that their share is
    above the one that this limit allows.
    """
    blocks = evidence.seconds.above(limit.ms)
    effect = evidence.effect_of(blocks)
    return bool(blocks) and effect > 1 and not shows_above(total(blocks), 1 - limit.q / 100, effect)


def _undecided(result: TaskResult, objective: Objective, evidence: RunEvidence) -> Iterator[str]:
    """Yields a message for an error rate whose interval contains its limit, and for each percentile that is
    within its limit, while the upper bound of its interval is not, and one if latency is not within its
    limits, but includes the backlog of the warm-up, or if operations are missing, and no lower rate shows
    why.
    """
    yield from _undecided_error_rate(result, objective, evidence.effect_of_failures())
    if _may_have_backlog(result, evidence):
        yield NO_LOWER_RATE
    for limit in objective.latency:
        percentile = find_percentile(result.latency_with_failures, limit.q)
        if _may_be_a_burst(evidence, limit):
            # The backlog of the warm-up is a burst that the engine does not have later.
            if _is_unknown_burst(result, limit, evidence) and not _waited_for_warmup(result, limit):
                yield _in_bursts(evidence, limit)
            continue
        if percentile is None or percentile.ms is None or percentile.ms > limit.ms:
            continue
        name = f"p{limit.q:g} of latency"
        if not percentile.supported:
            yield f"{name} has too few samples"
        elif percentile.high_ms is None:
            yield f"{name} is {percentile.ms:.4g} ms, but failures leave its interval without upper bound"
        elif percentile.high_ms > limit.ms:
            ms, high_ms = (
                format_unlike(value, limit.ms, ".4g") for value in (percentile.ms, percentile.high_ms)
            )
            yield f"{name} is {ms} ms, but its interval reaches {high_ms} ms"
    waited = [limit for limit in objective.latency if _waited_for_warmup(result, limit)]
    if any(_may_exceed(result, limit) or _is_unknown_burst(result, limit, evidence) for limit in waited):
        yield BACKLOG_REASON


def _may_exceed(result: TaskResult, limit: LatencyLimit) -> bool:
    """Returns whether the interval of a percentile reaches beyond its limit."""
    percentile = find_percentile(result.latency_with_failures, limit.q)
    if percentile is None or percentile.ms is None:
        return False
    return max(percentile.ms, percentile.high_ms or 0.0) > limit.ms


def _is_unknown_burst(result: TaskResult, limit: LatencyLimit, evidence: RunEvidence) -> bool:
    """Returns whether slow operations come in bursts, and the upper bound of a percentile is not within its
    limit either.
    """
    percentile = find_percentile(result.latency_with_failures, limit.q)
    keeps = percentile is not None and percentile.high_ms is not None and percentile.high_ms <= limit.ms
    return not keeps and _may_be_a_burst(evidence, limit)


def _in_bursts(evidence: RunEvidence, limit: LatencyLimit) -> str:
    """Returns a message for slow operations that come in bursts and are neither shown to be too many nor to
    be few enough.
    """
    operations = total(evidence.seconds.above(limit.ms)).operations
    independent = int(operations / evidence.effect_above(limit))
    return (
        f"slow operations came in bursts, so that {operations:,} operations show as little as "
        f"{independent:,} independent ones: p{limit.q:g} of latency is not known well enough"
    )


def _fails_by_reports(result: TaskResult, objective: Objective, evidence: RunEvidence) -> bool:
    """Returns whether the failures that the engine itself reported exceed a limit, whatever else happened. An
    engine whose processors others used may be overloaded at any rate: then, those failures do not count.
    """
    reported, due = result.reported_failures, _due(result)
    if evidence.machine.by_others:
        reported -= result.overload_failures
    if proves_above(reported, due, objective.error_rate):
        return True
    return any(reported > (1 - limit.q / 100) * due for limit in objective.latency)


def _undecided_error_rate(result: TaskResult, objective: Objective, effect: float) -> Iterator[str]:
    """Yields a message if the interval of the error rate contains the limit.

    An error rate of 0 cannot be proved, so a limit of 0 is met if all operations succeed.
    """
    failed, measured, allowed = _failed(result), result.accounting.normal, objective.error_rate
    whole = Block(measured, failed)
    if not measured or (failed == 0 and allowed == 0) or shows_above(whole, allowed, effect):
        return
    if not shows_at_most(whole, allowed, effect):
        high = upper_bound(math.ceil(failed / effect), max(1, int(measured / effect)))
        yield f"error rate is {failed / measured * 100:.3g} %, but its interval reaches {high * 100:.3g} %"


def _failed(result: TaskResult) -> int:
    """Returns the number of measured operations that failed."""
    return round((result.error_rate or 0.0) * result.accounting.normal)
