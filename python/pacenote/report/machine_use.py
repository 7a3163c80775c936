"""How much of the machine a race used, from series of telemetry in the parts of the race."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from pacenote.model.cpu_list import recorded_cpus
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_timeline import TelemetryLine
from pacenote.model.reported_cpu import NEGLIGIBLE_SHARE
from pacenote.model.sampler_facts import (
    CHILDREN,
    CPU_STATES,
    FREE_STATES,
    INTERRUPT_STATES,
    SamplerFacts,
    sampler_facts,
)

HOST, NODES, GAUGES = "host", "node-counters", "node-gauges"
"""Sources of the series."""

_DRIVER = "driver"

PartValues = Sequence[float | None]
"""Values of the parts of a race, None where one is not known; empty if there is no such series."""


class CpuUse(Struct, frozen=True):
    """Shares of CPU time of the driver's host, from 0 to 1, in the parts of a race."""

    busy: PartValues
    """What all programs used of the CPUs that the nodes may use, or of all without nodes."""

    engine: PartValues
    """What the nodes used of them that run on this host and were observed, with the processes that they have
    started.
    """

    driver: PartValues
    """What the driver used of the CPUs that it may use."""

    others: PartValues
    """What other programs used of the CPUs that the nodes may use, or at least used (`others_are_bound`)."""

    cpus: frozenset[int] = frozenset()
    """The CPUs that the nodes may use; empty for all."""

    driver_cpus: frozenset[int] = frozenset()
    """The CPUs that the driver may use; empty for all."""

    others_are_bound: bool = False
    """Whether other programs used at least that: the driver may use CPUs of the nodes and others, too, and
    how much of its time was on those of the nodes is not known; or it is not known whether the kernel counts
    interrupts for the programs that they stop. So it is if nodes of further clusters may use other CPUs, too.
    """

    further_engines: PartValues = ()
    """What nodes of further clusters of the race used, as a share of the CPUs that the nodes may use."""


def selected_lines(
    telemetry: Iterable[TelemetryLine],
    source: str,
    name: str,
    is_wanted: Callable[[Mapping[str, str]], bool] = lambda _: True,
) -> list[TelemetryLine]:
    """Returns the series of a source with this name, and with labels that are wanted."""
    return [
        line for line in telemetry if line.source == source and line.name == name and is_wanted(line.labels)
    ]


def cpu_use(telemetry: Sequence[TelemetryLine], record: RaceRecord) -> CpuUse:
    """Returns the use of the CPUs; empty if the host was not sampled."""
    facts = sampler_facts(record.telemetry) or SamplerFacts()
    cpus, drivers = facts.node_cpus, _driver_cpus(facts, record)
    times = _cpu_times(telemetry, cpus)
    total = times.total
    busy = _shares(_differences(total, times.free), total)
    interrupts = [] if facts.exact_interrupts is False else _shares(times.interrupts, total)
    programs = _differences(busy, interrupts) if interrupts else busy
    is_unknown = facts.exact_interrupts is None and _exceed(interrupts, NEGLIGIBLE_SHARE)
    beside_nodes = {_DRIVER, *facts.further_engines}
    engine_ms = _engine_times(telemetry, lambda name: name not in beside_nodes, facts)
    further_ms = _engine_times(telemetry, lambda name: name in facts.further_engines, facts)
    driver_ms = _process_times(telemetry, lambda name: name == _DRIVER)
    engine, driver = _shares(engine_ms, total), _shares(driver_ms, _cpu_times(telemetry, drivers).total)
    is_apart = bool(cpus and drivers) and not cpus & drivers
    is_within = not cpus or bool(drivers and drivers <= cpus)
    further = _shares(further_ms, total)
    parts = [engine] if is_apart else [engine, _shares(driver_ms, total)]
    parts += [further] if facts.further_engines else []
    others = _differences(programs, added(parts)) if busy and all(parts) else []
    are_bound = is_unknown or not (is_apart or is_within) or not _are_within(facts.further_engines, facts)
    return CpuUse(busy, engine, driver, others, cpus, drivers, are_bound, further)


def _are_within(processes: Iterable[str], facts: SamplerFacts) -> bool:
    """Returns whether processes may use no other CPUs than the nodes."""
    allowed = [(facts.process_cpus or {}).get(process, frozenset[int]()) for process in processes]
    return not facts.node_cpus or all(cpus and cpus <= facts.node_cpus for cpus in allowed)


def _exceed(shares: PartValues, limit: float) -> bool:
    """Returns whether the mean of the known shares is above a limit."""
    known = [share for share in shares if share is not None]
    return bool(known) and sum(known) / len(known) > limit


def _driver_cpus(facts: SamplerFacts, record: RaceRecord) -> frozenset[int]:
    """Returns the CPUs that the driver may use; empty for all. Earlier versions recorded only those that were
    selected.
    """
    if facts.process_cpus is None:
        return recorded_cpus(record.options.driver_cpus)
    return facts.process_cpus.get(_DRIVER, frozenset())


class _CpuTimes(Struct, frozen=True):
    """Times of some CPUs; empty if they were not sampled."""

    total: PartValues = ()
    """All of their time."""

    free: PartValues = ()
    """The part of it in which they did nothing for this machine."""

    interrupts: PartValues = ()
    """The part in which they served devices and packets: the time of no program, if the kernel counts it
    exactly.
    """


def _cpu_times(telemetry: Sequence[TelemetryLine], cpus: frozenset[int]) -> _CpuTimes:
    """Returns the times of these CPUs; none means all."""
    wanted: list[Mapping[str, str]] = [{"cpu": str(cpu)} for cpu in cpus] or [{}]
    lines = [
        (state, line.mean)
        for state in CPU_STATES
        for line in selected_lines(telemetry, HOST, f"cpu.{state}", lambda labels: labels in wanted)
    ]
    if sum(state == "idle" for state, _ in lines) < len(wanted):
        return _CpuTimes()
    return _CpuTimes(
        added(mean for _, mean in lines),
        added(mean for state, mean in lines if state in FREE_STATES),
        added(mean for state, mean in lines if state in INTERRUPT_STATES),
    )


def _engine_times(
    telemetry: Sequence[TelemetryLine], is_wanted: Callable[[str | None], bool], facts: SamplerFacts
) -> list[float | None]:
    """Returns the time of nodes and of the processes that they have started; empty if that is not known of
    one of them.
    """
    children = selected_lines(telemetry, HOST, CHILDREN, lambda labels: is_wanted(labels.get("process")))
    unread = facts.unread_children - {line.labels.get("process") for line in children}
    if any(map(is_wanted, unread)):
        return []
    own = _process_times(telemetry, is_wanted)
    return added([own, *(line.mean for line in children)]) if own else []


def _process_times(
    telemetry: Sequence[TelemetryLine], is_wanted: Callable[[str | None], bool]
) -> list[float | None]:
    return added([
        line.mean
        for name in ("process.user", "process.system")
        for line in selected_lines(telemetry, HOST, name, lambda labels: is_wanted(labels.get("process")))
    ])


def _shares(parts: PartValues, total: PartValues) -> list[float | None]:
    """Returns the quotients; empty if one of both was not sampled."""
    if not (parts and total):
        return []
    return [
        None if part is None or not whole else part / whole for part, whole in zip(parts, total, strict=True)
    ]


def _differences(values: PartValues, others: PartValues) -> list[float | None]:
    return [
        None if value is None or other is None else max(value - other, 0.0)
        for value, other in zip(values, others, strict=True)
    ]


def data_devices(record: RaceRecord) -> frozenset[str]:
    """Returns the block devices behind the data of the nodes that the race started."""
    return frozenset((sampler_facts(record.telemetry) or SamplerFacts()).devices)


def added(columns: Iterable[PartValues]) -> list[float | None]:
    """Adds values part by part; None where one of them is not known. Empty without columns."""
    columns = list(columns)
    if not columns:
        return []
    sums: list[float | None] = []
    for values in zip(*columns, strict=True):
        known = [value for value in values if value is not None]
        sums.append(sum(known) if len(known) == len(values) else None)
    return sums
