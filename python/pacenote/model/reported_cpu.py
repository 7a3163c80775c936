"""How busy the host of a node was, as far as the node reports it: of hosts that are not sampled."""

from __future__ import annotations

from dataclasses import dataclass

from pacenote.model.telemetry_series import TaskSeries, ratio

NODES = "process.cpu.total"
"""The counter with the CPU time of a node, which every node reports."""


@dataclass(frozen=True, slots=True)
class ReportedCpu:
    """Shares of the time of the processors that an engine sees; None for what it does not report. In a
    container, new versions of Java see only the load of the container.
    """

    engine_share: float | None = None
    """Time in the process of the engine."""

    idle_share: float | None = None
    """Idle time."""

    other_share: float | None = None
    """Time in other processes."""


def reported_cpu(series: TaskSeries, node: str, cores: float | None) -> ReportedCpu:
    """Returns how busy the host of a node with this number of processors was."""
    load = series.gauge("os.cpu.percent", node=node)
    engine = ratio(series.share(NODES, node=node), cores)
    # A load that the engine does not know is negative.
    if load is None or load.min < 0:
        return ReportedCpu(engine)
    used = load.mean / 100
    other = None if engine is None else max(0.0, used - engine)
    return ReportedCpu(engine, max(0.0, 1 - used), other)
