"""What the host sampler of a race has recorded about the machine, read from the telemetry of its record.

Telemetry is stored as any JSON, and a record may come from someone else: parts of another form are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import Struct, field

from pacenote.errors import PacenoteError
from pacenote.model.codec import decode

_KEY = "host-sampler"
"""The key of the sampler in the telemetry of a record."""

_GROUP = ": control group"
"""The end of the key of a control group that is not read, after the name of its process."""

_SAME = "it is that of "
"""The beginning of the reason why a group is not read again, before the name of the process that has it."""

CPU_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""States of a CPU, of which the host counts the time."""

FREE_STATES = ("idle", "iowait", "steal")
"""States in which no program of this machine runs: in the last one, the hypervisor runs other guests."""

INTERRUPT_STATES = ("irq", "softirq")
"""States in which the kernel serves devices and packets. If it counts them exactly
(`CONFIG_IRQ_TIME_ACCOUNTING`), they are of no process; otherwise, they are also time of the processes that
they stop.
"""

CHILDREN = "process.children_cpu"
"""The counter with the time of the processes that a node has started, and that these have started."""

_UNREAD_CHILDREN = ": child processes"
"""The end of the key of the processes that a node has started, if they are not read, after its name."""

_UNCOUNTED_WAITS = ": schedstat"
"""The end of the key of the waits of threads of a process, if the kernel does not count them, after its name.
"""

_T = TypeVar("_T")


class SamplerFacts(Struct, frozen=True):
    """The facts of the sampler."""

    nodes: tuple[str, ...] = ()
    """Names of the nodes on its host."""

    further_engines: tuple[str, ...] = ()
    """Names of the processes of nodes of further clusters on its host."""

    node_cpus: frozenset[int] = frozenset()
    """The CPUs that at least one of the nodes may use; empty for all."""

    process_cpus: Mapping[str, frozenset[int]] | None = None
    """The CPUs of nodes and driver that may not use all, by their names; None if they were not recorded."""

    link_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    """Speeds of network interfaces, in bytes per second."""

    devices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The devices behind the data paths of the nodes, each with the disks that it consists of."""

    group_readers: Mapping[str, str] = field(default_factory=dict)
    """The process under whose name the control group of another process is sampled, by that of the other."""

    unread_children: frozenset[str] = frozenset()
    """The nodes of which not all processes were read that they have started."""

    uncounted_waits: frozenset[str] = frozenset()
    """The processes for whose threads the kernel does not count how long they wait for a CPU."""

    exact_interrupts: bool | None = None
    """Whether the kernel counts the time of interrupts apart from that of the programs that they stop; None
    if that is not known, as in races of earlier versions.
    """

    interfaces: tuple[str, ...] = ()
    """The physical network interfaces; empty if they were not recorded, or are not visible."""

    partitions: Mapping[str, str] | None = None
    """The disk of each partition, by their names; None if they were not recorded."""


def sampler_facts(telemetry: Mapping[str, object]) -> SamplerFacts | None:
    """Returns the facts in the telemetry of a record, or None if the host was not sampled."""
    sampler = telemetry.get(_KEY)
    if not isinstance(sampler, Mapping):
        return None
    listed: list[object] = _part(list[object], sampler.get("data_devices"), [])
    not_available: dict[str, str] = _part(dict[str, str], sampler.get("not_available"), {})
    return SamplerFacts(
        nodes=_part(tuple[str, ...], sampler.get("nodes"), ()),
        further_engines=_part(tuple[str, ...], sampler.get("further_engines"), ()),
        node_cpus=frozenset(_part(tuple[int, ...], sampler.get("node_cpus"), ())),
        process_cpus=_process_cpus(sampler.get("process_cpus")),
        link_bytes_per_s=_part(dict[str, float], sampler.get("link_bytes_per_s"), {}),
        devices={
            device: _part(tuple[str, ...], entry.get("disks"), ())
            for entry in listed
            if isinstance(entry, Mapping) and isinstance(device := entry.get("device"), str) and device
        },
        group_readers=_group_readers(not_available),
        unread_children=frozenset(
            name.removesuffix(_UNREAD_CHILDREN) for name in not_available if name.endswith(_UNREAD_CHILDREN)
        ),
        uncounted_waits=frozenset(
            name.removesuffix(_UNCOUNTED_WAITS) for name in not_available if name.endswith(_UNCOUNTED_WAITS)
        ),
        exact_interrupts=_part(bool, sampler.get("exact_interrupts"), None),
        interfaces=_part(tuple[str, ...], sampler.get("interfaces"), ()),
        partitions=_part(dict[str, str], sampler.get("partitions"), None),
    )


def _group_readers(not_available: Mapping[str, str]) -> dict[str, str]:
    """Returns the processes whose control group is that of another one, which the sampler reads once."""
    return {
        name.removesuffix(_GROUP): reason.removeprefix(_SAME)
        for name, reason in not_available.items()
        if name.endswith(_GROUP) and reason.startswith(_SAME)
    }


def _process_cpus(value: object) -> Mapping[str, frozenset[int]] | None:
    cpus: Mapping[str, tuple[int, ...]] | None = _part(dict[str, tuple[int, ...]], value, None)
    return None if cpus is None else {name: frozenset(numbers) for name, numbers in cpus.items()}


def _part(kind: Any, value: object, default: _T) -> _T:
    """Returns a value of this type, or a default for one of another type, and for None."""
    if value is None:
        return default
    try:
        part: _T = decode(kind, value, _KEY)
    except PacenoteError:
        return default
    return part
