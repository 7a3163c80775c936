"""What the facts of a machine mean for an engine, with advice and where that comes from: pure rules.

A rule returns no judgement for facts that could not be read. `hurts` is only for what certainly slows an
engine down; what may do so is a `note`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct

from pacenote.host import check_rules as rules
from pacenote.host.check_rules import Judgement
from pacenote.model.snapshot import Snapshot

State = Literal["good", "note", "hurts", "unread"]
"""Whether something is as an engine needs it, may slow it down, certainly does, or could not be read."""


class Advice(Struct, frozen=True):
    """Why a check exists and what to do."""

    name: str
    """What is checked."""
    meaning: str
    """What it means for an engine."""
    change: str
    """How to change it."""
    source: str
    """Where the advice comes from."""
    report: str = ""
    """The published field report in which it mattered, and how; empty if in none."""


class HostCheck(Struct, frozen=True):
    """The result of one check."""

    advice: Advice
    """Why it exists and what to do."""
    state: State
    """The result."""
    value: str
    """What was found, or why nothing could be read."""

    def __str__(self) -> str:
        return f"{self.advice.name}: {self.value}"


_ELASTIC = "https://www.elastic.co/guide/en/elasticsearch/reference/current"
_KERNEL = "https://docs.kernel.org"
_Z = "'Elasticsearch on IBM Z' (Beyerle, 2021)"
_UPDATE = "'Performance Update' (IBM, 2021)"

_MEMORY = Advice(
    "free memory",
    "the heap, the page cache and the kernel share the memory; if it runs out, the kernel ends the engine",
    "end other programs, or give the engine a smaller heap",
    f"{_ELASTIC}/tune-for-search-speed.html",
    f"{_Z}: leave memory free beside the heap, or the out-of-memory killer acts",
)
_SWAP = Advice(
    "swap",
    "the garbage collector reads the whole heap: with a part of it on the disk, the engine stops for seconds",
    "`swapoff -a`, or `sysctl vm.swappiness=1`, or `bootstrap.memory_lock: true`",
    f"{_ELASTIC}/setup-configuration-memory.html",
)
_FILES = Advice(
    "open files",
    "every segment of an index and every connection is an open file; without them, the engine fails",
    "`ulimit -n 65535`, or `LimitNOFILE=65535` in the unit of systemd",
    f"{_ELASTIC}/file-descriptors.html",
)
_GOVERNOR = Advice(
    "CPU governor",
    "a governor that lowers the frequency between requests makes latency longer and results vary",
    "`cpupower frequency-set --governor performance`",
    f"{_KERNEL}/admin-guide/pm/cpufreq.html",
)

_RULES: Mapping[Advice, Callable[[Mapping[str, str]], Judgement | None]] = {
    _MEMORY: rules.free_memory,
    Advice(
        "page cache",
        "an engine reads its index through the page cache: what does not fit is read from the disk",
        "give the heap at most half of the memory",
        f"{_ELASTIC}/tune-for-search-speed.html",
    ): rules.page_cache,
    _SWAP: rules.swap,
    _FILES: rules.open_files,
    Advice(
        "memory maps",
        "index files are mapped into memory, and with many segments, searches fail at the limit; an engine "
        "that listens to other hosts does not start with less than 262,144",
        "`sysctl vm.max_map_count=1048576`",
        f"{_ELASTIC}/vm-max-map-count.html",
    ): rules.map_count,
    Advice(
        "transparent huge pages",
        "large heaps gain, but if all programs get them, threads stop while the kernel makes room for them",
        "`echo madvise > /sys/kernel/mm/transparent_hugepage/enabled`, and -XX:+UseTransparentHugePages for "
        "the heap",
        f"{_KERNEL}/admin-guide/mm/transhuge.html",
    ): rules.huge_pages,
    Advice(
        "disk space",
        "by default an engine puts no replicas on a disk that is 85 % full, moves shards away at 90 %, and "
        "makes indices read-only at 95 % (Elasticsearch since 8.5 only if less than 200, 150 and 100 GB are "
        "free); engines that Pacenote starts ignore this",
        "free space, or put the data on another disk",
        f"{_ELASTIC}/modules-cluster.html#disk-based-shard-allocation",
    ): rules.disk_space,
    Advice(
        "readahead",
        "searches read small parts of large files: if an index is larger than the page cache, a high "
        "readahead fills it with what is not needed",
        "`blockdev --setra 256 DEVICE` sets 128 KiB; for Btrfs, write 128 to "
        "/sys/fs/btrfs/UUID/bdi/read_ahead_kb",
        f"{_ELASTIC}/tune-for-search-speed.html",
    ): rules.readahead,
    Advice(
        "disk",
        "an index writes segments and its translog at once: one busy disk limits indexing",
        "use solid-state disks, or a logical volume striped over several disks",
        f"{_ELASTIC}/tune-for-indexing-speed.html",
        f"{_Z}: the disk of the index was busy for 95 % of the time; a volume with four stripes helped",
    ): rules.rotational,
    _GOVERNOR: rules.governor,
    Advice(
        "scheduler migration cost",
        "the longer the scheduler waits before it moves a thread to another CPU, the longer threads wait "
        "while CPUs are idle; lower it only if there are more busy threads than CPUs, and idle time",
        "`sysctl kernel.sched_migration_cost_ns=50000`; since Linux 5.13 "
        "`echo 50000 > /sys/kernel/debug/sched/migration_cost_ns`",
        f"{_KERNEL}/scheduler/sched-debug.html; the default suits most workloads",
        f"{_Z} and {_UPDATE}: indexing was faster with 50,000 ns than with the default",
    ): rules.migration_cost,
    Advice(
        "RPS and RFS",
        "a network card with one receive queue handles all packets on one CPU; RPS distributes them over "
        "CPUs, and RFS to the CPU of the thread that reads them (not needed for an engine on this machine)",
        "write a CPU mask to /sys/class/net/NAME/queues/rx-0/rps_cpus, and sizes to rps_flow_cnt and "
        "net.core.rps_sock_flow_entries",
        f"{_KERNEL}/networking/scaling.html",
        f"{_UPDATE}: RPS lowered latency much, depending on the workload",
    ): rules.receive_steering,
    Advice(
        "XPS",
        "with several transmit queues, XPS keeps the packets of a CPU in its own queue, so that CPUs do not "
        "wait for each other",
        "write a CPU mask to /sys/class/net/NAME/queues/tx-N/xps_cpus",
        f"{_KERNEL}/networking/scaling.html",
    ): rules.transmit_steering,
    Advice(
        "NIC rings",
        "packets that arrive while the ring is full are dropped and sent again, which may take 200 ms",
        "`ethtool --set-ring NAME rx MAXIMUM`",
        "https://man7.org/linux/man-pages/man8/ethtool.8.html",
    ): rules.rings,
    Advice(
        "CPU quota",
        "when the quota of a control group is used up, all threads of the engine stop until the next period",
        "raise the quota, or pin the engine to CPUs instead",
        f"{_KERNEL}/admin-guide/cgroup-v2.html",
    ): rules.cpu_quota,
    Advice(
        "stolen CPU time",
        "the hypervisor gave CPU time to other virtual machines: results are lower and vary",
        "use a quiet host, or one with CPUs of its own",
        "https://man7.org/linux/man-pages/man5/proc_stat.5.html",
    ): rules.stolen_time,
    Advice(
        "pressure",
        "other programs compete for CPU, disk or memory, before the engine has done anything",
        "end them, or wait until they are done",
        f"{_KERNEL}/accounting/psi.html",
    ): rules.pressure,
}
"""All checks, in the order in which they are printed."""

_FACTS = {
    "free memory": "reading.memory.*",
    "page cache": "reading.memory.*",
    "swap": "reading.memory.*",
    "open files": "driver.process.limit.*",
    "memory maps": "sysctl.vm.max_map_count",
    "transparent huge pages": "kernel.transparent_huge_pages.enabled",
    "disk space": "*disk.*",
    "readahead": "disk.*",
    "disk": "disk.*",
    "CPU governor": "cpu.scaling_governor",
    "scheduler migration cost": "sysctl.kernel.sched_migration_cost_ns",
    "RPS and RFS": "network.*",
    "XPS": "network.*",
    "NIC rings": "network.*",
    "CPU quota": "driver.process.cgroup.*",
    "stolen CPU time": "reading.stolen_percent",
    "pressure": "reading.pressure.cpu.*",
}
"""The facts whose absence explains why a check could not be made, by name of the check."""

_CERTAIN = frozenset({_MEMORY, _SWAP, _FILES, _GOVERNOR})
"""The checks of which a race warns: neither its own preparation nor its track causes what they find."""


def check_machine(snapshot: Snapshot) -> tuple[HostCheck, ...]:
    """Returns the result of every check."""
    return tuple(_check(advice, snapshot) for advice in _RULES)


def hurting(snapshot: Snapshot) -> Iterator[HostCheck]:
    """Yields what certainly slows an engine down, from facts that were read when the engine ran."""
    # The limits of the driver are not those of the engine.
    facts = {key: value for key, value in snapshot.facts.items() if not key.startswith("driver.")}
    for advice in _RULES:
        if advice in _CERTAIN and (check := _check(advice, Snapshot(facts))).state == "hurts":
            yield check


def _check(advice: Advice, snapshot: Snapshot) -> HostCheck:
    try:
        judgement = _RULES[advice](snapshot.facts)
    except (ValueError, LookupError):
        judgement = None
    if judgement is None:
        keys = (key for key in snapshot.unread if fnmatchcase(key, _FACTS.get(advice.name, "")))
        reason = next((snapshot.unread[key] for key in keys), "this machine does not report it")
        return HostCheck(advice, "unread", reason)
    return HostCheck(advice, judgement.state, judgement.value)
