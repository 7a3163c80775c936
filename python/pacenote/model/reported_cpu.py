"""How busy the host of a node was, as far as the node reports it: of hosts that are not sampled."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from ipaddress import ip_address

from msgspec import Struct

from pacenote.model.same_machine import (
    NODES,
    largest_sum,
    machine_attributes,
    machine_facts,
    reported_machine,
)
from pacenote.model.telemetry_cuts import TelemetryCuts
from pacenote.model.telemetry_series import TaskSeries, ratio, total

NO_IDLE_SHARE = 0.1
"""Share of idle time below which the processors count as fully used."""

SOME_IDLE_SHARE = 0.2
"""Share of idle time up to which the threads of an engine may wait for all that others have."""

MUCH_IDLE_SHARE = 0.4
"""Share of idle time from which on they are taken to wait for nothing of it."""

LITTLE_LACKED_SHARE = 0.05
"""What an engine may have lacked at most of the processor time that it could have used, so that it does not
matter whether it did.
"""

NEGLIGIBLE_SHARE = 0.02
"""Share of the time of processors up to which it does not matter whether a process ran on others instead."""

_SAMPLER = "host"
"""Source of the series of the host sampler."""

_OTHER_PROCESSORS_SHARE = 0.05
"""By how much more nodes must have used than all programs together, so that the load is that of other
processors: those of the whole host, of which a node that is bound to some may not use all.
"""

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


def contended_part(idle: float, processors: float = math.inf) -> float:
    """Returns for which part of what others had the threads of an engine may have waited while this share of
    the time of so many processors was idle: a thread that waits is moved to an idle processor, if there are
    several. The part falls evenly, so that a little more idle time does not change what was the cause.
    """
    if processors <= 1:
        return 1.0
    part = (MUCH_IDLE_SHARE - idle) / (MUCH_IDLE_SHARE - SOME_IDLE_SHARE)
    return min(max(part, 0.0), 1.0)


def is_bound_without_waits(idle: float, lacked: float | None) -> bool:
    """Returns whether it is known what an engine lacked at most, although not whether its threads waited:
    `lacked` if it waited whenever another program ran. It may have done so without idle time. With some idle
    time, `lacked` says nothing about what it lacked, except if that is little even then.
    """
    return idle < NO_IDLE_SHARE or (lacked is not None and lacked <= LITTLE_LACKED_SHARE)


class ReportedCpu(Struct, frozen=True):
    """Shares of the time of the processors that an engine sees; None for what it does not report. In a
    container, new versions of Java see only the load of the container.
    """

    engine_share: float | None = None
    """Time in the process of the engine."""

    idle_share: float | None = None
    """Idle time."""

    other_share: float | None = None
    """Time in processes of no node; None, too, if the driver, or a node with another address, may have had a
    part of it.
    """

    other_least_share: float | None = None
    """What that is at least without the driver and other nodes, if these may have had a part of it."""

    is_with_others: bool = False
    """Whether it is unknown because nodes with other addresses may run on the host."""

    is_of_other_processors: bool = False
    """Whether the load that the node reports is that of other processors than its own."""

    @property
    def lacked_share(self) -> float | None:
        """What processes of no node had while hardly any processor was idle, as a share of the processor time
        that the engine could have used, if it may have lacked it: it does not report whether its threads
        waited.
        """
        lacked = self._taken()
        return (
            lacked
            if self.idle_share is not None and is_bound_without_waits(self.idle_share, lacked)
            else None
        )

    @property
    def lacked_possible_share(self) -> float | None:
        """The same if it is not known whether the engine lacked any of it."""
        return self._taken() if self.lacked_share is None else None

    @property
    def lacked_least_share(self) -> float | None:
        """What processes of no node had at least without the driver and other nodes, if these may have had a
        part of it: nothing that is certain if time was idle.
        """
        least = self._had_by(self.other_least_share)
        return least if least is None or (self.idle_share or 0.0) < NO_IDLE_SHARE else 0.0

    @property
    def used_share(self) -> float | None:
        """What the nodes of the host had of the time of the processors, or the node alone if it is not known
        what processes of no node had.
        """
        if self.engine_share is None:
            return None
        nodes = self.engine_share
        if self.idle_share is not None and self.other_share is not None:
            nodes = max(nodes, 1.0 - self.idle_share - self.other_share)
        return min(nodes, 1.0)

    def _taken(self) -> float | None:
        if self.other_share is None or self.idle_share is None:
            return None
        return self._had_by(self.other_share * contended_part(self.idle_share))

    def _had_by(self, others: float | None) -> float | None:
        if self.engine_share is None or others is None or self.idle_share is None:
            return None
        return lacked_share(self.engine_share, others)


class LocalDriver(Struct, frozen=True):
    """The driver, as the sampler of its host saw it while a task ran."""

    busy_cores: float
    """Processors that it kept busy, on average."""

    host_cores: float | None = None
    """Processors of its host; None if that is not known."""

    def most_share(self, cores: float | None, is_on_host: bool | None) -> float:
        """Returns which share of the time of this number of processors it may have had. `is_on_host` is
        whether they are those of its host, of which an engine in another container reports a part; if that is
        not known, they may be, unless its host has fewer.
        """
        is_larger = cores is not None and self.host_cores is not None and cores > self.host_cores
        if not cores or is_on_host is False or (is_on_host is None and is_larger):
            return 0.0
        return self.busy_cores / cores


class NodePlace(Struct, frozen=True):
    """Where a node runs."""

    beside: tuple[str, ...] = ()
    """The other nodes on its host."""

    is_with_driver: bool | None = None
    """Whether its host is that of the driver; None if that is not known."""

    alike: tuple[str, ...] = ()
    """Nodes with other addresses that may run on it all the same, since containers have addresses of their
    own: on as many processors with the same kernel.
    """


_ANYWHERE = NodePlace()


def local_driver(cuts: TelemetryCuts, task: str, duration_s: float) -> LocalDriver | None:
    """Returns the driver during a task, or None if its host was not sampled."""
    series = TaskSeries(cuts.of_source(_SAMPLER, task), duration_s)
    times = [series.share(f"process.{kind}", process="driver") for kind in ("user", "system")]
    busy = total(times)
    return None if busy is None else LocalDriver(busy, series.mean("cpu.count"))


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


def node_places(
    nodes: Iterable[Mapping[str, object]], facts: Mapping[str, str], sampled: Collection[str]
) -> dict[str, NodePlace]:
    """Returns where nodes run, by their names. `nodes` are those of a race record, `facts` its configuration,
    and `sampled` the nodes that ran on the host of the driver.

    A host with another release of the kernel is another one: containers have that of their host. The host of
    the driver has its nodes, and those with a loopback address or with that of a node that was sampled.
    """
    known = tuple(nodes)
    beside, release = nodes_beside(known), facts.get("kernel.release")
    machines = _machines(known, facts)
    hosts = {node.get("host") for node in known if node.get("name") in sampled} - {None, ""}
    places = {}
    for node in known:
        name, host = str(node.get("name")), node.get("host")
        of_node = facts.get(f"node.{name}.os.version")
        is_here: bool | None = name in sampled or host in hosts or _is_loopback(host) or None
        if release and of_node and release != of_node:
            is_here = False
        same = beside.get(name, ())
        alike = tuple(other for other in machines[name] if other not in (name, *same))
        places[name] = NodePlace(same, is_here, alike)
    return places


def _machines(nodes: Iterable[Mapping[str, object]], facts: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Returns the names of the nodes whose machines are alike, by the name of each node; none of too many,
    which are hardly all containers of one.
    """
    by_facts: dict[tuple[object, ...], list[str]] = {}
    attributes = machine_attributes(facts)
    for node in nodes:
        name = str(node.get("name"))
        by_facts.setdefault(machine_facts(name, facts, attributes), []).append(name)
    return {
        name: tuple(names) if len(names) <= MOST_ON_HOST else ()
        for names in by_facts.values()
        for name in names
    }


def _is_loopback(host: object) -> bool:
    try:
        return host == "localhost" or ip_address(str(host).strip("[]")).is_loopback
    except ValueError:
        return False


def reported_cpu(
    series: TaskSeries,
    node: str,
    cores: float | None,
    place: NodePlace = _ANYWHERE,
    driver: LocalDriver | None = None,
) -> ReportedCpu:
    """Returns how busy the host of a node with this number of processors was; the driver may run there,
    too, and so may nodes with other addresses.
    """
    load = series.gauge("os.cpu.percent", node=node)
    engine, *others = (ratio(series.share(NODES, node=of_node), cores) for of_node in (node, *place.beside))
    # A load that the engine does not know is negative.
    if load is None or load.min < 0:
        return ReportedCpu(engine)
    used, nodes = load.mean / 100, total((engine, *others))
    if nodes is not None and nodes > used + _OTHER_PROCESSORS_SHARE:
        return ReportedCpu(engine, is_of_other_processors=True)
    idle = max(0.0, 1 - used)
    if nodes is None or engine is None or None in others:
        return ReportedCpu(engine, idle)
    other = max(0.0, used - nodes)
    of_driver = driver.most_share(cores, place.is_with_driver) if driver is not None else 0.0
    left = used + _OTHER_PROCESSORS_SHARE - nodes
    of_nodes = largest_sum(_shares_alike(series, node, cores, place), left)
    least = max(0.0, other - (of_driver if of_driver > NEGLIGIBLE_SHARE else 0.0) - of_nodes)
    if least < other:
        return ReportedCpu(engine, idle, other_least_share=least, is_with_others=of_nodes > 0)
    return ReportedCpu(engine, idle, other)


def _shares_alike(series: TaskSeries, node: str, cores: float | None, place: NodePlace) -> Iterator[float]:
    """Yields what each of the nodes with other addresses had that may run on the host of a node: those that
    report the same of it.
    """
    own = series.of_node(reported_machine, node)
    for name in place.alike:
        other = series.of_node(reported_machine, name)
        share = ratio(other.busy_cores, cores)
        if share is not None and own.may_be(other):
            yield share
