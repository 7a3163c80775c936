"""What the facts of a machine mean for an engine."""

from __future__ import annotations

import pytest

from pacenote.host.checks import check_machine, hurting
from pacenote.model.snapshot import Snapshot

MEMORY = {"memory.total_kb": "1000000", "reading.memory.available_kb": "900000"}
CACHE = MEMORY | {"reading.memory.page_cache_kb": "100000"}
DISKS = {"disk.a.device": "vda", "disk.a.device.rotational": "1"}
DISKS |= {"disk.b.device": "vdb", "disk.b.device.rotational": "0"}
RECEIVING = {"network.e.rps_cpus": "3", "network.e.rx_queues": "1", "network.e.rps_flow_cnt": "4096"}
NODES = {"n": 262_144_000, "m": 524_288_000}
SWAP = {"memory.swap_kb": "2048", "reading.memory.swap_free_kb": "1024", "sysctl.vm.swappiness": "60"}


def state(name: str, facts: dict[str, str]) -> tuple[str, str]:
    (check,) = (check for check in check_machine(Snapshot(facts)) if check.advice.name == name)
    return check.state, check.value


@pytest.mark.parametrize(
    ("name", "facts", "expected"),
    [
        ("free memory", MEMORY, ("good", "90 % of 976.6 MiB available")),
        (
            "free memory",
            MEMORY | {"reading.memory.available_kb": "40000"},
            ("hurts", "4 % of 976.6 MiB available"),
        ),
        (
            "free memory",
            MEMORY | {"node.n.process.cgroup.memory.max": "262144000"},
            ("note", "90 % of 976.6 MiB available, but the control group may use only 250.0 MiB"),
        ),
        (
            "free memory",
            MEMORY | {"reading.memory.available_kb": "100000"},
            ("note", "10 % of 976.6 MiB available"),
        ),
        (
            "free memory",
            MEMORY
            | {"reading.memory.available_kb": "40000", "node.a.process.cgroup.memory.max": "max"}
            | {f"node.{name}.process.cgroup.memory.max": f"{size}" for name, size in NODES.items()},
            ("hurts", "4 % of 976.6 MiB available, but the control group may use only 250.0 MiB"),
        ),
        ("swap", SWAP | {"reading.driver.process.swapped_kb": "512"}, state("swap", SWAP)),
        (
            "open files",
            {f"node.{name}.process.limit.open_files.hard": f"{limit}" for name, limit in NODES.items()},
            ("good", "262,144,000"),
        ),
        (
            "disk space",
            {f"reading.disk.{name}.free_percent": free for name, free in (("a", "50"), ("b", "10"))}
            | {"reading.disk.b.free_bytes": "1048576"},
            ("note", "10.0 % free (1.0 MiB) at b"),
        ),
        (
            "RPS and RFS",
            {"cpu.online": "0-3", "network.e.rps_cpus": "0", "network.e.rx_queues": "2"},
            ("good", "RPS e: 0"),
        ),
        ("page cache", CACHE, ("good", "can grow to 878.9 MiB, 97.7 MiB in use")),
        (
            "page cache",
            CACHE | {"driver.process.cgroup.memory.limit_in_bytes": "262144000"},
            ("good", "can grow to 250.0 MiB, 97.7 MiB in use"),
        ),
        (
            "page cache",
            CACHE | {"reading.memory.available_kb": "400000"},
            ("note", "can grow to 390.6 MiB, 97.7 MiB in use"),
        ),
        ("swap", {"memory.swap_kb": "0"}, ("good", "off")),
        ("swap", SWAP, ("note", "2.0 MiB, 1.0 MiB in use, swappiness 60")),
        (
            "swap",
            SWAP | {"reading.node.n.process.swapped_kb": "512"},
            ("note", "2.0 MiB, 1.0 MiB in use, swappiness 60, 512.0 KiB of the engine in it"),
        ),
        (
            "swap",
            SWAP | {"memory.swap_kb": "204800", "reading.node.n.process.swapped_kb": "102400"},
            ("hurts", "200.0 MiB, 199.0 MiB in use, swappiness 60, 100.0 MiB of the engine in it"),
        ),
        ("open files", {"driver.process.limit.open_files.hard": "unlimited"}, ("good", "unlimited")),
        ("open files", {"driver.process.limit.open_files.hard": "20000"}, ("note", "20,000")),
        (
            "open files",
            {"driver.process.limit.open_files.hard": "70000", "node.n.process.limit.open_files.hard": "4096"},
            ("hurts", "4,096"),
        ),
        ("memory maps", {"sysctl.vm.max_map_count": "65530"}, ("note", "65,530")),
        ("memory maps", {"sysctl.vm.max_map_count": "262144"}, ("good", "262,144")),
        (
            "transparent huge pages",
            {"kernel.transparent_huge_pages.enabled": "always"},
            ("note", "always, defrag unknown"),
        ),
        (
            "readahead",
            {"disk.d.device": "vda", "disk.d.device.read_ahead_kb": "128"},
            ("good", "128 KiB on vda"),
        ),
        (
            "readahead",
            {"disk.d.device": "vda", "disk.d.device.read_ahead_kb": "8192"},
            ("note", "8,192 KiB on vda"),
        ),
        ("CPU governor", {"cpu.scaling_governor": "performance"}, ("good", "performance, driver unknown")),
        (
            "CPU governor",
            {"cpu.scaling_governor": "powersave", "cpu.scaling_driver": "intel_pstate"},
            ("note", "powersave, driver intel_pstate"),
        ),
        (
            "CPU governor",
            {"cpu.scaling_governor": "powersave", "cpu.scaling_driver": "acpi-cpufreq"},
            ("hurts", "powersave, driver acpi-cpufreq"),
        ),
        (
            "CPU governor",
            {"cpu.scaling_governor": "conservative (2), ondemand (2)"},
            ("note", "conservative (2), ondemand (2), driver unknown"),
        ),
        (
            "scheduler migration cost",
            {"sysctl.kernel.sched_migration_cost_ns": "500000"},
            ("good", "500,000 ns"),
        ),
        (
            "RPS and RFS",
            {"cpu.online": "0-3", "network.e.rps_cpus": "0", "network.e.rx_queues": "1"},
            ("note", "RPS off, and one receive queue: e"),
        ),
        (
            "RPS and RFS",
            {"cpu.online": "0", "network.e.rps_cpus": "0", "network.e.rx_queues": "1"},
            ("good", "RPS e: 0"),
        ),
        (
            "RPS and RFS",
            RECEIVING | {"sysctl.net.core.rps_sock_flow_entries": "0"},
            ("good", "RPS e: 3; RFS off"),
        ),
        (
            "RPS and RFS",
            RECEIVING | {"sysctl.net.core.rps_sock_flow_entries": "32768"},
            ("good", "RPS e: 3; RFS on"),
        ),
        (
            "XPS",
            {"network.e.xps_cpus": "0", "network.e.tx_queues": "4"},
            ("note", "off, and several transmit queues: e"),
        ),
        (
            "NIC rings",
            {"network.e.ring.rx": "256", "network.e.ring.rx_max": "4096"},
            ("note", "e 256 of 4,096"),
        ),
        (
            "CPU quota",
            {"driver.process.cgroup.cpu.max": "150000 100000"},
            ("note", "1.5 CPUs in periods of 100 ms"),
        ),
        ("CPU quota", {"driver.process.cgroup.cpu.max": "max"}, ("good", "none")),
        ("stolen CPU time", {"reading.stolen_percent": "6.0"}, ("hurts", "6.0 %")),
        ("stolen CPU time", {"reading.stolen_percent": "2.0"}, ("note", "2.0 %")),
        ("stolen CPU time", {"reading.stolen_percent": "0.0"}, ("good", "0.0 %")),
        (
            "pressure",
            {"reading.pressure.memory.some_10s": "3.00"},
            ("hurts", "memory 3.0 % of the last ten seconds"),
        ),
        ("disk space", {"reading.disk.d.free_percent": "4.0"}, ("hurts", "4.0 % free (0 B) at d")),
        (
            "disk space",
            {"reading.disk.d.free_percent": "4.0", "reading.disk.d.free_bytes": "400000000000"},
            ("note", "4.0 % free (372.5 GiB) at d"),
        ),
        ("disk", DISKS, ("note", "rotating, or virtual and reported as rotating: vda")),
        ("disk", DISKS | {"disk.a.device.rotational": "0"}, ("good", "solid-state: vda, vdb")),
    ],
)
def test_each_check_judges_the_facts(name: str, facts: dict[str, str], expected: tuple[str, str]) -> None:
    assert state(name, facts) == expected


def test_checks_without_facts_or_with_strange_ones_judge_nothing() -> None:
    assert {check.state for check in check_machine(Snapshot())} == {"unread"}
    assert state("memory maps", {"sysctl.vm.max_map_count": "many"})[0] == "unread"
    assert state("XPS", {"network.e.xps_cpus": "1"})[0] == "unread"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("readahead", "disk.data.0.device.*"),
        ("disk", "disk.*"),
        ("disk space", "reading.disk.home.*"),
        ("NIC rings", "network.*"),
        ("CPU quota", "driver.process.cgroup.*"),
    ],
)
def test_the_reason_of_a_group_of_facts_is_said(name: str, key: str) -> None:
    checks = {check.advice.name: check for check in check_machine(Snapshot({}, {key: "it is closed"}))}
    assert checks[name].value == "it is closed"


def test_a_check_that_cannot_be_made_says_why() -> None:
    unread = {"sysctl.kernel.sched_migration_cost_ns": "/sys/x: Permission denied"}
    values = {check.advice.name: check.value for check in check_machine(Snapshot({}, unread))}
    assert values["scheduler migration cost"] == "/sys/x: Permission denied"
    assert values["XPS"] == "this machine does not report it"


def test_a_race_warns_of_what_certainly_hurts_and_of_nothing_that_it_causes_itself() -> None:
    facts = MEMORY | {"reading.memory.available_kb": "40000", "reading.pressure.cpu.some_10s": "90"}
    facts["driver.process.limit.open_files.hard"] = "10"
    assert [str(check) for check in hurting(Snapshot(facts))] == ["free memory: 4 % of 976.6 MiB available"]


def test_every_check_says_what_to_do_and_where_that_comes_from() -> None:
    advice = [check.advice for check in check_machine(Snapshot())]
    assert len(advice) == 17
    assert all(each.meaning and each.change and each.source for each in advice)
    reports = {each.name for each in advice if each.report}
    assert reports == {"free memory", "disk", "scheduler migration cost", "RPS and RFS"}
