"""The state of the cluster during a task."""

from __future__ import annotations

from diagnose.cuts import TASK, counter, gauge, telemetry
from pacenote.diagnose.cluster_facts import add_cluster_states
from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import EvidenceBuilder, Window

WATERMARK = {"setting.cluster.routing.allocation.disk.watermark.low": "85%"}


def test_the_worst_state_during_a_task_is_a_figure_of_it() -> None:
    cuts = telemetry(
        "node-counters",
        counter("process.cpu.total", 1, node="a"),
        gauge("cluster.status", 0.0, 1.0, 0.0),
        gauge("cluster.relocating_shards", 0.0, 3.0),
        gauge("cluster.pending_tasks", 7.0, 0.0, 3.0),
        gauge("fs.total.available", 10.0, node="a"),
        gauge("fs.total.total", 100.0, node="a"),
    )
    builder = EvidenceBuilder("race")
    add_cluster_states(builder, cuts, WATERMARK)
    evidence = builder.build()
    assert evidence.value(Window(TASK), "cluster.health") == "yellow"
    assert evidence.value(Window(TASK), "cluster.relocating_shards") == 3
    assert evidence.value(Window(TASK), "cluster.pending_tasks") == 1.5
    assert evidence.value(Window(TASK), "cluster.disk_watermark") is True


def test_what_was_not_sampled_is_missing() -> None:
    builder = EvidenceBuilder("race")
    add_cluster_states(builder, telemetry("node-counters"), {})
    evidence = builder.build()
    for name in ("cluster.health", "cluster.relocating_shards", "cluster.disk_watermark"):
        assert isinstance(evidence.value(Window(TASK), name), Unknown), name


def test_changes_for_an_index_that_was_just_created_are_not_a_queue() -> None:
    """A race without a fault whose first of three readings, when its index was created, has four changes."""
    for readings, expected in (((4.0, 0.0, 0.0), 0.0), ((4.0, 0.0), None), ((1.0, 4.0, 5.0, 6.0), 5.0)):
        cuts = telemetry("node-counters", gauge("cluster.pending_tasks", *readings))
        builder = EvidenceBuilder("race")
        add_cluster_states(builder, cuts, {})
        assert builder.build().number(Window(TASK), "cluster.pending_tasks") == expected
