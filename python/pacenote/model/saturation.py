"""The highest rate that an engine sustains: the objective, all probes, and the result as an interval."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any, Literal

from pacenote.errors import PacenoteError, UsageError
from pacenote.model.codec import Integer, Number, Stored, decode, encode
from pacenote.model.result import CensoredPercentile, Percentile, find_percentile
from pacenote.model.sample_counts import PERCENTILES

FORMAT_VERSION = 2
"""Version of `saturation.json`."""

MAX_ENTRIES = 1_000
"""Largest number of probes, and of measurements of the closed loop, that are read: a search has some tens."""

MAX_LIMITS = 100
"""Largest number of limits of latency that are read."""

MOST = 1e15
"""Largest rate, number of clients and latency that is read; the smallest one is its inverse."""

ProbeOutcome = Literal["passed", "failed", "undecided", "void"]
"""Result of a probe: the engine met the objective, it did not, the probe has too few samples to decide this,
or something other than the engine affected it.
"""

LimitedBy = Literal[
    "engine", "connections", "samples", "driver", "range", "disagreement", "search", "nothing"
]
"""The reason why the result is not higher: the engine, the number of connections, probes with too few samples
to decide, the driver or its machine, the highest allowed rate, probes of the same rate that disagreed, a
search that ended early, or that no rate passed.
"""


class LatencyLimit(Stored, frozen=True):
    """The highest acceptable latency at one percentile."""

    q: Number
    """The percentile, from 0 to 100."""

    ms: Number
    """The limit in milliseconds."""

    def __str__(self) -> str:
        return f"p{self.q:g} of latency at most {self.ms:g} ms"


class Objective(Stored, frozen=True):
    """Conditions that a rate must meet to pass, besides being sent and answered completely."""

    latency: tuple[LatencyLimit, ...]
    """Limits of latency."""

    error_rate: Number
    """The highest acceptable error rate, as a fraction from 0 to 1."""

    def limited_shares(self) -> tuple[float, ...]:
        """Returns the shares of operations, between 0 and 1, that may fail or be slower than a limit.

        An error rate of 0 cannot be proved, and one of at most 1 needs no proof.
        """
        errors = (self.error_rate,) if 0 < self.error_rate < 1 else ()
        return (*errors, *(1 - limit.q / 100 for limit in self.latency))

    def samples_needed(self) -> int:
        """Returns the number of samples without which no probe passes, and with which few do.

        With this number, the probability that not one operation fails or is slow is 2.5 % if as many do as
        may, as for the intervals of percentiles.
        """
        return max(
            (math.ceil(math.log(0.025) / math.log1p(-share)) for share in self.limited_shares()), default=0
        )


class Probe(Stored, frozen=True):
    """One run of a task at one rate."""

    number: Integer
    """The number of the probe, from 1; it is part of the folder's name."""

    rate: Number
    """The target rate in operations per second."""

    achieved: Number
    """Operations per second that were achieved."""

    work: Number
    """Work per second that was achieved, in the task's unit."""

    error_rate: Number | None
    """Failed operations, as a fraction from 0 to 1; None if none was measured."""

    latency: tuple[Percentile, ...]
    """Percentiles of the latency of successes."""

    waited: Integer
    """Operations that began late because all connections were in use, warm-up included."""

    unsent: Integer
    """Operations that were due before the end of the probe and not sent."""

    outcome: ProbeOutcome
    """Whether the rate passed."""

    reasons: tuple[str, ...]
    """The reasons why it did not pass, and what affected it besides the engine, one message each."""

    latency_with_failures: tuple[CensoredPercentile, ...] = ()
    """Percentiles of latency in which operations without success rank above all others; the objective limits
    these. Empty in documents of format 1.
    """

    service_ms: Number | None = None
    """Mean service time of the measured successes in milliseconds; of those that ended in the window if a
    backlog of the warm-up left no operation measured, and its error rate is within the objective. None if
    there were none, and in documents of older versions.
    """

    silent_share: Number | None = None
    """Share of the measured window in pauses in which no operation ended, each longer than twice the time in
    which as many ended on average as there are connections: the engine stopped as a whole. None if that is
    not known, and in documents of older versions.
    """

    operations: Integer | None = None
    """Operations that were sent, warm-up included; None in documents of older versions."""

    due: Integer | None = None
    """Operations that were due in the measured window; None in documents of older versions."""

    late: Integer | None = None
    """The part of `due` that began late because all connections were in use, or was not sent; the least that
    it may be if not all samples are known, and None in documents of older versions.
    """

    work_per_operation: Number | None = None
    """Mean work of the operations that ended in the measured window, in the task's unit, with the work of
    bulks that failed; None if no work was done in it, and in documents of older versions.
    """

    @property
    def known_work(self) -> float | None:
        """The work of one operation in the measured window, or None if it is not known: in documents of older
        versions, only that of a probe without failures is.
        """
        if self.work_per_operation is not None or self.error_rate != 0.0:
            return self.work_per_operation
        return self.work / self.achieved if self.work and self.achieved else None

    def at(self, q: float) -> CensoredPercentile | None:
        """Returns the latency, with failures, at percentile `q` (0 to 100), or None if it was not computed;
        that of successes for documents of format 1.
        """
        if self.latency_with_failures:
            return find_percentile(self.latency_with_failures, q)
        percentile: Percentile | None = find_percentile(self.latency, q)
        return (
            CensoredPercentile(percentile.q, percentile.ms, percentile.high_ms, percentile.supported)
            if percentile
            else None
        )


class ConcurrencyLevel(Stored, frozen=True):
    """One measurement of the closed loop with a number of clients."""

    number: Integer
    """The number of the measurement, from 1; it is part of the folder's name."""

    clients: Integer
    """Number of clients."""

    work: Number
    """Work per second, in the task's unit."""

    error_rate: Number | None
    """Failed operations, as a fraction from 0 to 1; None if none was measured."""

    left_out: tuple[str, ...] = ()
    """The reasons why the scalability law is not fitted to it, one message each; empty if it is."""


class Estimate(Stored, frozen=True):
    """An estimated value with its 95 % confidence interval."""

    value: Number
    """The estimate."""

    low: Number
    """The lower end of the interval."""

    high: Number
    """The upper end of the interval."""


class UslFit(Stored, frozen=True):
    """Throughput by number of clients according to the Universal Scalability Law; see `stats.usl`."""

    rate_alone: Estimate
    """Lambda of the law: work per second of one client."""

    contention: Estimate
    """Sigma of the law: the share of contention."""

    coherency: Estimate
    """Kappa of the law: the cost of coherency."""

    peak_clients: Estimate | None
    """Clients at the peak, or None if no peak was observed: the 99 % interval of kappa contains 0, or the
    95 % interval of the clients reaches beyond the largest level (`peak_beyond`).
    """

    peak_rate: Estimate | None
    """Work per second at the peak, or None if `peak_clients` is None."""

    residual: Number
    """Root of the mean squared relative deviation of the levels' means."""

    peak_beyond: Integer | None = None
    """The largest number of clients that was measured, if there is a peak that may lie beyond it, so that its
    place is not known; otherwise None.
    """


class SearchedRange(Stored, frozen=True):
    """The rates of a search, in operations per second."""

    start: Number
    """The first rate."""

    lowest: Number
    """The lowest rate that is tried."""

    highest: Number
    """The highest rate that is tried."""


class VaryingLimit(Stored, frozen=True):
    """The interval of the median limit of an engine whose limit varies from probe to probe."""

    low: Number
    """Its lower end, in operations per second."""

    high: Number
    """Its upper end, in operations per second."""


class SaturationResult(Stored, frozen=True, kw_only=True):
    """The result of a search for the highest rate that meets an objective."""

    race_id: str
    """The id of the search."""

    task: str
    """The name of the task."""

    operation: str
    """The name of its operation."""

    unit: str
    """The task's unit of work."""

    work_per_operation: Number
    """Work of one operation in the task's unit, by the last probe that shows it: it may differ from rate to
    rate (`work_at`).
    """

    connections: Integer
    """The maximum number of open connections."""

    objective: Objective
    """Conditions that a rate must meet to pass."""

    precision: Number
    """The relative width at which the search ends, as a fraction."""

    range: SearchedRange | None = None
    """The rates of the search, or None in documents of older versions."""

    arrivals: str = ""
    """When operations are due, as in tracks: `deterministic`, `poisson` or `uniform`; empty in documents of
    older versions.
    """

    window_s: Number
    """Measured time of a probe in seconds."""

    warmup_s: Number
    """Seconds of warm-up before each probe."""

    probes: tuple[Probe, ...] = ()
    """All probes in order."""

    stable: Number | None = None
    """The highest rate at which all probes passed, in operations per second."""

    unstable: Number | None = None
    """The lowest rate at which no probe passed, in operations per second; whether the engine failed there
    is stated by `limited_by`.
    """

    disputed: tuple[Number, ...] = ()
    """Rates between both at which some probes passed and others did not, in operations per second."""

    passed_above: tuple[Number, ...] = ()
    """Rates above `unstable` at which a probe passed nevertheless, in operations per second."""

    varying: VaryingLimit | None = None
    """The interval if probes contradict each other, so that the limit varies; None if they do not, or if
    there is no interval.
    """

    limited_by: LimitedBy = "search"
    """The reason why the result is not higher."""

    levels: tuple[ConcurrencyLevel, ...] = ()
    """Measurements of the closed loop."""

    fit: UslFit | None = None
    """The fitted scalability law, or None if the measurements do not determine it."""

    notes: tuple[str, ...] = ()
    """Notes about the search, one sentence each."""

    complete: bool = False
    """Whether the search ended normally; false while it runs, and if it was stopped early."""

    ended_early: str = ""
    """Why the search ended early; empty if it did not, or if its process was killed."""

    format: Integer = FORMAT_VERSION
    """Version of the document."""

    def work_at(self, rate: float) -> float:
        """Returns the mean work of one operation at a rate, by its probes, or by those of the rate nearest to
        it whose work is known: bulks of other data may have fewer documents, and a probe at another rate ends
        with other data.
        """
        works: dict[float, list[float]] = {}
        for probe in self.probes:
            if probe.known_work is not None:
                works.setdefault(probe.rate, []).append(probe.known_work)
        if not works:
            return self.work_per_operation
        return fmean(works[min(works, key=lambda probed: abs(math.log(probed / rate)))])

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready `saturation.json`."""
        document: dict[str, Any] = encode(self)
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> SaturationResult:
        """Reads what `to_document` wrote. Raises PacenoteError with the invalid field, also for numbers that
        no search has, and for more entries than one has: reports compare them with each other.
        """
        result = decode(cls, document, "saturation")
        for where, problem in _problems(result):
            raise PacenoteError(f"saturation.{where} {problem}")
        return result


def _problems(result: SaturationResult) -> Iterator[tuple[str, str]]:
    """Yields the fields with what no search writes."""
    for name in ("probes", "levels", "disputed", "passed_above"):
        if (count := len(getattr(result, name))) > MAX_ENTRIES:
            yield name, f"has {count:,} entries, and at most {MAX_ENTRIES:,} are read"
    if len(result.objective.latency) > MAX_LIMITS:
        yield "objective.latency", f"has more than {MAX_LIMITS} limits"
    positive = [(f"probes[{at}].rate", probe.rate) for at, probe in enumerate(result.probes)]
    positive += [(f"levels[{at}].clients", level.clients) for at, level in enumerate(result.levels)]
    positive += [
        (f"objective.latency[{at}].ms", limit.ms) for at, limit in enumerate(result.objective.latency)
    ]
    positive += [("disputed", rate) for rate in (*result.disputed, *result.passed_above)]
    positive += [("stable", rate) for rate in (result.stable, result.unstable) if rate is not None]
    if result.varying is not None:
        positive += [("varying.low", result.varying.low), ("varying.high", result.varying.high)]
    other = [(f"levels[{at}].work", level.work) for at, level in enumerate(result.levels)]
    other += [
        (f"probes[{at}].work_per_operation", probe.known_work)
        for at, probe in enumerate(result.probes)
        if probe.known_work is not None
    ]
    if result.fit is not None:
        positive.append(("fit.rate_alone", result.fit.rate_alone.value))
        other += [
            ("fit.contention", result.fit.contention.value),
            ("fit.coherency", result.fit.coherency.value),
        ]
    for where, value in positive:
        if not 1 / MOST <= value <= MOST:
            yield where, f"must be a number from {1 / MOST:g} to {MOST:g}, not {value:g}"
    for where, value in other:
        if not 0 <= value <= MOST:
            yield where, f"must be a number from 0 to {MOST:g}, not {value:g}"


_LIMIT = re.compile(r"p(\d+(?:\.\d+)?)\s*[:<=]+\s*(\d+(?:\.\d+)?)\s*(us|µs|ms|s)?")
_UNITS_MS = {"us": 0.001, "µs": 0.001, "ms": 1.0, "s": 1000.0, None: 1.0}


def parse_latency_limits(text: str) -> tuple[LatencyLimit, ...]:
    """Reads limits such as `p99:100ms,p50:20ms`; a number alone is milliseconds. Raises UsageError."""
    return tuple(_limit(part.strip()) for part in text.split(",") if part.strip())


def _limit(text: str) -> LatencyLimit:
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise UsageError(
            f"'{text}' is not a latency limit",
            hint="write it as p99:100ms; separate several limits with commas",
        )
    q, ms = float(match[1]), float(match[2]) * _UNITS_MS[match[3]]
    known = next((p for p in PERCENTILES if math.isclose(p, q, rel_tol=1e-9)), None)
    if known is None:
        names = ", ".join(f"p{p:g}" for p in PERCENTILES)
        raise UsageError(f"p{q:g} cannot be limited", hint=f"use one of {names}")
    if ms <= 0:
        raise UsageError(f"the limit of p{q:g} must be above 0")
    return LatencyLimit(known, ms)
