"""The figures of a host follow from its counters; what the kernel lacks is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from pacenote.diagnose.catalogue import FIGURES
from pacenote.model.telemetry_cuts import CounterCut, GaugeCut, TaskTelemetry, TaskTimes
from pacenote.stats.device_history import DeviceInterval
from pacenote.stats.host_figures import HostHistory, SampledHost, host_figures, node_cpu_figures
from support.cpu_counters import busy_first

SECONDS = 100.0
TASK = TaskTimes("index", 0, int(SECONDS * 1e9))
HOST = SampledHost(("node-0",), {"dm-0": ("sda", "sdb")}, {"eth0": 1.25e8}, exact_interrupts=True)

COUNTERS: Mapping[str, float] = {
    # Two cores for 100 s: 200,000 ms.
    "cpu.user": 90_000,
    "cpu.nice": 2_000,
    "cpu.system": 16_000,
    "cpu.idle": 60_000,
    "cpu.iowait": 20_000,
    "cpu.irq": 1_000,
    "cpu.softirq": 3_000,
    "cpu.steal": 8_000,
    "cpu.softirq[cpu=0]": 1_000,
    "cpu.softirq[cpu=1]": 2_000,
    "process.user[process=node-0]": 70_000,
    "process.system[process=node-0]": 10_000,
    "process.user[process=driver]": 8_000,
    "process.system[process=driver]": 2_000,
    "process.run_queue_wait[process=node-0,threads=gc]": 6_000,
    "process.run_queue_wait[process=node-0,threads=other]": 10_000,
    "process.major_faults[process=node-0]": 300,
    "process.read_bytes[process=node-0]": 409_600,
    "process.migrations[process=node-0]": 4_000,
    "process.migrations[process=driver]": 500,
    "pressure.cpu.some": 25_000,
    "pressure.io.some": 12_000,
    "pressure.io.full": 9_000,
    "pressure.memory.some": 1_000,
    "cgroup.cpu_periods[process=node-0]": 1_000,
    "cgroup.throttled_periods[process=node-0]": 40,
    "cgroup.throttled_time[process=node-0]": 2_000,
    "memory.file_refaults": 500,
    "memory.swapped_in": 0,
    "memory.oom_kills": 1,
    "numa.local": 900,
    "numa.other": 100,
    "network.received_bytes[interface=eth0]": 1.25e9,
    "network.sent_bytes[interface=eth0]": 2.5e9,
    "network.received_bytes[interface=lo]": 9e9,
    "network.sent_bytes[interface=lo]": 9e9,
    "network.received_bytes[interface=docker0]": 9e9,
    "network.receive_drops[interface=eth0]": 30,
    "network.send_drops[interface=eth0]": 10,
    "network.receive_drops[interface=lo]": 7_000,
    "softnet.drops[cpu=0]": 60,
    "softnet.drops[cpu=1]": 0,
    "softnet.time_squeezes[cpu=0]": 100,
    "softnet.time_squeezes[cpu=1]": 100,
    "softirq.net_rx[cpu=0]": 40,
    "softirq.net_rx[cpu=1]": 960,
    "tcp.sent_segments": 10_000,
    "tcp.retransmissions": 20,
    **{
        f"disk.{name}[device={device}]": value
        for device, scale in (("dm-0", 2.0), ("sda", 1.2), ("sdb", 0.8), ("sdb1", 0.8), ("sdc", 0.1))
        for name, value in (
            ("reads", 1_000 * scale),
            ("read_bytes", 1_000 * scale * 4_096),
            ("read_time", 2_000 * scale),
            ("writes", 3_000 * scale),
            ("write_bytes", 3_000 * scale * 65_536),
            ("write_time", 18_000 * scale),
            ("busy_time", 40_000 * min(scale, 2.0)),
            ("weighted_time", 20_000 * scale),
        )
    },
}
"""Growth of counters within the task."""

PROCESSES = ("node-0", "driver")

GAUGES: Mapping[str, tuple[float, float, float]] = {
    "cpu.runnable": (1, 3.5, 9),
    "memory.total": (1e9, 1e9, 1e9),
    "memory.available": (2e8, 3e8, 4e8),
    "memory.page_cache": (1e8, 2e8, 3e8),
    "memory.swap_total": (1e8, 1e8, 1e8),
    "memory.swap_free": (9e7, 1e8, 1e8),
}
"""Smallest, mean and largest values."""

TAKEN = 0.96 * (0.03 + 0.04 * 0.4 / 0.56)

EXPECTED: Mapping[str, float | str] = {
    "cpu.idle_share": 0.4,
    "cpu.user_share": 0.46,
    "cpu.system_share": 0.1,
    "cpu.steal_share": 0.04,
    "cpu.engine_share": 0.4,
    "cpu.driver_share": 0.05,
    # The busy time without that of interrupts.
    "cpu.other_share": 0.09,
    "cpu.engine_waiting": 0.16,
    # It waited for 0.08 of 2 cores, of which the driver had 0.05, and lacked its part of the stolen time,
    # except in the 4 % of the periods in which its quota stopped it.
    "cpu.lacked_share": TAKEN / (0.4 + TAKEN),
    "cpu.runnable": 3.5,
    "cpu.wait_share": 0.25,
    "cpu.frequency_hz": (6 * 3e9 + 15 * 2.4e9) / 21,
    "cpu.frequency_first_hz": 3e9,
    "cpu.frequency_fall_share": 0.2,
    "cpu.throttled_periods_share": 0.04,
    "cpu.throttled_share": 0.01,
    "cpu.remote_memory_share": 0.1,
    "memory.available_share": 0.2,
    "memory.page_cache_bytes": 2e8,
    "memory.refaults_per_s": 5.0,
    "memory.major_faults_per_s": 3.0,
    "disk.engine_read_bytes_per_s": 4096.0,
    "memory.swapped_in_per_s": 0.0,
    "memory.swap_used_bytes": 1e7,
    "memory.oom_kills": 1.0,
    "memory.wait_share": 0.01,
    "disk.device": "dm-0",
    "disk.util_share": 0.8,
    "disk.util_30s_share": 0.9,
    "disk.await_ms": 5.0,
    "disk.await_quiet_ms": 2.0,
    "disk.queue": 0.4,
    "disk.queue_growth": 4.5,
    "disk.read_bytes_per_s": 81_920.0,
    "disk.write_bytes_per_s": 3_932_160.0,
    "disk.request_bytes": 50_176.0,
    "disk.others_util_share": 0.04,
    "disk.stripe_imbalance": 1.2,
    "disk.wait_share": 0.09,
    "disk.some_wait_share": 0.12,
    "network.bytes_per_s": 3.75e7,
    "network.link_share": 0.2,
    "network.retransmit_share": 0.002,
    "network.drops_per_s": 1.0,
    "network.softirq_cpus": 1.0,
    "network.softirq_busiest_share": 0.02,
    "network.squeezes_per_s": 2.0,
    "cpu.migrations_per_s": 40.0,
    "network.migrations_per_s": 45.0,
}


def telemetry(
    counters: Mapping[str, float], gauges: Mapping[str, tuple[float, float, float]]
) -> TaskTelemetry:
    """Returns counters and gauges, whose keys are `NAME` or `NAME[LABEL=VALUE]`."""
    cuts = dict[str, list[tuple[dict[str, str], Any]]]()
    for key, value in counters.items():
        name, labels = split(key)
        cuts.setdefault(name, []).append((labels, CounterCut(value, SECONDS, SECONDS, None, 99, 0, 0)))
    for key, (low, mean, high) in gauges.items():
        name, labels = split(key)
        cuts.setdefault(name, []).append((labels, GaugeCut(mean, mean, low, mean, high, 99, 0)))
    return TaskTelemetry({name: tuple(found) for name, found in cuts.items()})


def split(key: str) -> tuple[str, dict[str, str]]:
    name, _, label = key.rstrip("]").partition("[")
    return name, dict(part.split("=") for part in label.split(",") if part)


def seconds(busy: float, count: int, first: int) -> list[DeviceInterval]:
    return [
        DeviceInterval(number * 10**9, (number + 1) * 10**9, 10.0, 20.0 if busy < 0.5 else 90.0, 1e3 * busy)
        for number in range(first, first + count)
    ]


HISTORY = HostHistory(
    {"dm-0": [*seconds(0.3, 50, 0), *seconds(0.9, 50, 50)]},
    {"0": [(at * 10**9, 3e9 if at <= 25 else 2.4e9) for at in range(0, 101, 5)]},
    busy_first(COUNTERS, SECONDS),
)


def test_the_figures_are_those_of_the_catalogue() -> None:
    figures = host_figures(telemetry(COUNTERS, GAUGES), TASK, HOST, HISTORY)
    assert set(figures) == set(EXPECTED)
    for name, value in EXPECTED.items():
        assert figures[name] == (value if isinstance(value, str) else pytest.approx(value)), name
    ours = {name for name, figure in FIGURES.items() if figure.source == "host sampler"}
    # The time of other processes and the waits are known, and there are no further clusters or nodes.
    unknown = ("other_least", "lacked_least", "lacked_possible", "further_engines", "started")
    assert set(figures) == ours - {f"cpu.{name}_share" for name in unknown}


@pytest.mark.parametrize(
    "missing", ["cpu.", "pressure.", "disk.", "network.", "cgroup.", "process.", "memory."]
)
def test_what_the_kernel_lacks_is_left_out(missing: str) -> None:
    counters = {key: value for key, value in COUNTERS.items() if not key.startswith(missing)}
    gauges = {key: value for key, value in GAUGES.items() if not key.startswith(missing)}
    figures = host_figures(telemetry(counters, gauges), TASK, HOST, HostHistory())
    assert 0 < len(figures) < len(EXPECTED)
    for name, value in figures.items():
        if name not in ("cpu.other_share", "cpu.lacked_share", "disk.util_share"):
            assert value == (EXPECTED[name] if isinstance(value, str) else pytest.approx(EXPECTED[name])), (
                name
            )


def test_a_host_without_counters_or_nodes_has_no_figures_of_them() -> None:
    assert host_figures(TaskTelemetry({}), TASK, HOST, HostHistory()) == {}
    figures = host_figures(telemetry(COUNTERS, GAUGES), TASK, SampledHost(), HostHistory())
    assert not {"cpu.engine_share", "disk.util_share", "network.link_share"} & set(figures)
    # Without speeds, all interfaces but loopback count.
    assert figures["network.bytes_per_s"] == pytest.approx((1.25e9 + 2.5e9 + 9e9) / SECONDS)


def test_virtual_interfaces_do_not_count_the_packets_of_physical_ones_again() -> None:
    sizes = {"eth0": 5e8, "eth1": 5e8, "bond0": 1e9, "bond0.100": 1e9, "br0": 1e9, "lo": 9e9}
    counters = {f"network.received_bytes[interface={name}]": size for name, size in sizes.items()}
    counters |= {f"network.sent_bytes[interface={name}]": 0 for name in sizes}
    for speeds in ({"eth0": 1.25e9, "eth1": 1.25e9}, {}):
        host = SampledHost(link_bytes_per_s=speeds, interfaces=("eth0", "eth1"))
        figures = host_figures(telemetry(counters, {}), TASK, host, HostHistory())
        assert figures["network.bytes_per_s"] == pytest.approx(1e9 / SECONDS)


@pytest.mark.parametrize(
    ("data", "other", "is_other"),
    [
        ("dm-1", "dm-10", True),
        ("md1", "md127", True),
        ("loop1", "loop10", True),
        ("nvme0n1", "nvme0n12", True),
        ("nvme0n1", "nvme0n1p12", False),
        ("md1", "md1p2", False),
        ("sda", "sda1", False),
        ("sda", "sdab", True),
    ],
)
def test_a_busy_device_whose_name_continues_that_of_the_data_is_another_one(data, other, is_other) -> None:
    per_s = {"reads": 10, "read_time": 20, "read_bytes": 1e6, "writes": 500, "write_time": 40}
    per_s |= {"write_bytes": 5e7, "busy_time": 980, "weighted_time": 60}
    counters = {
        f"disk.{name}[device={device}]": value * SECONDS
        for name, value in per_s.items()
        for device in (data, other)
    }
    known = {} if is_other else {other: data}
    for partitions in (None, known):
        host = SampledHost(("node-0",), {data: ()}, partitions=partitions)
        figures = host_figures(telemetry(counters, {}), TASK, host, HostHistory())
        expected = pytest.approx(0.98) if is_other else None
        assert figures.get("disk.others_util_share") == expected, partitions


def test_the_figures_are_those_of_the_cpus_that_the_nodes_may_use() -> None:
    cpus = {"cpu.user[cpu=0]": 89_000, "cpu.idle[cpu=0]": 7_000, "cpu.iowait[cpu=0]": 3_000}
    for selected, idle, other in (
        (frozenset({0}), 0.1, 0.0),
        # The counters of CPU 1 are missing.
        (frozenset({0, 1}), None, None),
        (frozenset(), 0.4, 0.09),
    ):
        host = SampledHost(
            ("node-0",),
            node_cpus=selected,
            process_cpus=dict.fromkeys(PROCESSES, selected),
            exact_interrupts=True,
        )
        figures = host_figures(telemetry({**COUNTERS, **cpus}, GAUGES), TASK, host, HostHistory())
        assert figures.get("cpu.idle_share") == (None if idle is None else pytest.approx(idle))
        assert figures.get("cpu.other_share") == (None if other is None else pytest.approx(other))
        # What the kernel counts for all CPUs says nothing about some of them.
        assert ("cpu.runnable" in figures, "cpu.wait_share" in figures) == (not selected, not selected)


def test_nodes_with_cpus_of_their_own_have_figures_of_their_own() -> None:
    cpus = {
        **{"cpu.user[cpu=0]": 79_000, "cpu.idle[cpu=0]": 20_000},
        **{"cpu.user[cpu=1]": 8_000, "cpu.idle[cpu=1]": 90_000},
        "process.user[process=node-1]": 10_000,
        "process.system[process=node-1]": 0,
        "process.run_queue_wait[process=node-0,threads=gc]": 6_000,
        "process.run_queue_wait[process=node-1,threads=other]": 500_000,
    }
    own = {"node-0": frozenset({0}), "node-1": frozenset({1}), "driver": frozenset({1})}
    host = SampledHost(("node-0", "node-1"), node_cpus=frozenset({0, 1}), process_cpus=own)
    by_node = node_cpu_figures(telemetry({**COUNTERS, **cpus}, {}), TASK, host)
    assert {node: figures["cpu.idle_share"] for node, figures in by_node.items()} == {
        "node-0": pytest.approx(0.2),
        "node-1": pytest.approx(0.9),
    }
    assert [figures["cpu.engine_share"] for figures in by_node.values()] == [
        pytest.approx(0.8),
        pytest.approx(0.1),
    ]
    # Node-1 waits for its own CPU, which takes nothing from node-0.
    assert [figures["cpu.engine_waiting"] for figures in by_node.values()] == [
        pytest.approx(0.16),
        pytest.approx(5.0),
    ]
    assert by_node["node-0"]["cpu.lacked_share"] == 0.0
    alike = SampledHost(("node-0",), node_cpus=frozenset({0}), process_cpus={"node-0": frozenset({0})})
    assert node_cpu_figures(telemetry({**COUNTERS, **cpus}, {}), TASK, alike) == {}


def test_processes_that_a_node_has_started_belong_to_the_engine() -> None:
    """As programs of an engine for machine learning."""
    counters = {**COUNTERS, "process.children_cpu[process=node-0]": 10_000}
    figures = host_figures(telemetry(counters, GAUGES), TASK, HOST, HostHistory())
    assert figures["cpu.engine_share"] == pytest.approx(0.45)
    assert figures["cpu.other_share"] == pytest.approx(0.04)
    several = replace(HOST, nodes=("node-0", "node-1"))
    of_nodes = node_cpu_figures(telemetry(counters, GAUGES), TASK, several)
    assert of_nodes["node-0"]["cpu.started_share"] == 0.05


def test_a_node_of_a_further_cluster_is_no_other_program() -> None:
    """It has half of what the engine waited for, as the driver has the other half."""
    engine = {"process.user[process=far: node-0]": 10_000, "process.system[process=far: node-0]": 0}
    children = {"process.children_cpu[process=far: node-0]": 2_000}
    host = replace(HOST, further_engines=("far: node-0",))
    counters = {**COUNTERS, **engine, **children}
    history = HostHistory(cpu_times=busy_first(counters, SECONDS))
    figures = host_figures(telemetry(counters, GAUGES), TASK, host, history)
    assert figures["cpu.further_engines_share"] == pytest.approx(0.06)
    assert figures["cpu.other_share"] == pytest.approx(0.03)
    alone = host_figures(telemetry(counters, GAUGES), TASK, HOST, history)
    assert (figures["cpu.engine_share"], figures["cpu.driver_share"]) == (
        alone["cpu.engine_share"],
        alone["cpu.driver_share"],
    )
    assert float(figures["cpu.lacked_share"]) < float(alone["cpu.lacked_share"])
    unread = host_figures(telemetry(COUNTERS, GAUGES), TASK, host, HostHistory())
    assert not {"cpu.other_share", "cpu.further_engines_share"} & set(unread)


def test_other_programs_are_unknown_if_not_all_that_a_node_has_started_is_read() -> None:
    unread = replace(HOST, unread_children=frozenset({"node-0"}))
    figures = host_figures(telemetry(COUNTERS, GAUGES), TASK, unread, HostHistory())
    assert not {"cpu.engine_share", "cpu.other_share", "cpu.lacked_share"} & set(figures)
    counters = {**COUNTERS, "process.children_cpu[process=node-0]": 10_000}
    figures = host_figures(telemetry(counters, GAUGES), TASK, unread, HostHistory())
    assert figures["cpu.other_share"] == pytest.approx(0.04)


def pinned(engine_ms: float, driver_ms: float, **process_cpus: frozenset[int]) -> dict[str, float | str]:
    """The figures of CPU 0, to which node-0 is bound, where others have 40 % of the time; engine and driver
    have this much time in ms.
    """
    counters = {
        **{"cpu.user[cpu=0]": engine_ms + 40_000, "cpu.idle[cpu=0]": 60_000 - engine_ms},
        **{"process.user[process=node-0]": engine_ms, "process.system[process=node-0]": 0},
        **{"process.user[process=driver]": driver_ms, "process.system[process=driver]": 0},
        "process.run_queue_wait[process=node-0,threads=other]": 40_000,
    }
    own = {"node-0": frozenset({0}), **process_cpus}
    host = SampledHost(("node-0",), node_cpus=frozenset({0}), process_cpus=own)
    return host_figures(telemetry(counters, {}), TASK, host, HostHistory())


def test_the_time_of_a_driver_that_may_use_other_cpus_is_not_taken_from_other_programs() -> None:
    unknown = {"cpu.driver_share", "cpu.other_share", "cpu.lacked_share"}
    for allowed in ({}, {"driver": frozenset({0, 1})}):
        figures = pinned(50_000, 100_000, **allowed)
        assert figures["cpu.engine_share"] == pytest.approx(0.5)
        assert not {*unknown, "cpu.other_least_share"} & set(figures)
        # Others and the driver had 40 %: at most 15 % was the driver's, for which the engine may have waited.
        figures = pinned(50_000, 15_000, **allowed)
        assert figures["cpu.other_least_share"] == pytest.approx(0.25)
        assert figures["cpu.lacked_least_share"] == pytest.approx(0.25 / 0.75)
        assert not unknown & set(figures)
        # It waited for 40 % of the time, of which it may have waited for the driver in 30 %.
        figures = pinned(45_000, 30_000, **allowed)
        assert figures["cpu.lacked_least_share"] == pytest.approx(0.1 / 0.55)
        # So little time does not matter.
        figures = pinned(50_000, 1_000, **allowed)
        assert figures["cpu.driver_share"] == pytest.approx(0.01)
        assert figures["cpu.other_share"] == pytest.approx(0.39)
    apart = pinned(50_000, 100_000, driver=frozenset({1}))
    assert (apart["cpu.driver_share"], apart["cpu.other_share"]) == (0.0, pytest.approx(0.4))
    assert apart["cpu.lacked_share"] == pytest.approx(0.4 / 0.9)
    # The engine waited for the driver, too.
    beside = pinned(50_000, 10_000, driver=frozenset({0}))
    assert beside["cpu.other_share"] == pytest.approx(0.3)
    assert beside["cpu.lacked_share"] == pytest.approx(0.3 / 0.8)


def test_a_node_that_may_use_other_cpus_leaves_open_who_had_those_of_another_node() -> None:
    counters = {
        **COUNTERS,
        **{"cpu.user[cpu=0]": 90_000, "cpu.idle[cpu=0]": 10_000},
        **{"process.user[process=node-1]": 60_000, "process.system[process=node-1]": 0},
        "process.run_queue_wait[process=node-1,threads=other]": 500_000,
    }
    own = {"node-0": frozenset({0}), "driver": frozenset({1})}
    host = SampledHost(("node-0", "node-1"), process_cpus=own)
    figures = node_cpu_figures(telemetry(counters, {}), TASK, host)["node-0"]
    own_cpus = {"cpu.idle_share", "cpu.user_share", "cpu.system_share", "cpu.driver_share"}
    assert set(figures) == own_cpus | {"cpu.throttled_periods_share", "cpu.throttled_share"}


def test_a_node_without_a_quota_is_not_throttled() -> None:
    counters = {
        **COUNTERS,
        "cgroup.cpu_periods[process=node-0]": 0,
        "cgroup.throttled_periods[process=node-0]": 0,
    }
    figures = host_figures(telemetry(counters, GAUGES), TASK, HOST, HostHistory())
    assert figures["cpu.throttled_periods_share"] == 0.0


def test_the_host_is_read_from_the_race_record() -> None:
    document = {
        "nodes": ["node-0"],
        "data_devices": [
            {"node": "node-0", "path": "/d", "device": "dm-0", "disks": ["sda", "sdb"]},
            {"node": "node-0", "path": "/m", "device": None, "disks": []},
            "damaged",
        ],
        "link_bytes_per_s": {"eth0": 1.25e8},
        "interfaces": ["eth0"],
        "partitions": {"sda1": "sda"},
        "process_cpus": {"node-0": [2, 3]},
        "exact_interrupts": True,
    }
    expected = replace(
        HOST,
        process_cpus={"node-0": frozenset({2, 3})},
        interfaces=("eth0",),
        partitions={"sda1": "sda"},
    )
    assert SampledHost.from_record({"host-sampler": document}) == expected
    for telemetry_values in ({}, {"host-sampler": None}):
        assert SampledHost.from_record(telemetry_values) == SampledHost()
    assert SampledHost.from_record({"host-sampler": {"nodes": ["node-0"]}}).process_cpus == {}


def test_earlier_versions_recorded_the_cpus_of_all_nodes_together() -> None:
    values = {"host-sampler": {"nodes": ["a", "b"], "node_cpus": [0, 1]}}
    both = frozenset({0, 1})
    assert SampledHost.from_record(values).process_cpus == {"a": both, "b": both}
    expected = {"a": both, "b": both, "driver": frozenset({2, 3})}
    assert SampledHost.from_record(values, "2-3").process_cpus == expected
    # What is recorded of single processes is all.
    values["host-sampler"]["process_cpus"] = {}  # type: ignore[assignment]
    assert SampledHost.from_record(values, "2-3").process_cpus == {}


def test_an_engine_that_its_quota_stopped_lacked_nothing() -> None:
    """The kernel counts that its threads wait for a core, which they could not have used."""
    stopped = {**COUNTERS, "cgroup.throttled_periods[process=node-0]": 1_000}
    assert host_figures(telemetry(stopped, GAUGES), TASK, HOST, HISTORY)["cpu.lacked_share"] == 0
    # The quota of a group around its own.
    around = {
        **COUNTERS,
        "cgroup.cpu_periods[process=node-0,group=/pod]": 1_000,
        "cgroup.throttled_periods[process=node-0,group=/pod]": 500,
    }
    half = TAKEN / 0.96 / 2
    figures = host_figures(telemetry(around, GAUGES), TASK, HOST, HISTORY)
    assert figures["cpu.lacked_share"] == pytest.approx(half / (0.4 + half))


def in_one_group(*members: str) -> tuple[TaskTelemetry, SampledHost]:
    """Two nodes in one control group with a CPU quota, which stops it in 90 % of the periods; the sampler
    reads the group once.
    """
    counters = {
        **COUNTERS,
        "cgroup.throttled_periods[process=node-0]": 900,
        "process.user[process=node-1]": 1_000,
        "process.system[process=node-1]": 0,
        "process.run_queue_wait[process=node-1,threads=other]": 1_000,
    }
    groups = {f"{member}: control group": "it is that of node-0" for member in members}
    document = {"nodes": ["node-0", "node-1"], "process_cpus": {}, "not_available": groups}
    return telemetry(counters, GAUGES), SampledHost.from_record({"host-sampler": document})


def test_nodes_that_share_a_control_group_are_stopped_alike() -> None:
    """As with one node, they could not have used what others had while their quota stopped them."""
    taken = []
    for members in (("node-1", "driver"), ()):
        values, host = in_one_group(*members)
        lacked = host_figures(values, TASK, host, HISTORY)["cpu.lacked_share"]
        assert isinstance(lacked, float)
        taken.append(lacked / (1 - lacked))
    # Of the time that others had, they lacked a tenth.
    assert taken[0] == pytest.approx(taken[1] / 10)
    values, host = in_one_group("node-1")
    by_node = node_cpu_figures(values, TASK, host)
    assert (
        by_node["node-0"]
        == by_node["node-1"]
        == {
            "cpu.throttled_periods_share": pytest.approx(0.9),
            "cpu.throttled_share": pytest.approx(0.01),
        }
    )


def test_each_of_several_nodes_has_the_figures_of_its_own_quota() -> None:
    quota = {
        "cgroup.cpu_periods[process=node-1]": 1_000,
        "cgroup.throttled_periods[process=node-1]": 0,
        "cgroup.throttled_time[process=node-1]": 0,
        "cgroup.cpu_periods[process=node-1,group=/pod]": 1_000,
        "cgroup.throttled_periods[process=node-1,group=/pod]": 10,
    }
    nodes = SampledHost(("node-0", "node-1"), process_cpus={})
    by_node = node_cpu_figures(telemetry({**COUNTERS, **quota}, GAUGES), TASK, nodes)
    shares = {node: figures["cpu.throttled_periods_share"] for node, figures in by_node.items()}
    assert shares == {"node-0": pytest.approx(0.04), "node-1": pytest.approx(0.01)}
    # The outermost group has no counters, and no quota.
    outermost = node_cpu_figures(telemetry(COUNTERS, GAUGES), TASK, nodes)["node-1"]
    assert outermost["cpu.throttled_periods_share"] == 0.0
    # Of all nodes, it is that of the node that was stopped longest.
    all_nodes = host_figures(telemetry({**COUNTERS, **quota}, GAUGES), TASK, nodes, HISTORY)
    assert all_nodes["cpu.throttled_periods_share"] == pytest.approx(0.04)


def test_the_waits_of_nodes_are_not_known_if_those_of_one_are_not() -> None:
    nodes = replace(HOST, nodes=("node-0", "node-1"))
    counters = {**COUNTERS, "process.user[process=node-1]": 10.0, "process.system[process=node-1]": 10.0}
    figures = host_figures(telemetry(counters, GAUGES), TASK, nodes, HISTORY)
    assert "cpu.engine_waiting" not in figures
    assert "cpu.engine_share" in figures


def test_interrupts_are_not_other_programs() -> None:
    """The kernel handles the packets of engine and driver in a quarter of the time, and nothing else runs."""
    counters = {
        **{key: value for key, value in COUNTERS.items() if not key.startswith("cpu.")},
        "cpu.user": 90_000,
        "cpu.idle": 60_000,
        "cpu.softirq": 50_000,
    }
    figures = host_figures(telemetry(counters, GAUGES), TASK, HOST, HISTORY)
    assert (figures["cpu.system_share"], figures["cpu.other_share"]) == (0.25, 0.0)
    assert figures["cpu.lacked_share"] == 0.0


def beside_interrupts(exact: bool | None, driver: frozenset[int] | None = None) -> dict[str, float | str]:
    """The figures of CPU 0, where the engine has 50 % of the time, the driver 10 %, other programs 26 % and
    nothing 14 %. Interrupts stopped these programs for 18 % of the time, which a kernel without exact times
    counts for them; the driver may use CPU 0 or, if stated, these.
    """
    counters = {
        **{"cpu.user[cpu=0]": 68_000, "cpu.idle[cpu=0]": 14_000, "cpu.softirq[cpu=0]": 18_000},
        **{"process.user[process=node-0]": 45_000, "process.system[process=node-0]": 5_000},
        **{"process.user[process=driver]": 2_000, "process.system[process=driver]": 8_000},
        "process.run_queue_wait[process=node-0,threads=other]": 50_000,
    }
    own = {"node-0": frozenset({0}), "driver": driver or frozenset({0})}
    host = SampledHost(("node-0",), node_cpus=frozenset({0}), process_cpus=own, exact_interrupts=exact)
    return host_figures(telemetry(counters, {}), TASK, host, HostHistory())


def test_interrupts_in_the_times_of_processes_are_not_subtracted_again() -> None:
    inexact, exact, unknown = beside_interrupts(False), beside_interrupts(True), beside_interrupts(None)
    assert inexact["cpu.other_share"] == pytest.approx(0.26)
    assert inexact["cpu.lacked_share"] == pytest.approx(0.26 / 0.76)
    # With exact times, the same counters are those of other programs with less time.
    assert exact["cpu.other_share"] == pytest.approx(0.08)
    assert exact["cpu.lacked_share"] == pytest.approx(0.08 / 0.58)
    # Others are blamed for what is certain; the engine is excused by what is possible.
    assert "cpu.other_share" not in unknown
    assert unknown["cpu.other_least_share"] == pytest.approx(0.08)
    assert unknown["cpu.lacked_share"] == pytest.approx(0.26 / 0.76)
    assert not {"cpu.lacked_least_share"} & {*inexact, *exact, *unknown}


def test_a_driver_that_may_use_other_cpus_leaves_at_least_what_is_known_without_interrupts() -> None:
    both = frozenset({0, 1})
    least = {exact: beside_interrupts(exact, both)["cpu.other_least_share"] for exact in (True, False, None)}
    assert least == {
        True: pytest.approx(0.08),
        False: pytest.approx(0.26),
        None: pytest.approx(0.08),
    }


def test_few_interrupts_do_not_leave_open_what_others_had() -> None:
    counters = {**COUNTERS, "cpu.softirq": 2_000}
    for exact in (True, None):
        figures = host_figures(
            telemetry(counters, GAUGES), TASK, replace(HOST, exact_interrupts=exact), HISTORY
        )
        assert "cpu.other_share" in figures
        assert "cpu.other_least_share" not in figures
