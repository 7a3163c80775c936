"""How busy the host of a node was, as far as the node reports it: of hosts that are not sampled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pacenote.model.telemetry_series import TaskSeries, ratio, total

NODES = "process.cpu.total"
"""The counter with the CPU time of a node, which every node reports."""

NO_IDLE_SHARE = 0.1
"""Share of idle time below which the processors count as fully used."""


MOST_ON_HOST = 100
"""Nodes of a host from which on what processes of no node had is not computed: for each node, all others are
looked at.
"""

_TOO_MANY = ("",)
"""The nodes beside one of too many: none has this name, so that their time is not known."""


def lacked_share(engine: float, taken: float) -> float | None:
    """Returns how much of the processor time that an engine could use was taken from it: it had the share
    `engine` of the time, and others had the share `taken` while it waited.
    """
    return taken / (engine + taken) if engine + taken > 0 else None


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
    """Time in processes of no node."""

    @property
    def lacked_share(self) -> float | None:
        """What processes of no node had, as a share of the processor time that the engine could have used:
        only without idle time, since the engine does not report whether its threads waited.
        """
        if self.engine_share is None or self.other_share is None or self.idle_share is None:
            return None
        taken = self.other_share if self.idle_share < NO_IDLE_SHARE else 0.0
        return lacked_share(self.engine_share, taken)


def nodes_beside(nodes: Iterable[Mapping[str, object]]) -> dict[str, tuple[str, ...]]:
    """Returns the other nodes on the host of each node, by its name; `nodes` are those of a race record."""
    by_host: dict[object, list[str]] = {}
    for node in nodes:
        if host := node.get("host"):
            by_host.setdefault(host, []).append(str(node.get("name")))
    return {
        name: tuple(other for other in names if other != name) if len(names) <= MOST_ON_HOST else _TOO_MANY
        for names in by_host.values()
        for name in names
    }


def reported_cpu(
    series: TaskSeries, node: str, cores: float | None, beside: Iterable[str] = ()
) -> ReportedCpu:
    """Returns how busy the host of a node with this number of processors was; the nodes `beside` run on the
    same host.
    """
    load = series.gauge("os.cpu.percent", node=node)
    engine, *others = (ratio(series.share(NODES, node=each), cores) for each in (node, *beside))
    # A load that the engine does not know is negative.
    if load is None or load.min < 0:
        return ReportedCpu(engine)
    used, nodes = load.mean / 100, total((engine, *others))
    other = None if nodes is None or engine is None or None in others else max(0.0, used - nodes)
    return ReportedCpu(engine, max(0.0, 1 - used), other)
