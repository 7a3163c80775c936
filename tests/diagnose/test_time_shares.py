"""Where the time of a node goes."""

import pytest

from diagnose.evidence import evidence_of
from pacenote.diagnose import facts
from pacenote.diagnose.facts import EvidenceBuilder, TaskFacts, Window
from pacenote.diagnose.race_facts import race_builder
from pacenote.diagnose.time_shares import task_times
from pacenote.model.race_record import RecordedCluster
from support.records import record, task

CPU = {"engine_share": 0.6, "driver_share": 0.1, "other_share": 0.05, "steal_share": 0.0}


def shares(**groups):
    """Returns the shares of the only task by cause, and what is unexplained."""
    (task_time,) = task_times(evidence_of(**groups))
    assert sum(each.share for each in task_time.shares) + task_time.unexplained == pytest.approx(1)
    return {each.cause: round(each.share, 4) for each in task_time.shares}, round(task_time.unexplained, 4)


def test_what_the_cores_did_is_divided_by_process():
    by_cause, unexplained = shares(cpu=CPU)
    assert by_cause == {"other work of the engine": 0.6, "driver": 0.1, "other processes": 0.05}
    assert unexplained == 0.25


def test_busy_time_that_no_process_had_is_that_of_interrupts():
    by_cause, unexplained = shares(cpu=CPU | {"idle_share": 0.15})
    assert by_cause["interrupts"] == pytest.approx(0.1)
    assert unexplained == pytest.approx(0.15)


def test_the_engine_is_divided_by_collector_and_threads():
    by_cause, _ = shares(
        cpu=CPU,
        host={"cores": 4},
        gc={"pause_cpu_s": 24},
        task={"window_s": 60},
        node={"indexing_share": 1.2, "merge_share": 0.4},
    )
    assert by_cause["collecting garbage in pauses"] == 0.1
    assert (by_cause["indexing"], by_cause["merging"]) == (0.3, 0.1)
    assert by_cause["other work of the engine"] == pytest.approx(0.1)


def test_threads_that_report_more_time_than_the_engine_had_are_made_smaller_alike():
    by_cause, _ = shares(cpu=CPU, host={"cores": 1}, node={"indexing_share": 1.8, "merge_share": 0.6})
    assert (by_cause["indexing"], by_cause["merging"]) == (0.45, 0.15)
    assert "other work of the engine" not in by_cause


def test_idle_time_is_given_to_causes_as_far_as_it_is_left():
    by_cause, unexplained = shares(
        cpu=CPU | {"throttled_share": 0.02},
        host={"cores": 2},
        disk={"wait_share": 0.05},
        gc={"stop_share": 0.04},
        task={"busy_clients": 1.8, "took_share": 0.95},
    )
    assert by_cause["stopped threads"] == 0.04
    assert by_cause["CPU quota"] == 0.02
    assert by_cause["waiting for disks"] == 0.05
    assert by_cause["too few requests at a time"] == 0.1
    assert by_cause["requests outside the engine: network and driver"] == 0.04
    assert unexplained == 0
    by_cause, unexplained = shares(cpu=CPU, gc={"stop_share": 0.9})
    assert (by_cause["stopped threads"], unexplained) == (0.25, 0.0)


def test_the_whole_is_the_time_of_the_cores_that_the_node_may_use():
    by_cause, unexplained = shares(
        cpu={"engine_share": 0.9, "driver_share": 0.0, "other_share": 0.05, "steal_share": 0.0},
        host={"cores": 4, "usable_cores": 1},
        node={"search_share": 0.5},
        task={"busy_clients": 1.0, "took_share": 0.5},
    )
    assert by_cause["searching"] == 0.5
    assert by_cause["requests outside the engine: network and driver"] == pytest.approx(0.05)
    assert ("too few requests at a time" in by_cause, unexplained) == (False, pytest.approx(0.0))


@pytest.mark.parametrize(
    ("host", "whole"),
    [
        ({"cores": 4}, "time of all cores"),
        ({"cores": 4, "usable_cores": 4}, "time of all cores"),
        ({"cores": 4, "usable_cores": 1}, "time of the cores that the engine may use"),
    ],
)
def test_what_is_divided_is_named(host, whole):
    (task_time,) = task_times(evidence_of(cpu=CPU, host=host))
    assert task_time.whole == whole


@pytest.mark.parametrize("known", [{}, {"other_least_share": 0.2}, {"driver_share": 0.1}])
def test_busy_time_of_an_unknown_process_is_not_idle(known):
    """35 % of the time was idle, which is all that too few requests can have left."""
    by_cause, unexplained = shares(
        cpu={"engine_share": 0.3, "steal_share": 0.05, "idle_share": 0.35, **known},
        host={"cores": 4},
        task={"busy_clients": 1.0, "took_share": 0.9},
    )
    rest = "other processes and interrupts" if "driver_share" in known else "driver and other processes"
    assert by_cause[rest] == pytest.approx(0.3 - known.get("driver_share", 0.0))
    assert by_cause["too few requests at a time"] == pytest.approx(0.35)
    assert unexplained == pytest.approx(0.0)


def test_waits_overlap_and_are_listed_beside_the_shares():
    (task_time,) = task_times(
        evidence_of(
            cpu=CPU | {"wait_share": 0.4}, node={"write_queue": 30, "write_active": 10, "write_readings": 10}
        )
    )
    assert {each.cause: each.share for each in task_time.waits} == {
        "a thread waited for a core": 0.4,
        "writes waited in a queue": 0.75,
    }
    assert "gc.stop_share" in {each.name for each in task_time.missing}


def test_without_figures_of_the_cores_nothing_is_said():
    assert task_times(evidence_of(gc={"stop_share": 0.5})) == ()


def test_the_engines_own_counter_replaces_that_of_the_host():
    by_cause, _ = shares(node={"cpu_share": 0.7})
    assert by_cause == {"other work of the engine": 0.7}


def test_the_time_of_several_nodes_of_a_host_is_divided_by_node():
    builder = EvidenceBuilder("race", [TaskFacts("load", "indexing")])
    builder.set(Window("load"), "cpu.engine_share", 0.8)
    builder.set(Window("load"), "host.cores", 2)
    # Node a has started a program, whose time its JVM does not count.
    builder.set(Window("load", "a"), "cpu.started_share", 0.1)
    for node, cpu, merging in (("a", 0.5, 0.4), ("b", 0.2, 0.2)):
        builder.set(Window("load", node), "node.cpu_share", cpu)
        builder.set(Window("load", node), "node.merge_share", merging)
    first, second = task_times(builder.build())
    assert {each.cause: pytest.approx(each.share) for each in first.shares} == {
        "other work of the engine": 0.3,
        "merging": 0.2,
        "processes that the node has started": 0.1,
        "other nodes": 0.2,
    }
    assert {each.cause: pytest.approx(each.share) for each in second.shares} == {
        "other nodes": 0.6,
        "other work of the engine": 0.1,
        "merging": 0.1,
    }


def nodes_with(cores, *, nodes=4, count=8):
    """Evidence of nodes with this many of the cores of their host each, which searched with two clients; 30 %
    of the time of a request was that of the engine, on all nodes evenly.
    """
    builder = EvidenceBuilder("race", [TaskFacts("load", "searching")])
    builder.set(Window(), "host.cores", count)
    figures = {"task.busy_clients": 2.0, "task.took_share": 0.3, "task.window_s": 60.0}
    for name, value in figures.items():
        builder.set(Window("load"), name, value)
    for node in (f"n{number}" for number in range(nodes)):
        builder.set(Window(node=node), "host.usable_cores", cores)
        shares = {"node.cpu_share": 0.6 / 8, "cpu.engine_share": 0.6 / 8, "cpu.idle_share": 1 - 0.6 / 8}
        for name, value in shares.items():
            builder.set(Window("load", node), name, value)
        for name in ("other", "driver", "steal"):
            builder.set(Window("load", node), f"cpu.{name}_share", 0.0)
    return builder.build()


@pytest.mark.parametrize(("nodes", "cores"), [(1, 8), (4, 2), (2, 8)])
def test_the_clients_of_a_cluster_are_divided_by_the_cores_of_all_its_nodes(nodes, cores):
    """Two busy clients keep at most a quarter of eight cores busy, however nodes share these."""
    for task_time in task_times(nodes_with(cores, nodes=nodes)):
        causes = {each.cause: pytest.approx(each.share) for each in task_time.shares}
        assert causes["too few requests at a time"] == 0.75
        assert causes["requests outside the engine: network and driver"] == 0.175


def test_a_node_beside_nodes_that_are_not_diagnosed_is_not_the_only_one(monkeypatch):
    monkeypatch.setattr(facts, "MOST_WINDOWS", 1)
    evidence = nodes_with(2)
    (task_time,) = task_times(evidence)
    assert (len(evidence.nodes), task_time.node) == (1, "n0")
    assert task_time.shares[0].share == pytest.approx(0.75)


@pytest.mark.parametrize("known", [True, False])
def test_nodes_on_other_hosts_add_their_processors(known):
    """One of two nodes reports four processors; of the other one, they may not be known."""
    builder = EvidenceBuilder("race", [TaskFacts("load", "searching")])
    for node in ("a", "b"):
        builder.set(Window("load", node), "node.cpu_share", 0.1)
        if known or node == "a":
            builder.set(Window(node=node), "engine.available_processors", 4)
    builder.set(Window("load"), "task.busy_clients", 2.0)
    for task_time in task_times(builder.build()):
        shares = {each.cause: each.share for each in task_time.shares}
        assert shares.get("too few requests at a time") == (pytest.approx(0.75) if known else None)


@pytest.mark.parametrize(
    ("hosts", "cores"),
    [({"a": "10.0.0.1", "b": "10.0.0.1"}, 8), ({"a": "10.0.0.1", "b": "10.0.0.2"}, 12), ({}, 12)],
)
def test_nodes_on_one_other_host_share_its_processors(hosts, cores):
    nodes = [{"name": name, "host": host} for name, host in hosts.items()]
    race = record(tasks=(task("load"),), cluster=RecordedCluster("opensearch", "3.3.0", nodes=tuple(nodes)))
    builder = race_builder(race)
    for node, available in (("a", 8), ("b", 4)):
        builder.set(Window("load", node), "node.cpu_share", 0.1)
        builder.set(Window(node=node), "engine.available_processors", available)
    builder.set(Window("load"), "task.busy_clients", 2.0)
    for task_time in task_times(builder.build()):
        shares = {each.cause: each.share for each in task_time.shares}
        assert shares["too few requests at a time"] == pytest.approx(1 - 2 / cores)


def test_counters_that_add_up_to_more_than_all_cores_are_told():
    (task_time,) = task_times(evidence_of(cpu=CPU | {"engine_share": 0.9, "driver_share": 0.2}))
    assert sum(each.share for each in task_time.shares) == pytest.approx(1.0)
    assert task_time.excess == pytest.approx(0.15)
    assert task_time.unexplained == 0.0
    (whole,) = task_times(evidence_of(cpu=CPU))
    assert whole.excess == 0.0


def test_clients_of_tasks_that_run_together_are_not_too_few():
    builder = EvidenceBuilder("race", [TaskFacts("load", "indexing", beside=("query",))])
    for name, value in (("cpu.engine_share", 0.4), ("host.cores", 4), ("task.busy_clients", 1.0)):
        builder.set(Window("load"), name, value)
    (task_time,) = task_times(builder.build())
    assert {each.cause for each in task_time.shares} == {"other work of the engine"}


@pytest.mark.parametrize(
    ("queue", "active", "readings", "reason"),
    [
        # One search in a queue, and none that ran, in one of six readings: not 100 %.
        (1 / 6, 0.0, 6, "6 readings with 1 request are too few for a share"),
        (1 / 30, 0.0, 30, "30 readings with 1 request are too few for a share"),
        (30.0, 10.0, 9, "9 readings with 360 requests are too few for a share"),
        (30.0, 10.0, 10, None),
    ],
)
def test_a_queue_that_was_read_a_few_times_has_no_share(queue, active, readings, reason):
    pool = {"search_queue": queue, "search_active": active, "search_readings": readings}
    (task_time,) = task_times(evidence_of("searching", cpu=CPU, node=pool))
    assert ("searches waited in a queue" in {each.cause for each in task_time.waits}) == (reason is None)
    assert {each.name: each.reason for each in task_time.missing}.get("node.search_queue") == reason
