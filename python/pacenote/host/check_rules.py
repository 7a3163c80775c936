"""The rules of the checks: each judges the facts of a machine, or returns None if it lacks them.

They may raise ValueError for facts in an unexpected form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from pacenote.units import format_bytes

FactValues = Mapping[str, str]
"""Facts by key, as in `Snapshot`."""

_LEAST_FILES = 65_535
_FAILING_FILES = 8_192
_LEAST_MAPS = 262_144
_HIGH_READAHEAD_KB = 256
_LARGE_SPACE = 100 << 30
"""Free space in bytes from which newer versions of Elasticsearch ignore the highest watermark."""

_STOLEN_PERCENT = 5.0
"""Of CPU time, as for the verdict on a race."""

_NOTED_STOLEN_PERCENT = 1.0
_PRESSURE_PERCENT = {"cpu": 20.0, "io": 10.0, "memory": 1.0}
_SWAPPED = 16 << 20
"""Bytes of an engine in swap that are more than code and data that it does not use."""

_SLOW_GOVERNOR = "powersave"
_SELF_GOVERNING = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
"""Drivers whose governor `powersave` still raises the frequency."""


class Judgement(Struct, frozen=True):
    """What a rule found."""

    state: Literal["good", "note", "hurts"]
    """Whether it is as an engine needs it, may slow it down, or certainly does."""
    value: str
    """The values that were found."""


def free_memory(facts: FactValues) -> Judgement | None:
    """Judges the memory that programs can still get."""
    if (available := _kb(facts, "reading.memory.available_kb")) is None or not (total := _total(facts)):
        return None
    share, limit = available / total, _memory_limit(facts)
    state: Literal["good", "note", "hurts"] = "hurts" if share < 0.05 else "note" if share < 0.2 else "good"
    value = f"{_percent(share)} of {format_bytes(total)} available"
    if limit is None or limit >= total:
        return Judgement(state, value)
    value += f", but the control group may use only {format_bytes(limit)}"
    return Judgement("hurts" if state == "hurts" else "note", value)


def page_cache(facts: FactValues) -> Judgement | None:
    """Judges the memory that the page cache can have."""
    available, used = _kb(facts, "reading.memory.available_kb"), _kb(facts, "reading.memory.page_cache_kb")
    if available is None or used is None or not (total := _total(facts)):
        return None
    # The page cache that a control group uses counts as its memory.
    limit = _memory_limit(facts) or total
    available, total = min(available, limit), min(total, limit)
    value = f"can grow to {format_bytes(available)}, {format_bytes(used)} in use"
    return Judgement("good" if available >= total / 2 else "note", value)


def swap(facts: FactValues) -> Judgement | None:
    """Judges the swap space: it hurts if much of the engine is in it."""
    if (size := _kb(facts, "memory.swap_kb")) is None:
        return None
    if not size:
        return Judgement("good", "off")
    used = size - (_kb(facts, "reading.memory.swap_free_kb") or 0)
    swappiness = facts.get("sysctl.vm.swappiness", "unknown")
    value = f"{format_bytes(size)}, {format_bytes(used)} in use, swappiness {swappiness}"
    engine = sum(
        int(amount) << 10
        for key, amount in facts.items()
        if key.startswith("reading.node.") and key.endswith(".process.swapped_kb")
    )
    if engine:
        value += f", {format_bytes(engine)} of the engine in it"
        return Judgement("hurts" if engine > _SWAPPED else "note", value)
    return Judgement("note", value)


def open_files(facts: FactValues) -> Judgement | None:
    """Judges the limit of open files: of engines that Pacenote started, otherwise of this process."""
    # The JVM raises its own limit to the hard one.
    limits = _of_processes(facts, "limit.open_files.hard")
    if not limits:
        return None
    least = min(_limit(limit) for limit in limits)
    value = "unlimited" if least == float("inf") else f"{least:,.0f}"
    if least < _FAILING_FILES:
        return Judgement("hurts", value)
    return Judgement("note" if least < _LEAST_FILES else "good", value)


def map_count(facts: FactValues) -> Judgement | None:
    """Judges the number of memory maps that a process may have."""
    if (count := _integer(facts, "sysctl.vm.max_map_count")) is None:
        return None
    return Judgement("note" if count < _LEAST_MAPS else "good", f"{count:,}")


def huge_pages(facts: FactValues) -> Judgement | None:
    """Judges transparent huge pages."""
    enabled = facts.get("kernel.transparent_huge_pages.enabled")
    if enabled is None:
        return None
    defrag = facts.get("kernel.transparent_huge_pages.defrag", "unknown")
    return Judgement("note" if enabled == "always" else "good", f"{enabled}, defrag {defrag}")


def disk_space(facts: FactValues) -> Judgement | None:
    """Judges the disk with the least free space, by the watermarks of engines."""
    free = {role: float(value) for role, value in _matching(facts, r"reading\.disk\.(.+)\.free_percent")}
    if not free:
        return None
    role = min(free, key=lambda name: free[name])
    amount = _integer(facts, f"reading.disk.{role}.free_bytes") or 0
    value = (
        f"{free[role]:.1f} % free ({format_bytes(amount)}) at {facts.get(f'disk.{role}.mount_point', role)}"
    )
    if free[role] < 5 and amount < _LARGE_SPACE:
        return Judgement("hurts", value)
    return Judgement("note" if free[role] < 15 else "good", value)


def readahead(facts: FactValues) -> Judgement | None:
    """Judges the highest readahead of the disks."""
    readahead_kb = _devices(facts, "read_ahead_kb")
    if not readahead_kb:
        return None
    device = max(readahead_kb, key=lambda name: int(readahead_kb[name]))
    amount = int(readahead_kb[device])
    value = f"{amount:,} KiB on {device}"
    return Judgement("note" if amount > _HIGH_READAHEAD_KB else "good", value)


def rotational(facts: FactValues) -> Judgement | None:
    """Judges the kind of the disks."""
    rotational_by_device = _devices(facts, "rotational")
    if not rotational_by_device:
        return None
    turning = [device for device, value in rotational_by_device.items() if value == "1"]
    if turning:
        return Judgement("note", f"rotating, or virtual and reported as rotating: {', '.join(turning)}")
    return Judgement("good", f"solid-state: {', '.join(rotational_by_device)}")


def governor(facts: FactValues) -> Judgement | None:
    """Judges how the kernel selects the frequency of CPUs."""
    if (names := facts.get("cpu.scaling_governor")) is None:
        return None
    driver = facts.get("cpu.scaling_driver", "unknown")
    value = f"{names}, driver {driver}"
    used = {name.split(" ")[0] for name in names.split(", ")}
    if used == {"performance"}:
        return Judgement("good", value)
    slow = _SLOW_GOVERNOR in used and not driver.startswith(_SELF_GOVERNING)
    return Judgement("hurts" if slow else "note", value)


def migration_cost(facts: FactValues) -> Judgement | None:
    """Reports the migration cost: no value of it is wrong."""
    cost = _integer(facts, "sysctl.kernel.sched_migration_cost_ns")
    return None if cost is None else Judgement("good", f"{cost:,} ns")


def receive_steering(facts: FactValues) -> Judgement | None:
    """Judges the interfaces with fewer receive queues than CPUs."""
    masks = list(_interfaces(facts, "rps_cpus"))
    if not masks:
        return None
    off = []
    for name, mask in masks:
        if mask == "0" and int(facts.get(f"network.{name}.rx_queues", "0")) == 1:
            off.append(name)
    flows = _integer(facts, "sysctl.net.core.rps_sock_flow_entries")
    has_table = any(count != "0" for _, count in _interfaces(facts, "rps_flow_cnt"))
    rfs = "" if flows is None else f"; RFS {'on' if flows and has_table else 'off'}"
    if off and _cpus(facts) > 1:
        return Judgement("note", f"RPS off, and one receive queue: {', '.join(off)}{rfs}")
    return Judgement("good", f"RPS {', '.join(f'{name}: {mask}' for name, mask in masks)}{rfs}")


def transmit_steering(facts: FactValues) -> Judgement | None:
    """Judges the interfaces with several transmit queues."""
    masks = list(_interfaces(facts, "xps_cpus"))
    several = [(name, mask) for name, mask in masks if int(facts[f"network.{name}.tx_queues"]) > 1]
    if not several:
        names = [name for name, _ in _interfaces(facts, "tx_queues")]
        return Judgement("good", f"not needed: one transmit queue of {', '.join(names)}") if names else None
    off = [name for name, mask in several if mask == "0"]
    if off:
        return Judgement("note", f"off, and several transmit queues: {', '.join(off)}")
    return Judgement("good", "; ".join(f"{name}: {mask}" for name, mask in several))


def rings(facts: FactValues) -> Judgement | None:
    """Judges the sizes of the receive rings."""
    sizes = [
        (name, int(size), int(facts.get(f"network.{name}.ring.rx_max", size)))
        for name, size in _interfaces(facts, "ring.rx")
    ]
    if not sizes:
        return None
    value = ", ".join(f"{name} {size:,} of {most:,}" for name, size, most in sizes)
    return Judgement("note" if any(size < most for _, size, most in sizes) else "good", value)


def cpu_quota(facts: FactValues) -> Judgement | None:
    """Judges the CPU quota of engines that Pacenote started, otherwise of this process."""
    quotas = _of_processes(facts, "cgroup.cpu.max")
    if not quotas:
        return None
    limited = [tuple(map(int, quota.split())) for quota in quotas if quota != "max"]
    text = ", ".join(
        f"{quota / period:g} CPUs in periods of {period / 1000:g} ms" for quota, period in limited
    )
    return Judgement("note" if limited else "good", text or "none")


def stolen_time(facts: FactValues) -> Judgement | None:
    """Judges the CPU time that other virtual machines took."""
    if (stolen := _real(facts, "reading.stolen_percent")) is None:
        return None
    value = f"{stolen:.1f} %"
    if stolen > _STOLEN_PERCENT:
        return Judgement("hurts", value)
    return Judgement("note" if stolen > _NOTED_STOLEN_PERCENT else "good", value)


def pressure(facts: FactValues) -> Judgement | None:
    """Judges how long programs waited for CPU, disk and memory in the last ten seconds."""
    waits = {
        resource: share
        for resource in _PRESSURE_PERCENT
        if (share := _real(facts, f"reading.pressure.{resource}.some_10s")) is not None
    }
    if not waits:
        return None
    value = ", ".join(f"{resource} {share:.1f} %" for resource, share in waits.items())
    high = any(share > _PRESSURE_PERCENT[resource] for resource, share in waits.items())
    return Judgement("hurts" if high else "good", f"{value} of the last ten seconds")


def _matching(facts: FactValues, pattern: str) -> Iterator[tuple[str, str]]:
    """Yields the first group of every key that matches as a whole, and the value."""
    for key, value in facts.items():
        if match := re.fullmatch(pattern, key):
            yield match[1], value


def _devices(facts: FactValues, name: str) -> dict[str, str]:
    """Returns a value of the devices that file systems are on, by name of the device."""
    values = _matching(facts, rf"(disk\..+\.device)\.{name}")
    return {facts.get(key, key.rpartition(".")[2]): value for key, value in values}


def _interfaces(facts: FactValues, name: str) -> Iterator[tuple[str, str]]:
    return _matching(facts, rf"network\.(.+)\.{re.escape(name)}")


def _of_processes(facts: FactValues, name: str) -> list[str]:
    """Returns a value of the engines that Pacenote started, or else of this process."""
    nodes = [value for _, value in _matching(facts, rf"(node\..+)\.process\.{re.escape(name)}")]
    of_driver = facts.get(f"driver.process.{name}")
    return nodes or ([] if of_driver is None else [of_driver])


def _memory_limit(facts: FactValues) -> int | None:
    """Returns the lowest limit of the control groups in bytes, or None if they have none."""
    names = ("cgroup.memory.max", "cgroup.memory.limit_in_bytes")
    limits = [int(limit) for name in names for limit in _of_processes(facts, name) if limit != "max"]
    return min(limits, default=None)


def _limit(text: str) -> float:
    return float("inf") if text == "unlimited" else float(text)


def _cpus(facts: FactValues) -> int:
    """Returns the number of CPUs in a list such as `0-3,8`; 0 if it is not known."""
    total = 0
    for part in facts.get("cpu.online", "").split(","):
        first, _, last = part.partition("-")
        total += int(last or first) - int(first) + 1 if first else 0
    return total


def _total(facts: FactValues) -> int:
    return _kb(facts, "memory.total_kb") or 0


def _kb(facts: FactValues, key: str) -> int | None:
    """Returns a number of kB as bytes."""
    value = _integer(facts, key)
    return None if value is None else value << 10


def _integer(facts: FactValues, key: str) -> int | None:
    return int(facts[key]) if key in facts else None


def _real(facts: FactValues, key: str) -> float | None:
    return float(facts[key]) if key in facts else None


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"
