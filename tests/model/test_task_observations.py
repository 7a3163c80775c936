"""What is observed of engine and host while tasks run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from diagnose.cuts import TASK, counter, gauge, telemetry
from pacenote.model.cluster_states import ClusterState
from pacenote.model.race_record import RaceRecord, RecordedCluster
from pacenote.model.reported_cpu import MOST_ON_HOST, NodePlace, node_places, nodes_beside
from pacenote.model.same_machine import largest_sum
from pacenote.model.task_observations import (
    KEY,
    TaskObservation,
    lacked_shares,
    possible_lacked_shares,
    signs_of_saturation,
    task_observations,
    with_observations,
)
from pacenote.model.telemetry_cuts import TelemetryCuts
from support.records import bulk, record

NODES = ({"name": "a"}, {"name": "b"})


def places(nodes: Sequence[Mapping[str, object]]) -> dict[str, NodePlace]:
    return node_places(nodes, {}, ())


def race(observation: TaskObservation, nodes: int = 1) -> RaceRecord:
    """A race of one task during which this was observed."""
    cluster = RecordedCluster("opensearch", "3.3.0", nodes=NODES[:nodes])
    return with_observations(record(tasks=(bulk(),), cluster=cluster), {TASK: observation})


def test_observations_are_those_of_the_host_that_is_busiest_with_others() -> None:
    cuts = telemetry(
        "node-counters",
        counter("process.cpu.total", 1000, node="near"),
        counter("process.cpu.total", 1000, node="far"),
        gauge("os.cpu.percent", 90.0, node="near"),
        gauge("os.cpu.percent", 80.0, node="far"),
        gauge("cluster.status", 0.0, 1.0),
        gauge("cluster.relocating_shards", 0.0, 2.0, 0.0),
    )
    figures = [{"cpu.other_share": 0.1, "cpu.steal_share": 0.01}, {"cpu.other_share": 0.3}]
    facts = {"node.near.os.allocated_processors": "4", "node.far.os.allocated_processors": "4"}
    observation = task_observations(cuts, facts, {TASK: figures}, ["near"])[TASK]
    assert observation.other_share == pytest.approx(0.55)
    assert observation.cluster == ClusterState("yellow", 2.0)
    # The far node had 1 of 4 cores, and other programs 2.2: 20 % of its cores were idle, and whether it
    # waited for the others is not known.
    assert (observation.lacked_share, observation.steal_share) == (None, 0.01)
    assert observation.lacked_possible_share == pytest.approx(0.55 / 0.8)
    assert TaskObservation.from_document(observation.to_document()) == observation
    race = record(telemetry={"task-observations": {TASK: observation.to_document()}})
    assert (lacked_shares(race), possible_lacked_shares(race)) == ({}, {TASK: pytest.approx(0.55 / 0.8)})
    # The CPUs of one node are shared with more programs than those of all.
    assert task_observations(cuts, {}, {TASK: figures}, ["near"])[TASK].other_share == 0.3
    # Without nodes, the host that was sampled is that of the driver.
    observation = task_observations(cuts, {}, {TASK: [{"cpu.steal_share": 0.3}]}, [])
    assert observation[TASK].steal_share is None
    assert task_observations(cuts, {}, {}, [])[TASK].other_share is None


def test_how_much_of_its_processors_an_engine_used_is_that_of_its_busiest_node() -> None:
    cuts = telemetry(
        "node-counters",
        counter("process.cpu.total", 1800, node="near"),
        counter("process.cpu.total", 3600, node="far"),
        gauge("os.cpu.percent", 95.0, node="far"),
    )
    gauges = telemetry(
        "node-gauges",
        gauge("thread_pool.search.queue", 0.0, 8.0, node="near"),
        gauge("thread_pool.write.queue", 1.0, node="far"),
        gauge("thread_pool.get.queue", 90.0, node="far"),
    )
    cuts = TelemetryCuts(cuts.tasks, (*cuts.series, *gauges.series))
    facts = {"node.far.os.available_processors": "4"}
    figures = [{"cpu.engine_share": 0.45, "cpu.idle_share": 0.45}]
    observation = task_observations(cuts, facts, {TASK: figures}, ["near"])[TASK]
    # The far node had 90 % of its processors, other programs 5 %, and 5 % were idle.
    assert observation.used_share == pytest.approx(0.9)
    assert observation.queued == {"search": 4.0, "write": 1.0}
    alone = task_observations(telemetry("node-counters"), {}, {TASK: figures}, ["near"])[TASK]
    assert (alone.used_share, alone.queued) == (0.45, {})
    stored = signs_of_saturation(with_observations(record(tasks=(bulk(),)), {TASK: observation}))
    assert stored[TASK] == TaskObservation(used_share=observation.used_share, queued=observation.queued)


@pytest.mark.parametrize(
    ("shares", "used_share"),
    [
        # Nothing was idle, but the engine had only 8 % of the time: others had the rest.
        ({"engine": 0.08, "idle": 0.0, "driver": 0.0, "other": 0.91}, 0.08 / 0.99),
        ({"engine": 0.08, "idle": 0.0, "driver": 0.0, "other": 0.02, "steal": 0.9}, 0.08),
        ({"engine": 0.5, "idle": 0.02, "driver": 0.48, "other": 0.0}, 0.5),
        # The kernel counts 10 % of the time for interrupts, of no process.
        ({"engine": 0.84, "idle": 0.02, "driver": 0.02, "other": 0.01, "steal": 0.01}, 0.84 / 0.9),
        # What others had is not known, or only what it was at least.
        ({"engine": 0.08, "idle": 0.0}, 0.08),
        ({"engine": 0.08, "idle": 0.0, "driver": 0.02, "other_least": 0.72}, 0.08),
        ({"engine": 0.5, "idle": 0.02, "other": 0.0}, 0.5),
        ({"engine": 0.95, "idle": 0.01}, 0.95),
        ({"idle": 0.0, "driver": 0.5, "other": 0.0}, None),
    ],
)
def test_an_engine_did_not_use_its_processors_if_others_did(
    shares: dict[str, float], used_share: float | None
) -> None:
    """Others are the driver, other programs and other guests of the host."""
    figures = {f"cpu.{name}_share": share for name, share in shares.items()}
    observation = task_observations(telemetry("node-counters"), {}, {TASK: [figures]}, ["near"])[TASK]
    assert observation.used_share == pytest.approx(used_share)


def test_what_others_had_beside_a_node_that_is_not_sampled_is_not_what_it_used() -> None:
    """A driver beside it had 35 % of the processors, or another node, which is the engine, too."""
    facts = {f"node.{node}.os.available_processors": "4" for node in "ab"}
    for percent in (95.0, 100.0):
        observation = task_observations(beside_driver(1.4, 4, percent), facts, {}, [])[TASK]
        assert observation.used_share == pytest.approx(0.6)
    cuts = telemetry(
        "node-counters",
        *(counter("process.cpu.total", 1900, node=node) for node in "ab"),
        *(gauge("os.cpu.percent", 97.0, node=node) for node in "ab"),
    )
    together = places([{"name": name, "host": "10.0.0.1"} for name in "ab"])
    assert task_observations(cuts, facts, {}, [], together)[TASK].used_share == pytest.approx(0.95)


def test_the_queue_of_an_older_version_is_that_of_no_known_pool() -> None:
    stored = with_observations(record(tasks=(bulk(),)), {TASK: TaskObservation(used_share=0.5)})
    stored.telemetry[KEY][TASK]["queued"] = 6.0
    assert signs_of_saturation(stored)[TASK] == TaskObservation(used_share=0.5)


def test_a_node_that_assumes_few_processors_may_use_all() -> None:
    """It had 3 of 8 cores, and other programs 2.6 (the load is that of 8 cores)."""
    cuts = telemetry(
        "node-counters",
        counter("process.cpu.total", 3000, node="far"),
        gauge("os.cpu.percent", 70.0, node="far"),
    )
    facts = {"node.far.os.allocated_processors": "2", "node.far.os.available_processors": "8"}
    assert task_observations(cuts, facts, {}, [])[TASK].other_share == pytest.approx(0.325)


def test_other_nodes_on_the_same_host_are_not_other_programs() -> None:
    cuts = telemetry(
        "node-counters",
        *(counter("process.cpu.total", 1200, node=node) for node in ("one", "two")),
        *(gauge("os.cpu.percent", 70.0, node=node) for node in ("one", "two")),
    )
    facts = {f"node.{node}.os.allocated_processors": "4" for node in ("one", "two", "silent")}
    together = [{"name": name, "host": "10.0.0.1"} for name in ("one", "two")]
    apart = [{"name": "one", "host": "10.0.0.1"}, {"name": "two", "host": "10.0.0.2"}, {"name": "no host"}]
    versions = {"node.one.os.version": "6.1", "node.two.os.version": "6.8"}
    for nodes, share in ((together, 0.1), (apart, 0.4), ([], 0.4)):
        observations = task_observations(cuts, facts, {}, [], node_places(nodes, versions, ()))
        assert observations[TASK].other_share == pytest.approx(share)
    with_silent = [*together, {"name": "silent", "host": "10.0.0.1"}]
    assert task_observations(cuts, facts, {}, [], places(with_silent))[TASK].other_share is None


def beside_driver(driver_cores: float, host_cores: float, percent: float = 95.0) -> TelemetryCuts:
    """A node that has 2.4 of its 4 processors, with this load, and a driver whose host is sampled."""
    engine = telemetry(
        "node-counters",
        counter("process.cpu.total", 2400, node="a"),
        gauge("os.cpu.percent", percent, node="a"),
    )
    driver = telemetry(
        "host",
        counter("process.user", driver_cores * 900, process="driver"),
        counter("process.system", driver_cores * 100, process="driver"),
        gauge("cpu.count", host_cores),
    )
    return TelemetryCuts(engine.tasks, (*engine.series, *driver.series))


def test_a_driver_that_may_run_on_the_host_of_the_engine_is_not_another_program() -> None:
    """As in containers side by side: the engine's process is not seen, but its load is that of both."""
    facts = {"node.a.os.available_processors": "4"}

    def observed(*driver: float) -> TaskObservation:
        return task_observations(beside_driver(*driver), facts, {}, [])[TASK]

    seen = observed(1.4, 4)
    assert (seen.other_share, seen.other_least_share, seen.lacked_share) == (None, 0.0, None)
    assert seen.lacked_least_share == 0.0
    seen = observed(0.4, 4)
    assert seen.other_share is None
    assert seen.other_least_share == pytest.approx(0.25)
    assert seen.lacked_least_share == pytest.approx(0.25 / 0.85)
    # So little time does not matter, and a host with more processors is another one.
    for driver in ((0.05, 4), (1.4, 2)):
        seen = observed(*driver)
        assert seen.other_share == pytest.approx(0.35)
        assert seen.other_least_share is None


def test_a_driver_on_another_host_had_no_part_of_the_load() -> None:
    """The hosts have equally many processors, or that of the node has fewer."""
    facts = {"node.a.os.available_processors": "4", "kernel.release": "6.1.0-13-amd64"}
    other, same = ({"node.a.os.version": version} for version in ("5.14.0-427.el9", "6.1.0-13-amd64"))

    def observed(
        more: dict[str, str], host: str = "10.0.0.1", sampled: tuple[str, ...] = (), cores: float = 8
    ) -> TaskObservation:
        nodes = [{"name": "a", "host": host}, {"name": "b", "host": "10.0.0.1"}]
        known = node_places(nodes, facts | more, sampled)
        alone = {"a": replace(known["a"], beside=())}
        return task_observations(beside_driver(1.4, cores), facts | more, {}, sampled, alone)[TASK]

    for cores in (4, 8):
        for host in ("10.0.0.1", "127.0.0.1"):
            observation = observed(other, host, cores=cores)
            assert observation.other_share == pytest.approx(0.35)
            assert observation.other_least_share is None
    # With the same kernel, it may be the same host; what others had at least is right on any.
    for more in (same, dict[str, str]()):
        observation = observed(more)
        assert (observation.other_share, observation.other_least_share) == (None, 0.0)
    # It is the same one although its processors are more than those that the sampler sees.
    for observation in (observed(same, "127.0.0.1", cores=2), observed({}, sampled=("b",), cores=2)):
        assert (observation.other_share, observation.other_least_share) == (None, 0.0)
    assert observed(same, cores=2).other_share == pytest.approx(0.35)


def test_the_load_of_other_processors_says_nothing_about_those_of_a_node() -> None:
    """A node that is bound to 4 of 32 processors reports the load of all."""
    facts = {"node.a.os.available_processors": "4"}
    observation = task_observations(beside_driver(0.0, 32, 12.5), facts, {}, [])[TASK]
    assert (observation.other_share, observation.lacked_share) == (None, None)


def test_what_others_had_at_least_is_a_reason_too() -> None:
    least = race(TaskObservation(lacked_least_share=0.4))
    assert lacked_shares(least) == {TASK: 0.4}
    both = race(TaskObservation(lacked_share=0.1, lacked_least_share=0.4))
    assert lacked_shares(both) == {TASK: 0.4}
    assert lacked_shares(race(TaskObservation(other_share=0.4))) == {}


def test_what_is_not_known_is_not_stored() -> None:
    stored = race(TaskObservation(other_share=0.1, cluster=ClusterState(health="green"))).telemetry[KEY]
    assert stored == {TASK: {"other_share": 0.1, "health": "green"}}
    assert TaskObservation.from_document(stored[TASK]).cluster == ClusterState("green")
    assert KEY not in race(TaskObservation()).telemetry


def test_the_frequency_of_processors_counts_only_while_they_are_busy() -> None:
    cuts = telemetry("node-counters", counter("process.cpu.total", 10, node="a"))

    def observed(sampled: tuple[str, ...] = ("a",), **figures: float) -> float | None:
        of_host = {f"cpu.{name}": value for name, value in figures.items()}
        return task_observations(cuts, {}, {TASK: [of_host]}, sampled)[TASK].busy_frequency_hz

    assert observed(frequency_hz=3e9, idle_share=0.2) == 3e9
    assert observed(frequency_hz=3e9, idle_share=0.4) is None
    assert observed(idle_share=0.2) is None
    # The host that was sampled is that of the driver.
    assert observed((), frequency_hz=3e9, idle_share=0.2) is None


def observed_alike(
    loads: dict[str, float], *more: Mapping[str, Any], share: float = 0.23, **facts: str
) -> TaskObservation:
    """What is observed of nodes that have this share each of 8 processors, with addresses of their own, whose
    hosts have these loads. They report more, and the first one has more facts.
    """
    cuts = telemetry(
        "node-counters",
        *(counter("process.cpu.total", share * 8000, node=node) for node in loads),
        *(gauge("os.cpu.percent", load, node=node) for node, load in loads.items()),
        *more,
    )
    of_nodes = {f"node.{node}.os.available_processors": "8" for node in loads}
    of_nodes |= {f"node.{node}.os.version": "6.8" for node in loads}
    of_nodes |= {f"node.{next(iter(loads))}.{name}": value for name, value in facts.items()}
    nodes = [{"name": name, "host": f"172.18.0.{number}"} for number, name in enumerate(loads)]
    return task_observations(cuts, of_nodes, {}, [], node_places(nodes, of_nodes, ()))[TASK]


def test_nodes_in_containers_of_a_host_are_no_other_programs() -> None:
    """Containers have addresses of their own: the nodes cannot be told apart from those of several hosts."""
    on_one = observed_alike({"a": 97.0, "b": 96.0, "c": 97.0})
    assert on_one.other_share is None
    assert on_one.lacked_share is None
    # Whatever runs where, no node had this.
    assert on_one.other_least_share == pytest.approx(0.28)
    assert observed_alike({"a": 70.0, "b": 70.0, "c": 70.0}).other_least_share == pytest.approx(0.01)


def test_nodes_that_cannot_be_on_one_host_are_told_apart() -> None:
    apart = pytest.approx(0.74)
    assert observed_alike({"a": 97.0, "b": 90.0, "c": 60.0}).other_share == apart
    assert observed_alike({"a": 97.0, "b": 97.0}, **{"os.version": "6.9"}).other_share == apart
    assert observed_alike({"a": 97.0, "b": 97.0}, **{"setting.node.attr.rack": "1"}).other_share == apart
    # Both together would have had more than all programs.
    assert observed_alike({"a": 35.0, "b": 35.0}).other_share == pytest.approx(0.12)


def test_as_many_nodes_may_be_on_one_host_as_have_had_no_more_than_all_programs() -> None:
    """Of three nodes that cannot all be on one host, two can."""
    observation = observed_alike({"a": 55.0, "b": 55.0, "c": 55.0})
    assert observation.other_share is None
    assert observation.other_least_share == pytest.approx(0.09, abs=1e-4)


@pytest.mark.parametrize(
    ("shares", "most", "expected"),
    [
        ([0.3, 0.3, 0.3], 0.7, 0.6),
        ([0.5, 0.4, 0.3], 0.75, 0.7),
        ([0.5], 0.4, 0.0),
        ([0.5], -0.1, 0.0),
        ([1e300, -1.0, math.nan, 0.5], 1e300, 0.5),
        ([0.5], math.nan, 0.0),
    ],
)
def test_the_largest_sum_is_that_of_the_shares_that_fit(
    shares: list[float], most: float, expected: float
) -> None:
    assert largest_sum(shares, most) == pytest.approx(expected, abs=1e-4)


def reported(name: str, *values: float) -> list[dict[str, Any]]:
    return [gauge(name, value, node=node) for node, value in zip("abc", values, strict=True)]


def written(*rates: float, devices: str = "sss") -> list[dict[str, Any]]:
    """The counters of the devices of three nodes."""
    return [
        counter(f"fs.io_stats.devices.{name}", rate, node=node, device=device)
        for node, device, rate in zip("abc", devices, rates, strict=True)
        for name in ("operations", "write_kilobytes")
    ]


@pytest.mark.parametrize(
    "more",
    [
        reported("os.mem.total", 64e9, 65e9, 66e9),
        reported("os.cpu.load_average.1m", 3.1, 2.7, 3.6),
        written(900, 900, 900, devices="stu"),
        written(900, 600, 1300),
    ],
)
def test_equal_hosts_with_balanced_load_differ_in_what_they_report(more: list[Mapping[str, Any]]) -> None:
    """As those of most clusters: other programs on them remain a reason to doubt."""
    loads = {"a": 35.0, "b": 35.0, "c": 35.0}
    assert observed_alike(loads, *more, share=0.1).other_share == pytest.approx(0.25)
    # If nothing differs, they may be containers of one host.
    alike = observed_alike(loads, *reported("os.mem.total", 64e9, 64e9, 64e9), share=0.1)
    assert (alike.other_share, alike.other_least_share) == (None, pytest.approx(0.05))


def test_containers_of_one_host_report_the_same_but_for_the_time_of_reading() -> None:
    more = [*reported("os.cpu.load_average.1m", 3.1, 3.14, 3.0), *written(900, 1000, 950)]
    more += reported("os.mem.total", 64e9, 64e9, 64e9)
    observation = observed_alike({"a": 97.0, "b": 96.0, "c": 97.0}, *more)
    assert observation.other_least_share == pytest.approx(0.28)


def test_of_very_many_nodes_on_a_host_it_is_not_known_what_others_had() -> None:
    """A race of others may name 10,000 nodes of one host, and each of them all others."""
    nodes = [{"name": f"n{number}", "host": "10.0.0.1"} for number in range(MOST_ON_HOST + 1)]
    assert all(len(beside) < MOST_ON_HOST for beside in nodes_beside(nodes).values())
    cuts = telemetry(
        "node-counters",
        *(counter("process.cpu.total", 12, node=str(node["name"])) for node in nodes),
        *(gauge("os.cpu.percent", 70.0, node=str(node["name"])) for node in nodes),
    )
    facts = {f"node.{node['name']}.os.allocated_processors": "4" for node in nodes}
    known = nodes_beside(nodes[:MOST_ON_HOST])
    assert len(known["n0"]) == MOST_ON_HOST - 1
    assert task_observations(cuts, facts, {}, [], places(nodes))[TASK].other_share is None
