from __future__ import annotations

import pytest

from diagnose.cuts import BEGIN_NS, TASK, counter, gauge, telemetry
from pacenote.diagnose.facts import EvidenceBuilder, TaskFacts, Window
from pacenote.diagnose.host_facts import SOURCE, HostParts, add_host_figures, busiest_share
from pacenote.diagnose.telemetry_series import CutTask

S = 1_000_000_000
SERIES = (
    *(counter(f"cpu.{state}", ms) for state, ms in (("user", 900), ("nice", 100), ("system", 200))),
    *(counter(f"cpu.{state}", ms) for state, ms in (("idle", 500), ("iowait", 100), ("steal", 200))),
    *(counter(f"process.{which}", ms, process="a") for which, ms in (("user", 500), ("system", 100))),
    *(counter(f"process.{which}", ms, process="driver") for which, ms in (("user", 150), ("system", 50))),
    counter("process.major_faults", 7, process="a"),
    counter("cgroup.cpu_periods", 10, process="a"),
    counter("cgroup.throttled_periods", 4, process="a"),
    counter("cgroup.throttled_time", 300, process="a"),
    counter("pressure.cpu.some", 250),
    counter("pressure.io.full", 120),
    counter("pressure.memory.some", 10),
    gauge("cpu.runnable", 2, 4),
    gauge("memory.total", 1000),
    gauge("memory.available", 400, 100, 300),
    gauge("memory.page_cache", 200, 400),
    gauge("memory.swap_total", 500),
    gauge("memory.swap_free", 400, 450),
    counter("memory.swapped_in", 8192),
    counter("memory.file_refaults", 33),
    counter("disk.reads", 10, device="vda"),
    counter("disk.writes", 40, device="vda"),
    counter("disk.read_time", 50, device="vda"),
    counter("disk.write_time", 450, device="vda"),
    counter("disk.read_bytes", 1000, device="vda"),
    counter("disk.write_bytes", 4000, device="vda"),
    counter("disk.busy_time", 300, device="vda"),
    counter("disk.busy_time", 900, device="vda1"),
    counter("disk.busy_time", 20, device="vdb"),
    *(counter("network.received_bytes", rate, interface=name) for name, rate in (("lo", 1e9), ("eth0", 60))),
    *(counter("network.sent_bytes", rate, interface=name) for name, rate in (("lo", 1e9), ("eth0", 40))),
    counter("network.receive_drops", 1, interface="eth0"),
    counter("tcp.sent_segments", 1000),
    counter("tcp.retransmissions", 5),
    *(counter("softnet.time_squeezes", 2, cpu=cpu) for cpu in "01"),
    *(counter("softnet.drops", 0.5, cpu=cpu) for cpu in "01"),
    *(counter("softirq.net_rx", rate, cpu=cpu) for cpu, rate in (("0", 990), ("1", 10))),
    *(counter("cpu.softirq", ms, cpu=cpu) for cpu, ms in (("0", 700), ("1", 1))),
)
EXPECTED = {
    "cpu.idle_share": 0.3,
    "cpu.user_share": 0.5,
    "cpu.system_share": 0.1,
    "cpu.steal_share": 0.1,
    "cpu.engine_share": 0.3,
    "cpu.driver_share": 0.1,
    "cpu.other_share": 0.2,
    "cpu.runnable": 3,
    "cpu.wait_share": 0.25,
    "cpu.throttled_periods_share": 0.4,
    "cpu.throttled_share": 0.3,
    "memory.major_faults_per_s": 7,
    "memory.available_share": 0.1,
    "memory.page_cache_bytes": 300,
    "memory.refaults_per_s": 33,
    "memory.swapped_in_per_s": 2,
    "memory.swap_used_bytes": 100,
    "memory.wait_share": 0.01,
    "disk.wait_share": 0.12,
    "disk.util_share": 0.3,
    "disk.await_ms": 10,
    "disk.queue": 0.5,
    "disk.write_bytes_per_s": 4000,
    "disk.request_bytes": 100,
    "disk.others_util_share": 0.02,
    "network.bytes_per_s": 100,
    "network.link_share": 0.6,
    "network.retransmit_share": 0.005,
    "network.drops_per_s": 2,
    "network.squeezes_per_s": 4,
    "network.softirq_cpus": 1,
    "network.softirq_busiest_share": 0.7,
}


def test_samples_of_the_host_become_figures() -> None:
    builder = EvidenceBuilder("race", [TaskFacts(TASK, "indexing")])
    parts = HostParts(nodes=("a",), devices={"a": "vda"}, link_bytes_per_s=100)
    add_host_figures(builder, telemetry(SOURCE, *SERIES), parts)
    found = builder.build()
    for name, value in EXPECTED.items():
        assert found.value(Window(TASK, "a"), name) == pytest.approx(value), name
    assert not isinstance(found.value(Window(TASK, "a"), "disk.some_wait_share"), float)
    assert not isinstance(found.value(Window(TASK, "a"), "memory.oom_kills"), float)


def test_a_race_without_samples_of_the_host_says_so() -> None:
    builder = EvidenceBuilder("race", [TaskFacts(TASK, "indexing")])
    add_host_figures(builder, telemetry(SOURCE), HostParts())
    assert builder.build().missing == {Window(): {"host sampler": "the host was not sampled"}}


def test_the_busiest_30_s_of_a_task_are_found() -> None:
    task = CutTask(TASK, BEGIN_NS, BEGIN_NS + 100 * S)
    busy = [0.0]
    for second in range(100):
        busy.append(busy[-1] + (980 if 40 <= second < 70 else 100))
    points = [(BEGIN_NS + at * S, value) for at, value in enumerate(busy)]
    assert busiest_share(points, task) == pytest.approx(0.98)
    assert busiest_share(points[:11], task) == pytest.approx(0.1)
    assert busiest_share([(time, None) for time, _ in points], task) is None
    assert busiest_share(points[:1], task) is None
    assert busiest_share([(time - 1000 * S, value) for time, value in points], task) is None
