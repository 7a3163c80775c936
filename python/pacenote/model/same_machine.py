"""Which nodes with addresses of their own may run on one machine, as containers do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from pacenote.model.telemetry_series import TaskSeries

NODES = "process.cpu.total"
"""The counter with the CPU time of a node, which every node reports."""

_ATTRIBUTES = "setting.node.attr."
_FACTS = ("os.name", "os.arch", "os.version", "os.available_processors")

_DEVICES = "fs.io_stats.devices"

_SAME_LOAD = 2.0
"""How far apart the mean loads may be that two nodes report of one machine, in percent: whole ones, read one
after the other.
"""

_SAME_RUNNABLE, _RUNNABLE_ROUNDING = 0.05, 0.05
"""How far apart the mean load averages may be: a part of the larger one, which the kernel changes every five
seconds, so that one node may report it before and the other after the change; and what rounding may add.
"""

_SAME_COUNTER, _READ_APART_S = 0.02, 2.0
"""How far apart the counters of one device may be: a part of the larger one, and what is counted in the time
by which two nodes may read it apart, at the begin and the end of a task.
"""

_COUNTERS = {"operations": 1.0, "write_kilobytes": 64.0}
"""The counters of devices that are compared, each with a difference per second that says nothing."""

_UNITS_OF_SHARE = 100_000
"""Parts of a share that are told apart in sums."""


def machine_facts(node: str, facts: Mapping[str, str], attributes: Mapping[str, str]) -> tuple[object, ...]:
    """Returns what the configuration of a race says about the machine of a node; nodes for which this is not
    the same are on several machines. `attributes` are the facts that are attributes of nodes.
    """
    return (*(facts.get(f"node.{node}.{name}") for name in _FACTS), *_attributes(node, attributes))


def machine_attributes(facts: Mapping[str, str]) -> dict[str, str]:
    """Returns those of the facts of a race that are attributes of nodes, of which there are few."""
    return {name: value for name, value in facts.items() if f".{_ATTRIBUTES}" in name}


class ReportedMachine(Struct, frozen=True):
    """What a node reports of its machine during a task; None for what it does not report."""

    busy_cores: float | None
    """Processors that the node kept busy, on average."""

    load_percent: float | None
    """Mean load of the processors."""

    memory_bytes: float | None
    """Total memory."""

    runnable: float | None
    """Mean load average."""

    counters: Mapping[str, Mapping[str, float]]
    """What the devices of its data folders counted per second, by their names and by that of the counter."""

    duration_s: float
    """Duration of the task."""

    def may_be(self, other: ReportedMachine) -> bool:
        """Returns whether both are the same, as far as both nodes report it."""
        return not any(self._differences(other))

    def _differences(self, other: ReportedMachine) -> Iterator[bool]:
        """Yields whether something differs by more than if both nodes had read it on one machine."""
        loads = (self.load_percent, other.load_percent)
        yield None in loads or _is_apart(loads, 0.0, _SAME_LOAD)
        yield _is_apart((self.memory_bytes, other.memory_bytes), 0.0, 0.0)
        yield _is_apart((self.runnable, other.runnable), _SAME_RUNNABLE, _RUNNABLE_ROUNDING)
        yield bool(self.counters and other.counters) and self.counters.keys() != other.counters.keys()
        part = _SAME_COUNTER + _READ_APART_S / max(self.duration_s, _READ_APART_S)
        for device in self.counters.keys() & other.counters.keys():
            own, others = self.counters[device], other.counters[device]
            for name in own.keys() & others.keys():
                yield _is_apart((own[name], others[name]), part, _COUNTERS[name])


def reported_machine(series: TaskSeries, node: str) -> ReportedMachine:
    """Returns what a node reports of its machine."""
    devices = series.values_of(f"{_DEVICES}.operations", "device", node=node)
    return ReportedMachine(
        busy_cores=series.share(NODES, node=node),
        load_percent=series.mean("os.cpu.percent", node=node),
        memory_bytes=series.largest("os.mem.total", node=node),
        runnable=series.mean("os.cpu.load_average.1m", node=node),
        counters={device: _counters(series, node, device) for device in devices},
        duration_s=series.duration_s,
    )


def _counters(series: TaskSeries, node: str, device: str) -> dict[str, float]:
    rates = {name: series.per_s(f"{_DEVICES}.{name}", node=node, device=device) for name in _COUNTERS}
    return {name: rate for name, rate in rates.items() if rate is not None}


def largest_sum(shares: Iterable[float], most: float) -> float:
    """Returns the largest sum of some of these shares that is at most `most`, and at most the whole time of
    the processors twice: a race of others may have any numbers.
    """
    most = min(most, 2.0)
    if not most >= 0:
        return 0.0
    # The bit of each sum is set that is possible.
    within = (1 << int(most * _UNITS_OF_SHARE) + 1) - 1
    sums = 1
    for share in shares:
        if 0 <= share <= most:
            sums |= sums << int(share * _UNITS_OF_SHARE) & within
    return (sums.bit_length() - 1) / _UNITS_OF_SHARE


def _attributes(node: str, facts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    beginning = f"node.{node}.{_ATTRIBUTES}"
    keys = (name for name in facts if name.startswith(beginning))
    return ((name.removeprefix(beginning), facts[name]) for name in sorted(keys))


def _is_apart(values: Iterable[float | None], part: float, negligible: float) -> bool:
    """Returns whether values that are both known differ by more than this part of the larger one."""
    known = [value for value in values if value is not None]
    return len(known) > 1 and max(known) - min(known) > part * max(known) + negligible
