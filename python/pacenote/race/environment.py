"""The host of the load driver, for the race record: pure parsers, and a reader that never raises."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from pacenote.model.race_record import Environment
from pacenote.version import pacenote_version

_NAME_KEYS = ("model name", "cpu model", "cpu", "processor", "hardware", "model")
"""Keys of the CPU's name in /proc/cpuinfo by preference: x86, MIPS, POWER, old Arm, board, board."""

_ARM_IMPLEMENTERS = {
    0x41: "Arm",
    0x42: "Broadcom",
    0x43: "Cavium",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x50: "Ampere",
    0x51: "Qualcomm",
    0x61: "Apple",
    0xC0: "Ampere",
}
_ARM_PARTS = {
    (0x41, 0xD08): "Cortex-A72",
    (0x41, 0xD0C): "Neoverse N1",
    (0x41, 0xD40): "Neoverse V1",
    (0x41, 0xD49): "Neoverse N2",
    (0x41, 0xD4F): "Neoverse V2",
    (0xC0, 0xAC3): "Ampere-1",
}


def parse_cpu_model(cpuinfo: str) -> str | None:
    """Returns the name of the CPU from the text of /proc/cpuinfo (x86, POWER, s390x, 64-bit Arm), or None."""
    fields = _fields(cpuinfo)
    for key in _NAME_KEYS:
        name = fields.get(key, "")
        # On x86 and Arm, `processor` and `model` are numbers.
        if name and not name.isdigit():
            return " ".join(name.split())
    if machine := re.search(r"machine\s*=\s*(\w+)", cpuinfo):
        return f"{fields.get('vendor_id', 'IBM/S390')} machine {machine[1]}"
    return _arm_model(fields)


def parse_physical_cores(cpuinfo: str) -> int | None:
    """Returns the number of physical cores from the text of /proc/cpuinfo, or None if it does not list
    them.
    """
    cores: set[tuple[str, str]] = set()
    for block in cpuinfo.split("\n\n"):
        fields = _fields(block)
        if "core id" in fields:
            cores.add((fields.get("physical id", "0"), fields["core id"]))
    return len(cores) or None


def parse_memory(meminfo: str) -> int | None:
    """Returns the size of the memory in bytes from the text of /proc/meminfo, or None if it is missing."""
    match = re.search(r"^MemTotal:\s*(\d+) kB", meminfo, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def parse_load(loadavg: str) -> tuple[float, ...] | None:
    """Returns the load averages of the last 1, 5 and 15 minutes from /proc/loadavg, or None if it is
    invalid.
    """
    try:
        one_minute, five_minutes, fifteen_minutes = map(float, loadavg.split()[:3])
    except ValueError:
        return None
    return one_minute, five_minutes, fifteen_minutes


def read_environment(proc: Path = Path("/proc")) -> Environment:
    """Returns the environment of this host. A value that cannot be read is None. Never raises."""
    cpuinfo, meminfo = _read(proc / "cpuinfo"), _read(proc / "meminfo")
    return Environment(
        host_name=platform.node() or None,
        os_name=platform.system() or None,
        kernel=platform.release() or None,
        architecture=platform.machine() or None,
        cpu_model=parse_cpu_model(cpuinfo) or platform.processor() or None,
        cpu_logical_cores=os.cpu_count(),
        cpu_physical_cores=parse_physical_cores(cpuinfo),
        cpu_usable_cores=_usable_cores(),
        memory_bytes=parse_memory(meminfo),
        load_average=parse_load(_read(proc / "loadavg")),
        python=platform.python_version(),
        pacenote=pacenote_version(),
    )


def _fields(text: str) -> dict[str, str]:
    """Returns the values of `key : value` lines by lower-case key, from the first line of each key."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon and value.strip():
            fields.setdefault(key.strip().lower(), value.strip())
    return fields


def _arm_model(fields: dict[str, str]) -> str | None:
    try:
        implementer, part = int(fields["cpu implementer"], 16), int(fields["cpu part"], 16)
    except (KeyError, ValueError):
        return None
    maker = _ARM_IMPLEMENTERS.get(implementer, f"implementer {implementer:#x}")
    return f"{maker} {_ARM_PARTS.get((implementer, part), f'part {part:#x}')}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _usable_cores() -> int | None:
    """Returns the number of cores that this process may run on, which a container or `taskset` may limit."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    return len(os.sched_getaffinity(0))
