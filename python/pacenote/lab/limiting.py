"""Why no probe passed at the upper end of a search: the engine, few connections, or nothing was decided."""

from __future__ import annotations

from pacenote.model.saturation import LimitedBy, Probe, SaturationResult

WAITING_SHARE = 0.1
"""Share of the operations due in the measured window that waited for a connection, or were not sent, from
which on connections were too few.
"""

AS_FAST = 1.2
"""How many times as long as with fewer connections in use replies take at most, on average, if the engine
could have served more at a time.
"""

SILENT_SHARE = 0.01
"""Share of the window in which no operation ends from which on the engine stopped: it is at most 0.3 % by
chance if service times of four connections are exponential (`MIN_SILENT_CONNECTIONS`).
"""

FEWER_SHARE = 0.75
"""How many connections another probe uses at most, on average, as a share of those of a probe that failed. An
engine that is saturated with both serves both at the same rate, so that replies would take 1 / 0.75 times as
long: more than `AS_FAST`.
"""


def limit_at(rate: float, result: SaturationResult) -> LimitedBy:
    """Returns why no probe of a rate passed."""
    probes = [probe for probe in result.probes if probe.rate == rate]
    if failed := [probe for probe in probes if probe.outcome == "failed"]:
        return "connections" if all(_lacked_connections(probe, result) for probe in failed) else "engine"
    return "samples" if any(probe.outcome == "undecided" for probe in probes) else "driver"


def _lacked_connections(probe: Probe, result: SaturationResult) -> bool:
    """Returns whether operations of a probe waited for connections, although the engine was hardly slower
    than with fewer in use. Whatever it reports as failed is not due to them.
    """
    if probe.service_ms is None or probe.late is None or not probe.due:
        return False
    if (probe.error_rate or 0.0) > result.objective.error_rate:
        return False
    if _stopped(probe):
        return False
    if probe.late < WAITING_SHARE * probe.due:
        return False
    most = FEWER_SHARE * _connections_in_use(probe)
    fewer = [
        other.service_ms
        for other in result.probes
        if other.service_ms is not None and other.rate < probe.rate and _connections_in_use(other) <= most
    ]
    return bool(fewer) and probe.service_ms <= AS_FAST * min(fewer)


def _stopped(probe: Probe) -> bool:
    """Returns whether an engine that stops as a whole, so that all connections wait at the same time, would
    have kept the rate without its pauses.
    """
    silent = probe.silent_share or 0.0
    return silent > SILENT_SHARE and probe.achieved >= (1 - silent) * probe.rate


def _connections_in_use(probe: Probe) -> float:
    """Returns the mean number of connections that a probe used (Little's law)."""
    return probe.achieved * (probe.service_ms or 0.0) / 1000.0
