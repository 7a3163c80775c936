"""The highest rate an engine keeps up with: what was asked, every probe, and the answer as an interval."""

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
"""Of a probe: the engine kept up; it did not; or the driver could not put the load on it."""

LimitedBy = Literal["engine", "driver", "range", "search", "nothing"]
"""Why the answer is not higher: the engine, the driver, the highest rate allowed, a search that was ended
early; or no rate passed.
"""


@dataclass(frozen=True, slots=True)
class LatencyLimit:
    """Percentile `q` (0 to 100) of latency may be at most `ms`."""

    q: float
    ms: float

    def __str__(self) -> str:
        return f"p{self.q:g} of latency at most {self.ms:g} ms"


@dataclass(frozen=True, slots=True)
class Objective:
    """What a rate must keep to pass, beside that it is really sent and answered. `error_rate` is a share."""

    latency: tuple[LatencyLimit, ...]
    error_rate: float

    def samples_needed(self) -> int:
        """How many samples carry every percentile that is limited: so many that the chance of none of them
        lying above the true percentile is 2.5 %, as for the intervals of percentiles.
        """
        return max(
            (math.ceil(math.log(0.025) / math.log(limit.q / 100)) for limit in self.latency), default=0
        )


@dataclass(frozen=True, slots=True)
class Probe:
    """One try: `rate` operations per second were asked for, `achieved` were done. `work` is done work per
    second in the task's unit, `waited` operations began late because all connections were in use. `number`
    names its folder.
    """

    number: int
    rate: float
    achieved: float
    work: float
    error_rate: float
    latency: tuple[Percentile, ...]
    waited: int
    unsent: int
    outcome: ProbeOutcome
    reasons: tuple[str, ...]

    def at(self, q: float) -> Percentile | None:
        """A percentile of its latency."""
        return next((one for one in self.latency if math.isclose(one.q, q, rel_tol=1e-9)), None)


@dataclass(frozen=True, slots=True)
class ConcurrencyLevel:
    """One measurement of the closed loop: work per second with so many clients."""

    number: int
    clients: int
    work: float
    error_rate: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class UslFit:
    """What the Universal Scalability Law says of throughput by clients; see `stats.usl`.

    `rate_alone` (lambda) is work per second of one client, `contention` sigma, `coherency` kappa.
    `peak_clients` and `peak_rate` are None unless kappa is surely above 0: without that no peak was seen, and
    where it lies is a guess. `residual` is the root of the mean squared relative deviation of the levels'
    means.
    """

    rate_alone: Estimate
    contention: Estimate
    coherency: Estimate
    peak_clients: Estimate | None
    peak_rate: Estimate | None
    residual: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SaturationResult:
    """A search for the highest rate: between `stable`, all of whose probes passed, and `unstable`, none of
    whose did, in operations per second; `work_per_operation` turns them into the task's unit.

    `connections` is the most that were open. `complete` is false while it runs, and when it was ended early.
    """

    race_id: str
    task: str
    operation: str
    unit: str
    work_per_operation: float
    connections: int
    objective: Objective
    precision: float
    window_s: float
    warmup_s: float
    probes: tuple[Probe, ...] = ()
    stable: float | None = None
    unstable: float | None = None
    limited_by: LimitedBy = "search"
    levels: tuple[ConcurrencyLevel, ...] = ()
    fit: UslFit | None = None
    notes: tuple[str, ...] = ()
    complete: bool = False
    format: int = FORMAT_VERSION

    def to_document(self) -> dict[str, Any]:
        """`saturation.json`."""
        document: dict[str, Any] = encode(self)
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, object]) -> SaturationResult:
        """Reads what `to_document` wrote; raises PacenoteError naming the bad field."""
        return decode(cls, document, "saturation")


_LIMIT = re.compile(r"p(\d+(?:\.\d+)?)\s*[:<=]+\s*(\d+(?:\.\d+)?)\s*(us|µs|ms|s)?")
_UNITS_MS = {"us": 0.001, "µs": 0.001, "ms": 1.0, "s": 1000.0, None: 1.0}


def parse_latency_limits(text: str) -> tuple[LatencyLimit, ...]:
    """Limits of latency: `p99:100ms,p50:20ms`; a number alone is milliseconds. Raises UsageError."""
    return tuple(_limit(part.strip()) for part in text.split(",") if part.strip())


def _limit(text: str) -> LatencyLimit:
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise UsageError(
            f"'{text}' is no limit of a latency", hint="write it as p99:100ms, several with commas between"
        )
    q, ms = float(match[1]), float(match[2]) * _UNITS_MS[match[3]]
    known = next((one for one in PERCENTILES if math.isclose(one, q, rel_tol=1e-9)), None)
    if known is None:
        names = ", ".join(f"p{one:g}" for one in PERCENTILES)
        raise UsageError(f"p{q:g} cannot be limited", hint=f"one of {names}")
    if ms <= 0:
        raise UsageError(f"the limit of p{q:g} must be above 0")
    return LatencyLimit(known, ms)
