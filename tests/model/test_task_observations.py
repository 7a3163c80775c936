"""What other programs and the cluster did while tasks ran makes a race suspect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.cuts import TASK, counter, gauge, telemetry
from pacenote.model.cluster_states import ClusterState
from pacenote.model.race_record import RaceRecord, RecordedCluster
from pacenote.model.reported_cpu import MOST_ON_HOST, nodes_beside
from pacenote.model.task_observations import (
    KEY,
    OTHER_SHARE,
    TaskObservation,
    task_observations,
    with_observations,
)
from pacenote.model.verdict import determine_verdict
from support.records import bulk, judged, record, task

NODES = ({"name": "a"}, {"name": "b"})


def race(found: TaskObservation, nodes: int = 1) -> RaceRecord:
    """A race of one task during which this was observed."""
    cluster = RecordedCluster("opensearch", "3.3.0", nodes=NODES[:nodes])
    return with_observations(record(tasks=(bulk(),), cluster=cluster), {TASK: found})


def test_other_programs_on_the_host_of_the_engine_make_a_race_suspect() -> None:
    assert judged(race(TaskObservation(other_share=0.436))) == (
        "suspect",
        (
            "index-append: programs beside engine and driver used 44 % of the processor time of the cores "
            "that the engine may use (limit 20 %): stop them, and repeat the race on a quiet machine",
        ),
    )
    least = race(TaskObservation(other_least_share=0.436))
    assert "used 44 % or more of the processor time" in judged(least)[1][0]
    assert judged(race(TaskObservation(other_share=OTHER_SHARE)))[0] == "valid"
    assert judged(race(TaskObservation()))[0] == "valid"


@pytest.mark.parametrize(
    ("state", "nodes", "reason"),
    [
        (ClusterState(health="yellow"), 2, "the cluster was yellow"),
        (ClusterState(health="yellow"), 1, ""),
        (ClusterState(health="red"), 1, "the cluster was red"),
        (ClusterState(health="green", relocating_shards=0.0, above_watermark=False), 2, ""),
        (ClusterState(relocating_shards=3.0), 2, "the cluster moved 3 shards between nodes at a time"),
        (ClusterState(above_watermark=True), 1, "the disk of a node is fuller than the low watermark"),
    ],
)
def test_a_cluster_that_is_not_healthy_or_busy_with_itself_makes_a_race_suspect(
    state: ClusterState, nodes: int, reason: str
) -> None:
    verdict = determine_verdict(race(TaskObservation(cluster=state), nodes))
    assert verdict.state == ("suspect" if reason else "valid")
    assert [finding.text.startswith(reason) for finding in verdict.findings] == ([True] if reason else [])


def test_time_that_was_stolen_from_the_cores_of_the_engine_makes_a_race_suspect() -> None:
    reason = (
        "index-append: other virtual machines took 12 % of the processor time of the cores that the engine "
        "may use (limit 5 %): repeat on a quiet host, or on one with cores of its own"
    )
    stolen = race(TaskObservation(steal_share=0.12))
    assert judged(stolen) == ("suspect", (reason,))
    assert judged(race(TaskObservation(steal_share=0.05)))[0] == "valid"

    def reasons(share: float, of_all: float) -> tuple[str, ...]:
        found = race(TaskObservation(steal_share=share))
        return judged(replace(found, driver={**found.driver, "machine": {"stolen_share": of_all}}))[1]

    for share, of_all in ((0.06, 0.06), (0.12, 0.11)):
        [text] = reasons(share, of_all)
        assert "stolen by other virtual machines" in text
    # That of all cores makes no figure doubtful.
    assert len(reasons(0.12, 0.06)) == 2
    # The cores of the driver are not those of the engine.
    of_driver = {"machine": {"stolen_share": 0.09}, "cpus": {"numbers": [1], "stolen_share": 0.06}}
    assert len(judged(replace(stolen, driver={**stolen.driver, **of_driver}))[1]) == 2


def test_stolen_time_of_one_task_does_not_make_the_figures_of_another_doubtful() -> None:
    shares = {"much": 0.12, "little": 0.06, "more": 0.11, "none": 0.05}
    found = {name: TaskObservation(steal_share=share) for name, share in shares.items()}
    stolen = with_observations(record(tasks=tuple(task(name) for name in found)), found)
    findings = determine_verdict(stolen).findings
    assert [(finding.tasks, finding.makes_doubtful) for finding in findings] == [
        (("much", "more"), True),
        (("little",), False),
    ]
    assert "took up to 12 %" in findings[0].text
    assert "took 6 %" in findings[1].text


def test_only_tasks_that_are_measured_count() -> None:
    once = task("force-merge", operation_type="force-merge", clients=1, throughput=None)
    once = replace(once, accounting=replace(once.accounting, operations=1))
    found = {name: TaskObservation(other_share=0.9) for name in ("force-merge", "cleanup", "unknown")}
    quiet = record(tasks=(bulk(), once, task("cleanup")), unreported=("cleanup",))
    assert determine_verdict(with_observations(quiet, found)).state == "valid"


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
    found = task_observations(cuts, facts, {TASK: figures}, ["near"])[TASK]
    assert found.other_share == pytest.approx(0.55)
    assert found.cluster == ClusterState("yellow", 2.0)
    # The far node had 1 of 4 cores, and other programs 2.2: 20 % of its cores were idle.
    assert (found.lacked_share, found.steal_share) == (0.0, 0.01)
    # The CPUs of one node are shared with more programs than those of all.
    assert task_observations(cuts, {}, {TASK: figures}, ["near"])[TASK].other_share == 0.3
    # Without nodes, the host that was sampled is that of the driver.
    found = task_observations(cuts, {}, {TASK: [{"cpu.steal_share": 0.3}]}, [])
    assert found[TASK].steal_share is None
    assert task_observations(cuts, {}, {}, [])[TASK].other_share is None


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
    for nodes, share in ((together, 0.1), (apart, 0.4), ([], 0.4)):
        found = task_observations(cuts, facts, {}, [], nodes_beside(nodes))
        assert found[TASK].other_share == pytest.approx(share)
    with_silent = [*together, {"name": "silent", "host": "10.0.0.1"}]
    assert task_observations(cuts, facts, {}, [], nodes_beside(with_silent))[TASK].other_share is None


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
    assert task_observations(cuts, facts, {}, [], nodes_beside(nodes))[TASK].other_share is None
