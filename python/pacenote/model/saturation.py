"""The highest rate that an engine sustains: the objective, every probe, and the answer as an interval."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pacenote.errors import UsageError
from pacenote.model.codec import decode, encode
from pacenote.model.result import Percentile

FORMAT_VERSION = 1
"""Version of `saturation.json`."""

PERCENTILES = (50.0, 90.0, 99.0, 99.9, 99.99)
"""Percentiles that the driver computes and an objective may limit."""

ProbeOutcome = Literal["passed", "failed", "void"]
"""Of a probe: the engine kept up, it did not, or the driver could not generate the load."""

LimitedBy = Literal["engine", "driver", "range", "search", "nothing"]
"""Why the answer is not higher: the engine, the driver, the highest allowed rate, a search that was ended
early; or no rate passed.
"""


@dataclass(frozen=True, slots=True)
class LatencyLimit:
    """The highest acceptable latency at one percentile."""

    q: float
    """The percentile, from 0 to 100."""

    ms: float
    """The limit in milliseconds."""

    def __str__(self) -> str:
        return f"p{self.q:g} of latency at most {self.ms:g} ms"


@dataclass(frozen=True, slots=True)
class Objective:
    """What a rate must keep to pass, besides being sent and answered."""

    latency: tuple[LatencyLimit, ...]
    """Limits of latency."""

    error_rate: float
    """The highest acceptable error rate, as a share from 0 to 1."""

    def samples_needed(self) -> int:
        """Returns how many samples support every limited percentile.

        With as many, the chance that none of them lies above the true percentile is 2.5 %, as for the
        intervals of percentiles.
        """
        return max(
            (math.ceil(math.log(0.025) / math.log(limit.q / 100)) for limit in self.latency), default=0
        )


@dataclass(frozen=True, slots=True)
class Probe:
    """One try of a rate."""

    number: int
    """Its number from 1, which names its folder."""

    rate: float
    """The target rate in operations per second."""

    achieved: float
    """Operations per second that were done."""

    work: float
    """Work per second that was done, in the task's unit."""

    error_rate: float
    """Failed operations, as a share from 0 to 1."""

    latency: tuple[Percentile, ...]
    """Percentiles of latency."""

    waited: int
    """Operations that began late because all connections were in use."""

    unsent: int
    """Operations that were due and not sent in time."""

    outcome: ProbeOutcome
    """Whether the rate passed."""

    reasons: tuple[str, ...]
    """Why it did not pass, one sentence each."""

    def at(self, q: float) -> Percentile | None:
        """Returns a percentile of its latency, None if it was not computed."""
        return next((found for found in self.latency if math.isclose(found.q, q, rel_tol=1e-9)), None)


@dataclass(frozen=True, slots=True)
class ConcurrencyLevel:
    """One measurement of the closed loop with a number of clients."""

    number: int
    """Its number from 1, which names its folder."""

    clients: int
    """Number of clients."""

    work: float
    """Work per second, in the task's unit."""

    error_rate: float
    """Failed operations, as a share from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated value with its 95 % bootstrap interval."""

    value: float
    """The estimate."""

    low: float
    """The lower end of the interval."""

    high: float
    """The upper end of the interval."""


@dataclass(frozen=True, slots=True)
class UslFit:
    """What the Universal Scalability Law says about throughput by clients; see `stats.usl`."""

    rate_alone: Estimate
    """Lambda: work per second of one client."""

    contention: Estimate
    """Sigma."""

    coherency: Estimate
    """Kappa."""

    peak_clients: Estimate | None
    """Clients at the peak; None unless kappa is clearly above 0, since without that no peak was observed."""

    peak_rate: Estimate | None
    """Work per second at the peak; None as for `peak_clients`."""

    residual: float
    """Root of the mean squared relative deviation of the levels' means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SaturationResult:
    """A search for the highest rate that keeps an objective."""

    race_id: str
    """The id of the search."""

    task: str
    """The name of the task."""

    operation: str
    """The name of its operation."""

    unit: str
    """The task's unit of work."""

    work_per_operation: float
    """Work of one operation: turns operations per second into the task's unit."""

    connections: int
    """The most connections that were open."""

    objective: Objective
    """What a rate must keep to pass."""

    precision: float
    """The relative width at which the search ends, as a share."""

    window_s: float
    """Measured seconds of a probe."""

    warmup_s: float
    """Seconds of warm-up before each probe."""

    probes: tuple[Probe, ...] = ()
    """All probes in order."""

    stable: float | None = None
    """The highest rate of which all probes passed, in operations per second."""

    unstable: float | None = None
    """The lowest rate of which none passed, in operations per second."""

    limited_by: LimitedBy = "search"
    """Why the answer is not higher."""

    levels: tuple[ConcurrencyLevel, ...] = ()
    """Measurements of the closed loop."""

    fit: UslFit | None = None
    """The fitted scalability law, None without enough levels."""

    notes: tuple[str, ...] = ()
    """Sentences about the search."""

    complete: bool = False
    """False while the search runs, and when it was ended early."""

    format: int = FORMAT_VERSION
    """Version of the document."""

    def to_document(self) -> dict[str, Any]:
        """Returns the JSON-ready `saturation.json`."""
        document: dict[str, Any] = encode(self)
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> SaturationResult:
        """Reads what `to_document` wrote; raises PacenoteError naming the bad field."""
        return decode(cls, document, "saturation")


_LIMIT = re.compile(r"p(\d+(?:\.\d+)?)\s*[:<=]+\s*(\d+(?:\.\d+)?)\s*(us|µs|ms|s)?")
_UNITS_MS = {"us": 0.001, "µs": 0.001, "ms": 1.0, "s": 1000.0, None: 1.0}


def parse_latency_limits(text: str) -> tuple[LatencyLimit, ...]:
    """Reads limits such as `p99:100ms,p50:20ms`; a number alone is milliseconds. Raises UsageError."""
    return tuple(_limit(part.strip()) for part in text.split(",") if part.strip())


def _limit(text: str) -> LatencyLimit:
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise UsageError(
            f"'{text}' is not a limit of latency", hint="write it as p99:100ms, several with commas between"
        )
    q, ms = float(match[1]), float(match[2]) * _UNITS_MS[match[3]]
    known = next((one for one in PERCENTILES if math.isclose(one, q, rel_tol=1e-9)), None)
    if known is None:
        names = ", ".join(f"p{one:g}" for one in PERCENTILES)
        raise UsageError(f"p{q:g} cannot be limited", hint=f"one of {names}")
    if ms <= 0:
        raise UsageError(f"the limit of p{q:g} must be above 0")
    return LatencyLimit(known, ms)
