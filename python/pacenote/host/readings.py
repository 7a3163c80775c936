"""Values of the machine that always change: memory, load, pressure, and CPU time that a hypervisor took."""

from __future__ import annotations

import re
import time
from pathlib import Path

from pacenote.host.facts import Facts, read_text

_MEMORY = {
    "MemAvailable": "reading.memory.available_kb",
    "Cached": "reading.memory.page_cache_kb",
    "Dirty": "reading.memory.dirty_kb",
    "AnonHugePages": "reading.memory.transparent_huge_pages_kb",
    "SwapFree": "reading.memory.swap_free_kb",
    "MemTotal": "memory.total_kb",
    "SwapTotal": "memory.swap_kb",
    "HugePages_Total": "memory.huge_pages",
    "Hugepagesize": "memory.huge_page_kb",
}

_PRESSURE = re.compile(r"^(some|full) avg10=(\S+) avg60=(\S+)", re.MULTILINE)
_STEAL = 7
"""Position of the stolen time among the times of a CPU."""


def read_readings(facts: Facts, proc: Path) -> None:
    """Adds the memory, the load and the pressure."""
    text = facts.text("reading.memory.*", proc / "meminfo")
    for line in (text or "").splitlines():
        name, _, value = line.partition(":")
        if name in _MEMORY:
            facts.set(_MEMORY[name], value.removesuffix("kB").strip())
    facts.file("reading.load", proc / "loadavg", lambda text: " ".join(text.split()[:3]))
    facts.file("reading.open_files", proc / "sys/fs/file-nr", lambda text: text.split()[0])
    for resource in ("cpu", "io", "memory"):
        text = facts.text(f"reading.pressure.{resource}.*", proc / "pressure" / resource)
        for kind, ten, sixty in _PRESSURE.findall(text or ""):
            facts.set(f"reading.pressure.{resource}.{kind}_10s", ten)
            facts.set(f"reading.pressure.{resource}.{kind}_60s", sixty)


def read_stolen_time(facts: Facts, proc: Path, watch_s: float) -> None:
    """Adds the share of CPU time that other virtual machines took while this function waited, in percent.

    Does nothing if it is not to wait.
    """
    if watch_s <= 0:
        return
    try:
        before = parse_cpu_times(read_text(proc / "stat"))
        time.sleep(watch_s)
        after = parse_cpu_times(read_text(proc / "stat"))
    except (OSError, ValueError, IndexError):
        facts.unread("reading.stolen_percent", f"{proc / 'stat'} cannot be read")
        return
    total = sum(after) - sum(before)
    stolen = after[_STEAL] - before[_STEAL]
    facts.set("reading.stolen_percent", f"{100 * stolen / total:.1f}" if total > 0 else None)


def parse_cpu_times(stat: str) -> tuple[int, ...]:
    """Returns user, nice, system, idle, iowait, irq, softirq and steal of all CPUs from /proc/stat.

    Raises ValueError and IndexError for text in another form.
    """
    fields = stat.splitlines()[0].split()
    times = tuple(int(value) for value in fields[1:9])
    if fields[0] != "cpu" or len(times) <= _STEAL:
        raise ValueError("the first line is not that of all CPUs")
    return times
