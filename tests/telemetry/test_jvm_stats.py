"""Garbage collections during the race, with the names that each collector uses."""

import re

from pacenote.model.system_metrics import SystemMetrics
from pacenote.telemetry.device import ObservedCluster, TelemetryDevices
from pacenote.telemetry.jvm_stats import JvmStats
from shape.sources import ROOT


def node(name="node-0", uptime=1000, **collectors):
    """Returns a node's reply; each collector (`_` for a space) has a count and milliseconds."""
    return {
        "name": name,
        "jvm": {
            "uptime_in_millis": uptime,
            "gc": {
                "collectors": {
                    collector.replace("_", " "): {
                        "collection_count": count,
                        "collection_time_in_millis": time,
                    }
                    for collector, (count, time) in collectors.items()
                }
            },
        },
    }


def read_stats(before, after):
    replies = iter([{"nodes": before}, {"nodes": after}])
    devices = TelemetryDevices([JvmStats(ObservedCluster(lambda _path: next(replies), None))])
    devices.start()
    return devices.stop()


def test_gc_counts_are_differences_summed_over_all_nodes():
    result = read_stats(
        {"a": node(young=(5, 50), old=(1, 100)), "b": node("node-1", young=(1, 10), old=(0, 0))},
        {
            "a": node(uptime=9000, young=(7, 75), old=(1, 100)),
            "b": node("node-1", 9000, young=(4, 20), old=(0, 0)),
        },
    )
    system = result.system
    assert (system.young_gc_count, system.young_gc_time) == (5, 35)
    assert (system.old_gc_count, system.old_gc_time) == (0, 0)
    assert system.zgc_cycles_gc_count is None
    assert result.values["node.node-1.young_gc_count"] == 3
    assert result.errors == ()


def test_the_collector_names_of_g1_are_recognized():
    result = read_stats(
        {"a": node(G1_Young_Generation=(1, 1), G1_Old_Generation=(0, 0), G1_Concurrent_GC=(2, 2))},
        {
            "a": node(
                uptime=2000, G1_Young_Generation=(3, 9), G1_Old_Generation=(1, 50), G1_Concurrent_GC=(6, 10)
            )
        },
    )
    assert (result.system.young_gc_count, result.system.old_gc_time) == (2, 50)
    assert result.values["cluster.concurrent_gc_count"] == 4


def test_the_generations_of_zgc_are_added_up():
    system = read_stats(
        {"a": node(ZGC_Minor_Cycles=(0, 0), ZGC_Major_Cycles=(0, 0), ZGC_Minor_Pauses=(0, 0))},
        {
            "a": node(
                uptime=2000, ZGC_Minor_Cycles=(5, 50), ZGC_Major_Cycles=(1, 30), ZGC_Minor_Pauses=(15, 1)
            )
        },
    ).system
    assert (system.zgc_cycles_gc_count, system.zgc_cycles_gc_time) == (6, 80)
    assert (system.zgc_pauses_gc_count, system.zgc_pauses_gc_time) == (15, 1)
    assert system.young_gc_count is None


def test_before_java_17_zgc_only_counts_cycles():
    system = read_stats({"a": node(ZGC=(0, 0))}, {"a": node(uptime=2000, ZGC=(3, 90))}).system
    assert (system.zgc_cycles_gc_time, system.zgc_pauses_gc_time) == (90, None)


def test_totals_are_missing_if_a_node_restarted():
    result = read_stats({"a": node(uptime=5000, young=(5, 50))}, {"a": node(uptime=100, young=(1, 5))})
    assert result.system.young_gc_count is None
    assert result.errors == (
        "jvm-stats: node 'node-0' restarted during the race: total GC counts and times are missing",
    )


def read_stats_of(race_s, before, after):
    """Reads the statistics before and after a race of this length."""
    replies, times = iter([{"nodes": before}, {"nodes": after}]), iter([0.0, race_s])
    device = JvmStats(ObservedCluster(lambda _path: next(replies), None), lambda: next(times))
    devices = TelemetryDevices([device])
    devices.start()
    return devices.stop()


def test_a_node_that_restarted_early_in_the_race_is_up_for_longer_than_before_it():
    before = {"a": node(uptime=30_000, young=(12, 400))}
    for young in ((9, 310), (90, 3_100)):
        result = read_stats_of(600.0, before, {"a": node(uptime=490_000, young=young)})
        assert result.system.young_gc_count is None
        assert result.values == {}
        assert result.errors == (
            "jvm-stats: node 'node-0' restarted during the race: total GC counts and times are missing",
        )
    # Its clock is slower than that of the driver.
    result = read_stats_of(600.0, before, {"a": node(uptime=628_500, young=(13, 410))})
    assert (result.system.young_gc_count, result.errors) == (1, ())


def test_a_difference_is_never_negative():
    before = {"a": node(uptime=30_000, young=(12, 400), old=(1, 5))}
    for after in (node(uptime=630_000, young=(13, 310), old=(1, 5)), node(uptime=630_000, young=(13, 410))):
        result = read_stats_of(600.0, before, {"a": after})
        assert (result.system.young_gc_time, result.values) == (None, {})
        assert result.errors == (
            "jvm-stats: the counters of node 'node-0' went down during the race: total GC counts and times "
            "are missing",
        )


def test_totals_are_missing_if_nodes_joined_or_left():
    result = read_stats({"a": node(young=(5, 50))}, {"b": node("node-1", young=(1, 5))})
    assert result.system.young_gc_count is None
    assert [error.split(": ")[1] for error in result.errors] == [
        "node 'node-0' left during the race",
        "node 'node-1' joined during the race",
    ]


def test_the_page_on_measuring_lists_every_figure_of_the_collectors():
    page = (ROOT / "docs" / "measuring.md").read_text("utf-8")
    rows = re.findall(r"^\| Total .* GC time, count \| `(\w+)`, `(\w+)` \|", page, re.MULTILINE)
    documented = {key for row in rows for key in row}
    assert documented == {name for name in SystemMetrics.__struct_fields__ if "_gc_" in name}
    names = {
        "G1_Young_Generation": (1, 1),
        "old": (1, 1),
        "ZGC_Cycles": (1, 1),
        "ZGC_Pauses": (1, 1),
        "G1_Concurrent_GC": (1, 1),
    }
    result = read_stats({"a": node()}, {"a": node(uptime=2000, **names)})
    assert {key for key in documented if getattr(result.system, key) == 1} == documented
    patterns = re.findall(r"`((?:node|cluster)\.[\w.]+_gc_\w+)`", page)
    assert len(patterns) == 4
    kinds = [pattern.replace("NAME", "node-0").replace("KIND", "old") for pattern in patterns]
    assert [kind for kind in kinds if kind not in result.values] == []
