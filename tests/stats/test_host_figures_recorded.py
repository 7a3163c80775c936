"""Every series of the host sampler is in a figure or a view, or is listed here with its reason.

A series is in a figure if figures of a host change without it, or if a module that computes them names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pacenote.report.page.race.machine import WANTED
from pacenote.stats import cpu_figures, cpu_frequency, cpu_history, device_history, host_figures, host_limits
from stats.test_host_figures import COUNTERS, GAUGES, HISTORY, HOST, TASK, split, telemetry

DOCS = Path(__file__).parents[2] / "docs/reference/host-telemetry.md"
MODULES = (cpu_figures, cpu_frequency, cpu_history, device_history, host_figures, host_limits)

_LISTED: Mapping[str, str] = {
    "shows the quota behind the throttling that K2 finds": (
        "cgroup.cpu_period cgroup.cpu_quota cgroup.cpu_time"
    ),
    "shows how a limit of memory was reached that H3 and P1 take for the memory of the node": (
        "cgroup.memory cgroup.dirty cgroup.swap cgroup.direct_scans cgroup.file_refaults cgroup.major_faults "
        "cgroup.memory_high_hits cgroup.memory_limit_hits cgroup.oom_kills cgroup.out_of_memory"
    ),
    "shows whether stalls are those of the node's own group": (
        "cgroup.pressure.cpu.full cgroup.pressure.cpu.some cgroup.pressure.io.full cgroup.pressure.io.some "
        "cgroup.pressure.memory.full cgroup.pressure.memory.some"
    ),
    "shows which part of the traffic of a disk is the node's, also where its process cannot be read": (
        "cgroup.read_bytes cgroup.reads cgroup.write_bytes cgroup.writes"
    ),
    "shows what kept the processors busy if other programs did (O1)": (
        "cpu.blocked cpu.context_switches cpu.forks"
    ),
    "is a column of `iostat -x`, with which a reader compares": (
        "disk.in_flight disk.reads_merged disk.writes_merged disk.discards_merged disk.discard_bytes"
    ),
    "shows where the memory is that the page cache lacks (H3, P1)": (
        "memory.anonymous memory.buffers memory.dirty memory.free memory.huge_pages memory.mapped "
        "memory.shared memory.slab memory.writeback"
    ),
    "shows how the kernel made room when memory was short (H3, P2)": (
        "memory.faults memory.major_faults memory.paged_in memory.paged_out memory.swapped_out "
        "memory.anonymous_refaults memory.allocation_stalls memory.background_scans memory.compaction_stalls "
        "memory.direct_scans memory.huge_page_faults"
    ),
    "tells errors of an interface from full queues (N3)": (
        "network.receive_errors network.received_packets network.send_errors network.sent_packets"
    ),
    "shows whether remote memory was allocated or moved there (K3)": (
        "numa.foreign numa.hits numa.migrated_pages numa.misses"
    ),
    "shows how full the disk was, if the engine reached a watermark": "path.available path.size",
    "is the rest of the pressure, of which the rules use what they name": (
        "pressure.cpu.full pressure.irq.full pressure.irq.some pressure.memory.full"
    ),
    "shows what a node or the driver did beside using processors and reading": (
        "process.minor_faults process.read_calls process.resident process.run_count process.thread_cpu "
        "process.threads process.write_bytes process.write_calls"
    ),
    "is what sampling costs, which `benchmarks/sampling.py` reads": "sampler.cpu_time",
    "shows how packets spread if one processor has most of the interrupts (N1, N2)": (
        "softirq.block softirq.net_tx softnet.packets softnet.steered"
    ),
    "tells why segments were sent again or connections were not accepted (N3)": (
        "tcp.backlog_drops tcp.established tcp.listen_drops tcp.listen_overflows tcp.receive_collapses "
        "tcp.receive_errors tcp.receive_queue_drops tcp.received_segments tcp.sent_resets tcp.timeouts"
    ),
}
"""What series are recorded for that no figure and no view has, with their names."""

KEPT = {name: reason for reason, names in _LISTED.items() for name in names.split()}

PUT_TOGETHER = frozenset({
    *("cgroup.anonymous", "cgroup.page_cache"),
    *("disk.discards", "disk.discard_time", "disk.flushes", "disk.flush_time"),
})
"""Series whose names the modules put together, and which the tests of figures do not have."""


def documented() -> set[str]:
    """Returns the names of the table of values, in which `.name` and `those of` stand for whole names."""
    table = DOCS.read_text().partition("## Values")[2].partition("\n## ")[0]
    return {
        name for row in re.findall(r"^\| (`.*?) \| (?:counter|gauge)", table, re.M) for name in _names(row)
    }


def _names(cell: str) -> Iterator[str]:
    first, _, others = cell.partition("those of")
    names: list[str] = []
    for token in re.findall(r"`([a-z_.]+)`", first):
        if token.startswith("."):
            names.append(f"{names[-1].rpartition('.')[0]}{token}")
        elif "." in token:
            names.append(token)
    yield from names
    for kind in re.findall(r"`([a-z]+)`", others):
        yield from (re.sub(r"\.cpu\.(?=some|full)", f".{kind}.", name) for name in names)


def figures(without: str) -> object:
    """Returns the figures of a host whose sampler does not have a series."""
    counters = {key: value for key, value in COUNTERS.items() if split(key)[0] != without}
    gauges = {key: value for key, value in GAUGES.items() if split(key)[0] != without}
    return host_figures.host_figures(telemetry(counters, gauges), TASK, HOST, HISTORY)


def used(names: set[str]) -> set[str]:
    """Returns those of the names that a figure or a view needs."""
    text = "".join(Path(str(module.__file__)).read_text() for module in MODULES)
    everything, shown = figures(""), {name for _, name in WANTED}
    return {
        name
        for name in names
        if name in shown
        or name in device_history.SERIES
        or name in PUT_TOGETHER
        or f'"{name}"' in text
        or figures(name) != everything
    }


def test_every_series_is_in_a_figure_or_a_view_or_is_kept_for_a_reason() -> None:
    names = documented()
    assert len(names) > 100
    assert {split(key)[0] for key in (*COUNTERS, *GAUGES)} <= names
    unused = names - used(names)
    assert sorted(unused - KEPT.keys()) == [], "a figure or a view must have it, or it need not be sampled"
    assert sorted(KEPT.keys() - unused) == [], "it is used, or not recorded: take it off the list"
