"""How much of the machine a race used, from series of telemetry in the parts of the race."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pacenote.model.race_record import RaceRecord
from pacenote.model.race_timeline import TelemetryLine

HOST, NODES, GAUGES = "host", "node-counters", "node-gauges"
"""Sources of the series."""

CPU_STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
"""States of a CPU, of which the host counts the time."""

_IDLE = ("idle", "iowait")
_DRIVER = "driver"

PartValues = Sequence[float | None]
"""Values of the parts of a race, None where one is not known; empty if there is no such series."""


@dataclass(frozen=True, slots=True)
class CpuUse:
    """Shares of the time of all CPUs of the driver's host, from 0 to 1, in the parts of a race."""

    busy: PartValues
    """What all programs used."""

    engine: PartValues
    """What the nodes used that run on this host and were observed."""

    driver: PartValues
    """What the driver used."""


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


def cpu_use(telemetry: Sequence[TelemetryLine]) -> CpuUse:
    """Returns the use of the CPUs; empty if the host was not sampled."""
    states = {
        state: selected_lines(telemetry, HOST, f"cpu.{state}", lambda labels: not labels)
        for state in CPU_STATES
    }
    found = {state: lines[0].mean for state, lines in states.items() if lines}
    total = added(found.values())
    idle = added([found[state] for state in _IDLE if state in found])
    busy = (
        [
            1 - free / all_ if free is not None and all_ else None
            for free, all_ in zip(idle, total, strict=True)
        ]
        if total and idle
        else []
    )

    def share(is_wanted: Callable[[Mapping[str, str]], bool]) -> PartValues:
        used = added([
            line.mean
            for name in ("process.user", "process.system")
            for line in selected_lines(telemetry, HOST, name, is_wanted)
        ])
        if not (used and total):
            return ()
        return [
            None if one is None or not all_ else one / all_ for one, all_ in zip(used, total, strict=True)
        ]

    return CpuUse(
        busy,
        engine=share(lambda labels: labels.get("process") != _DRIVER),
        driver=share(lambda labels: labels.get("process") == _DRIVER),
    )


def data_devices(record: RaceRecord) -> frozenset[str]:
    """Returns the block devices behind the data of the nodes that the race started."""
    sampler = record.telemetry.get("host-sampler")
    devices = sampler.get("data_devices") if isinstance(sampler, Mapping) else None
    found = devices if isinstance(devices, list | tuple) else ()
    names = (each.get("device") for each in found if isinstance(each, Mapping))
    return frozenset(name for name in names if isinstance(name, str))


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
