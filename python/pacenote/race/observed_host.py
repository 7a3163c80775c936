"""What is sampled of this host during a race: its processes, and the devices behind the data of its nodes."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.host.data_devices import (
    DataDevice,
    data_devices,
    link_speeds,
    partitions,
    physical_interfaces,
)
from pacenote.host.interrupt_times import counts_interrupts_exactly
from pacenote.model.codec import encode
from pacenote.provision.cpu_affinity import cpus_of_process, online_cpus, usable_cpus
from pacenote.provision.node import Node
from pacenote.race.local_engines import NO_ENGINES, LocalEngine, LocalEngines

DRIVER = "driver"
"""Name of the process of the driver, which is this one."""

_LOCAL_KINDS = ("tmpfs", "overlay", "btrfs", "zfs")
"""File systems without a block device of their own that are not remote."""


class ObservedHost(Struct, frozen=True):
    """What is sampled of this host."""

    processes: tuple[tuple[str, int], ...]
    """Name and id of the processes of nodes, of those of further clusters, and of the driver."""

    nodes: tuple[str, ...]
    """Names of the nodes that run on this host; empty if the engine is elsewhere."""

    devices: tuple[DataDevice, ...]
    """The devices behind the data paths of these nodes."""

    link_bytes_per_s: Mapping[str, float]
    """Speed of the physical network interfaces that report one, in bytes per second in each direction."""

    cpus: tuple[int, ...] = ()
    """CPUs of the sampler: those that neither the driver nor a node uses alone; empty for any."""

    data_paths: tuple[tuple[str, str], ...] = ()
    """Node and path of the data paths whose space is sampled: those that are not on a remote file system."""

    missing_nodes: Mapping[str, str] = field(default_factory=dict)
    """Why other nodes are not sampled, by their name; `*` stands for all."""

    further_engines: tuple[str, ...] = ()
    """Names of the processes of nodes of further clusters on this host."""

    process_cpus: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """CPUs that each of these processes may use, by its name, of those that may not use all."""

    exact_interrupts: bool | None = None
    """Whether the kernel counts the time of interrupts apart from that of the programs that they stop; None
    if that is not known.
    """

    interfaces: tuple[str, ...] = ()
    """The physical network interfaces; empty if only virtual ones are visible, as in a container."""

    partitions: Mapping[str, str] = field(default_factory=dict)
    """The disk of each partition, by their names."""

    def node_cpus(self) -> tuple[int, ...]:
        """Returns the CPUs that at least one of the nodes may use; empty for all."""
        sets = [self.process_cpus.get(node, ()) for node in self.nodes]
        return tuple(sorted({cpu for cpus in sets for cpu in cpus})) if all(sets) else ()

    def to_document(self) -> dict[str, Any]:
        """Returns what the race record contains, as JSON."""
        return {
            "nodes": list(self.nodes),
            "missing_nodes": dict(self.missing_nodes),
            "further_engines": list(self.further_engines),
            "cpus": list(self.cpus),
            "node_cpus": list(self.node_cpus()),
            "process_cpus": {name: list(cpus) for name, cpus in self.process_cpus.items()},
            "data_devices": [encode(device) for device in self.devices],
            "link_bytes_per_s": dict(self.link_bytes_per_s),
            "exact_interrupts": self.exact_interrupts,
            "interfaces": list(self.interfaces),
            "partitions": dict(self.partitions),
        }


def observed_host(
    nodes: Sequence[Node], driver_cpus: Sequence[int], others: LocalEngines = NO_ENGINES
) -> ObservedHost:
    """Returns what is sampled of this host, on which these nodes were started and others were found."""
    others = replace(others, engines=tuple(_with_own_names(others.engines)))
    paths = {node.spec.name: tuple(map(Path, node.data_paths)) for node in nodes}
    paths |= {engine.name: engine.data_paths for engine in others.engines if engine.shares_files}
    devices = data_devices(paths)
    inside = (engine for engine in others.engines if not engine.shares_files)
    of_containers = (
        device
        for engine in inside
        for device in data_devices({engine.name: engine.data_paths}, pid=engine.process.pid)
    )
    processes = [(node.spec.name, node.pid) for node in nodes]
    processes += [(engine.name, engine.process.pid) for engine in others.engines]
    further = _further_processes(others.further, processes)
    return ObservedHost(
        processes=(*processes, *further, (DRIVER, os.getpid())),
        nodes=tuple(name for name, _ in processes),
        devices=(*devices, *of_containers),
        link_bytes_per_s=link_speeds(),
        cpus=sampler_cpus(driver_cpus, [node.spec.cpus for node in nodes], usable_cpus()),
        data_paths=tuple((device.node, device.path) for device in devices if _is_local(device)),
        missing_nodes={**others.missing, **others.missing_further},
        further_engines=tuple(name for name, _ in further),
        process_cpus=_process_cpus([*processes, *further], driver_cpus),
        exact_interrupts=counts_interrupts_exactly(),
        interfaces=physical_interfaces(),
        partitions=partitions(),
    )


def _with_own_names(engines: Sequence[LocalEngine]) -> Iterator[LocalEngine]:
    """Yields nodes of which none has the name of the driver's process: their clusters choose the names."""
    taken = {DRIVER, *(engine.name for engine in engines)}
    for engine in engines:
        yield replace(engine, name=_free_name(DRIVER, taken)) if engine.name == DRIVER else engine


def _free_name(name: str, taken: Container[str]) -> str:
    """Returns the name, with a number if it is taken."""
    numbered = (f"{name} ({number})" for number in count(2))
    return next(each for each in chain((name,), numbered) if each not in taken)


def _further_processes(
    engines: Iterable[LocalEngine], nodes: Iterable[tuple[str, int]]
) -> list[tuple[str, int]]:
    """Returns the name and id of processes that are not those of `nodes`: two clusters of a race may be the
    same one, or have nodes with equal names.
    """
    names, ids = ({DRIVER}, set[int]())
    for name, pid in nodes:
        names.add(name)
        ids.add(pid)
    processes = []
    for engine in engines:
        pid = engine.process.pid
        if pid in ids:
            continue
        name = _free_name(engine.name, names)
        names.add(name)
        ids.add(pid)
        processes.append((name, pid))
    return processes


def _is_local(device: DataDevice) -> bool:
    return device.device is not None or device.file_system in _LOCAL_KINDS


def _process_cpus(nodes: Iterable[tuple[str, int]], driver_cpus: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Returns the CPUs that nodes, by name and id of their processes, and the driver may use, if not all: as
    they were selected or inherited, and as the control group allows. The driver is bound later.
    """
    by_process = {name: cpus_of_process(pid) for name, pid in nodes}
    by_process[DRIVER] = frozenset(driver_cpus) or usable_cpus()
    online = online_cpus()
    return {name: tuple(sorted(cpus)) for name, cpus in by_process.items() if cpus and not cpus >= online}


def sampler_cpus(
    driver: Sequence[int], nodes: Sequence[Sequence[int]], usable: frozenset[int]
) -> tuple[int, ...]:
    """Returns the CPUs of the sampler: those without selected CPUs of the driver and the nodes, or else
    without those of the driver; empty if that leaves none or if no CPUs were selected.
    """
    of_nodes = {cpu for cpus in nodes for cpu in cpus}
    if not driver and not of_nodes:
        return ()
    rest = usable - set(driver)
    return tuple(sorted(rest - of_nodes or rest))
