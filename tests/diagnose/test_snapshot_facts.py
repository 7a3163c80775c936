"""The figures of the configuration."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import Evidence, EvidenceBuilder, Window
from pacenote.diagnose.snapshot_facts import NO_SNAPSHOT, OTHER_HOST, add_snapshot_figures, node_names
from pacenote.model.race_record import RaceRecord, RecordedCluster
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.model.started_node import StartedNode
from support.records import record

FACTS = {
    "machine.runs": "the driver and the engine",
    "node.n0.jvm.vm_name": "OpenJDK 64-Bit Server VM",
    "node.n0.jvm.version": "21.0.4",
    "node.n0.jvm.mem.heap_max_in_bytes": "1000000000",
    "node.n0.jvm.flag.MaxHeapSize": "1073741824",
    "node.n0.jvm.flag.InitialHeapSize": "536870912",
    "node.n0.jvm.flag.ParallelGCThreads": "2",
    "node.n0.jvm.flag.G1HeapRegionSize": "1048576",
    "node.n0.jvm.using_compressed_ordinary_object_pointers": "true",
    "node.n0.os.allocated_processors": "2",
    "node.n0.os.available_processors": "8",
    "node.n0.process.mlockall": "false",
    "node.n0.process.cgroup.cpu.max": "150000 100000",
    "node.n0.process.cgroup.memory.max": "2147483648",
    "setting.indices.memory.index_buffer_size": "10%",
    "setting.http.compression": "true",
    "index.logs-1.number_of_shards": "1",
    "index.logs-1.number_of_replicas": "0",
    "index.logs-2.number_of_shards": "2",
    "index.logs-2.number_of_replicas": "1",
    "index.logs-2.refresh_interval": "30s",
    "index_default.refresh_interval": "1s",
    "index_default.translog.flush_threshold_size": "512mb",
    "index_default.translog.durability": "REQUEST",
    "index_default.codec": "default",
    "cpu.online": "0-1",
    "cpu.numa_nodes": "0",
    "cpu.vector_instructions": "avx avx2",
    "memory.total_kb": "8388608",
    "memory.swap_kb": "0",
    "sysctl.vm.swappiness": "60",
    "kernel.transparent_huge_pages.enabled": "madvise",
    "disk.data.n0.0.mount_point": "/",
    "disk.data.n0.0.device": "dm-0",
    "disk.data.n0.0.device.read_ahead_kb": "128",
    "disk.data.n0.0.device.rotational": "1",
    "disk.data.n0.0.device.made_of": "dasda dasdb",
    "network.eth0.rx_queues": "1",
    "network.eth0.rps_cpus": "0",
    "network.eth0.rps_flow_cnt": "4096",
    "network.eth0.speed": "10000",
    "sysctl.net.core.rps_sock_flow_entries": "32768",
}

EXPECTED = {
    "jvm.name": "HotSpot",
    "jvm.heap_max_bytes": float(1 << 30),
    "jvm.heap_initial_bytes": float(1 << 29),
    "jvm.gc_threads": 2.0,
    "jvm.compressed_oops": True,
    "gc.region_bytes": float(1 << 20),
    "engine.processors": 2.0,
    "engine.available_processors": 8.0,
    "engine.memory_lock": False,
    "engine.index_buffer_bytes": (1 << 30) * 0.1,
    "engine.http_compression": True,
    "engine.data_paths": 1.0,
    "engine.shards": 3.0,
    "engine.replicas": 1.0,
    "engine.refresh_interval_s": 1.0,
    "engine.translog_threshold_bytes": float(512 << 20),
    "engine.async_translog": False,
    "engine.codec": "default",
    "engine.distribution": "opensearch",
    "engine.version": "3.3.0",
    "engine.nodes": 1.0,
    "host.cores": 2.0,
    "host.usable_cores": 2.0,
    "host.numa_nodes": 1.0,
    "host.memory_bytes": float(2 << 30),
    "host.quota_cores": 1.5,
    "host.swappiness": 60.0,
    "host.swap_bytes": 0.0,
    "host.deflate_hardware": False,
    "jvm.transparent_huge_pages": "madvise",
    "disk.device": "dm-0",
    "disk.read_ahead_bytes": 131_072.0,
    "disk.rotational": True,
    "disk.stripes": 2.0,
    "disk.is_dasd": True,
    "network.rx_queues": 1.0,
    "network.rps": False,
    "network.rfs": True,
}


def evidence_of(facts: dict[str, str] | None, race: RaceRecord | None = None) -> Evidence:
    builder = EvidenceBuilder("r")
    snapshot = None if facts is None else RaceSnapshot(Snapshot(), Snapshot(facts))
    add_snapshot_figures(builder, race or record(), snapshot)
    return builder.build()


def test_the_configuration_is_read_from_the_facts() -> None:
    evidence = evidence_of(FACTS)
    assert {name: evidence.value(Window("t", "n0"), name) for name in EXPECTED} == EXPECTED
    assert node_names(FACTS) == ("n0",)


def test_nodes_that_pacenote_starts_listen_on_loopback_only() -> None:
    started = RecordedCluster(started_nodes=(StartedNode(name="n0"),))
    evidence = evidence_of(FACTS, replace(record(), cluster=started))
    assert evidence.value(Window("t", "n0"), "network.is_loopback") is True
    existing = evidence_of(FACTS, replace(record(), cluster=RecordedCluster()))
    assert isinstance(existing.value(Window("t", "n0"), "network.is_loopback"), Unknown)


def test_other_forms_of_facts() -> None:
    for key, text, name, expected in (
        ("node.n0.jvm.vm_name", "Eclipse OpenJ9 VM", "jvm.name", "OpenJ9"),
        ("node.n0.setting.indices.memory.index_buffer_size", "64mb", "engine.index_buffer_bytes", 64 << 20),
        ("index_default.refresh_interval", "-1", "engine.refresh_interval_s", 30.0),
        ("index.logs-1.refresh_interval", "100ms", "engine.refresh_interval_s", 0.1),
        ("index.logs-1.translog.durability", "async", "engine.async_translog", True),
        ("index.logs-1.codec", "best_compression", "engine.codec", "best_compression+default"),
        ("node.n0.process.cgroup.memory.max", "max", "host.memory_bytes", float(8 << 30)),
    ):
        assert evidence_of(FACTS | {key: text}).value(Window("t", "n0"), name) == expected, key


@pytest.mark.parametrize(
    ("allowed", "cores"), [("0-1", 2.0), ("1", 1.0), ("1,5", 1.0), ("", 2.0), ("some", 2.0)]
)
def test_a_node_has_the_processors_that_it_may_use(allowed: str, cores: float) -> None:
    facts = FACTS | {"node.n0.process.cpus_allowed": allowed}
    assert evidence_of(facts).value(Window("t", "n0"), "host.usable_cores") == cores


def test_facts_that_cannot_be_read_are_missing() -> None:
    for key, text, name in (
        ("node.n0.process.cgroup.cpu.max", "max", "host.quota_cores"),
        ("cpu.online", "some", "host.cores"),
        ("network.eth1.rx_queues", "4", "network.rx_queues"),
        ("node.n0.jvm.using_compressed_ordinary_object_pointers", "unknown", "jvm.compressed_oops"),
        ("index_default.translog.flush_threshold_size", "much", "engine.translog_threshold_bytes"),
    ):
        value = evidence_of(FACTS | {key: text}).value(Window("t", "n0"), name)
        assert isinstance(value, Unknown), key


def test_the_machine_of_an_engine_elsewhere_is_not_that_of_the_driver() -> None:
    evidence = evidence_of(FACTS | {"machine.runs": "the driver; the host of the engine is not known"})
    for name in ("host.cores", "disk.device"):
        assert evidence.value(Window("t", "n0"), name) == Unknown(((name, OTHER_HOST),))
    assert evidence.value(Window("t", "n0"), "jvm.name") == "HotSpot"
    assert evidence.value(Window("t", "n0"), "network.rps") is False, "requests go through its network"


def test_without_a_snapshot_its_figures_are_missing() -> None:
    value = evidence_of(None).value(Window("t", "n0"), "jvm.name")
    assert value == Unknown((("jvm.name", NO_SNAPSHOT),))


@pytest.mark.parametrize(
    "changes",
    [
        {"disk.data.n0.0.device": "vda", "disk.data.n0.0.device.made_of": ""},
        {"disk.data.n0.0.device.made_of": "xvdb"},
    ],
)
def test_the_kernel_does_not_know_whether_a_virtual_disk_rotates(changes: dict[str, str]) -> None:
    evidence = evidence_of({**FACTS, **changes})
    assert isinstance(evidence.value(Window(node="n0"), "disk.rotational"), Unknown)


def test_fields_that_the_race_has_added_are_counted() -> None:
    facts = {"reading.mapping.indices": "2", "reading.mapping.fields": "1040", "reading.mapping.bytes": "900"}
    after = Snapshot({**FACTS, **facts})
    builder = EvidenceBuilder("r")
    before = Snapshot({**FACTS, "reading.mapping.fields": "40"})
    add_snapshot_figures(builder, record(), RaceSnapshot(before, after))
    evidence = builder.build()
    for name, value in (("fields_added", 1_000), ("indices", 2), ("mapping_bytes", 900)):
        assert evidence.number(Window(), f"engine.{name}") == value
    # A race that ended early has no second snapshot.
    early = EvidenceBuilder("r")
    add_snapshot_figures(early, record(), RaceSnapshot(after))
    assert early.build().number(Window(), "engine.fields_added") is None


def test_of_a_snapshot_with_very_many_nodes_some_are_read() -> None:
    facts = {f"node.n{number}.jvm.version": "21" for number in range(50_000)}
    assert node_names(facts) == tuple(f"n{number}" for number in range(40))
