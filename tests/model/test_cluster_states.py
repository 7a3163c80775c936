"""States of the cluster: brief ones do not count, and a disk is full by the settings of the engine."""

from __future__ import annotations

import pytest

from diagnose.cuts import TASK, counter, gauge, telemetry
from pacenote.diagnose.cluster_facts import add_cluster_states
from pacenote.diagnose.expression import Unknown
from pacenote.diagnose.facts import EvidenceBuilder, Window
from pacenote.model.cluster_states import cluster_states

DISK = "setting.cluster.routing.allocation.disk"
GIB = float(1 << 30)


def exceeded(facts: dict[str, str], available_gib: float, size_gib: float = 1000.0) -> object:
    """Returns the figure of a task in which the space of one of two nodes shrinks to this."""
    series = [
        part
        for node, least in (("a", size_gib), ("b", available_gib))
        for part in (
            counter("process.cpu.total", 1, node=node),
            gauge("fs.total.available", size_gib * GIB, least * GIB, node=node),
            gauge("fs.total.total", size_gib * GIB, node=node),
        )
    ]
    builder = EvidenceBuilder("race")
    settings = {f"{DISK}.{name}": value for name, value in facts.items()}
    add_cluster_states(builder, telemetry("node-counters", *series), settings)
    return builder.build().value(Window(TASK, "a"), "cluster.disk_watermark")


@pytest.mark.parametrize(
    ("facts", "available_gib", "expected"),
    [
        ({"watermark.low": "85%"}, 149, True),
        ({"watermark.low": "85%"}, 151, False),
        ({"watermark.low": "0.85", "watermark.low.max_headroom": "-1"}, 149, True),
        # On large disks, only little free space counts.
        ({"watermark.low": "85%", "watermark.low.max_headroom": "100gb"}, 149, False),
        ({"watermark.low": "85%", "watermark.low.max_headroom": "100gb"}, 99, True),
        ({"watermark.low": "500mb", "threshold_enabled": "true"}, 0.4, True),
        ({"watermark.low": "500MB"}, 0.6, False),
    ],
)
def test_the_low_watermark_is_a_share_or_a_size(
    facts: dict[str, str], available_gib: float, expected: bool
) -> None:
    assert exceeded(facts, available_gib) is expected


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"watermark.low": "85%", "threshold_enabled": "false"}, "the engine does not check watermarks"),
        ({}, "the watermarks of the engine are not known"),
        ({"watermark.low": "much"}, "the watermarks of the engine are not known"),
    ],
)
def test_without_watermarks_nothing_is_said(facts: dict[str, str], reason: str) -> None:
    assert exceeded(facts, 0) == Unknown((("cluster.disk_watermark", reason),))


def test_a_node_without_space_says_nothing() -> None:
    builder = EvidenceBuilder("race")
    cuts = telemetry("node-counters", counter("process.cpu.total", 1, node="a"))
    add_cluster_states(builder, cuts, {f"{DISK}.watermark.low": "85%"})
    assert isinstance(builder.build().value(Window(TASK), "cluster.disk_watermark"), Unknown)


@pytest.mark.parametrize(
    ("statuses", "health"),
    [([0] * 19 + [1], "green"), ([0] * 8 + [1] * 2, "yellow"), ([0] * 19 + [2], "red"), ([], None)],
)
def test_a_brief_yellow_state_does_not_count(statuses: list[int], health: str | None) -> None:
    series = [gauge("cluster.status", *statuses)] if statuses else []
    (state,) = cluster_states(telemetry("node-counters", *series), {}).values()
    assert state.health == health


def test_a_shard_that_moves_briefly_does_not_count() -> None:
    for moving, expected in (([0] * 19 + [1], 0), ([0, 2], 2)):
        cuts = telemetry("node-counters", gauge("cluster.relocating_shards", *moving))
        assert cluster_states(cuts, {})[TASK].relocating_shards == expected
