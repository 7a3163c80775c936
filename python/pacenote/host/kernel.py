"""Facts about the kernel: version, settings, huge pages, clock."""

from __future__ import annotations

import platform
from pathlib import Path

from pacenote.host.facts import Facts, names_in, selected
from pacenote.model.secrets import redact, redact_urls
from pacenote.system.paths import exists

_SYSCTLS = (
    *("fs.aio-max-nr", "fs.file-max", "fs.nr_open"),
    *("kernel.numa_balancing", "kernel.perf_event_paranoid", "kernel.pid_max", "kernel.randomize_va_space"),
    *("kernel.threads-max", "kernel.timer_migration", "kernel.watchdog"),
    *("net.core.busy_poll", "net.core.busy_read", "net.core.default_qdisc", "net.core.netdev_max_backlog"),
    *("net.core.rmem_max", "net.core.rps_sock_flow_entries", "net.core.somaxconn", "net.core.wmem_max"),
    *("net.ipv4.ip_local_port_range", "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_max_syn_backlog"),
    *("net.ipv4.tcp_mtu_probing", "net.ipv4.tcp_retries2", "net.ipv4.tcp_rmem", "net.ipv4.tcp_sack"),
    *("net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_tw_reuse", "net.ipv4.tcp_wmem"),
    *(
        "vm.dirty_background_bytes",
        "vm.dirty_background_ratio",
        "vm.dirty_bytes",
        "vm.dirty_expire_centisecs",
    ),
    *("vm.dirty_ratio", "vm.dirty_writeback_centisecs", "vm.max_map_count", "vm.min_free_kbytes"),
    *("vm.nr_hugepages", "vm.overcommit_memory", "vm.overcommit_ratio", "vm.page-cluster", "vm.swappiness"),
    *("vm.vfs_cache_pressure", "vm.watermark_boost_factor", "vm.watermark_scale_factor"),
    "vm.zone_reclaim_mode",
)

_MIGRATION_COST = "kernel.sched_migration_cost_ns"


def read_kernel(facts: Facts, proc: Path, sys: Path) -> None:
    """Adds the facts of the kernel."""
    facts.set("kernel.release", platform.release() or None)
    facts.set("kernel.build", platform.version() or None)
    # A boot parameter may be a password, for example of an initial system.
    facts.file("kernel.command_line", proc / "cmdline", lambda text: redact_urls(redact(text, ())))
    for name in _SYSCTLS:
        facts.file(f"sysctl.{name}", proc / "sys" / name.replace(".", "/"))
    for name in names_in(proc / "sys/kernel"):
        if name.startswith("sched_"):
            facts.optional(f"sysctl.kernel.{name}", proc / "sys/kernel" / name)
    _read_scheduler(facts, proc, sys)
    _read_huge_pages(facts, sys / "kernel/mm/transparent_hugepage")
    clock = sys / "devices/system/clocksource/clocksource0/current_clocksource"
    facts.file("kernel.clock_source", clock)
    facts.optional("kernel.preemption", sys / "kernel/debug/sched/preempt")


def _read_scheduler(facts: Facts, proc: Path, sys: Path) -> None:
    """Adds the migration cost: a sysctl until Linux 5.12, since then in debugfs, which only root can read."""
    if exists(proc / "sys/kernel/sched_migration_cost_ns"):
        return
    facts.file(f"sysctl.{_MIGRATION_COST}", sys / "kernel/debug/sched/migration_cost_ns")


def _read_huge_pages(facts: Facts, folder: Path) -> None:
    for name in ("enabled", "defrag", "shmem_enabled"):
        facts.file(f"kernel.transparent_huge_pages.{name}", folder / name, selected)
    facts.file("kernel.transparent_huge_pages.khugepaged_defrag", folder / "khugepaged/defrag")
