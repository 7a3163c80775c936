"""Index statistics are differences over the race and leave out system indices."""

import re

import pytest

from pacenote.errors import EngineError
from pacenote.model.system_metrics import PerShardTimes, SystemMetrics
from pacenote.telemetry.device import ObservedCluster, TelemetryDevices
from pacenote.telemetry.index_stats import IndexStats, is_measured
from shape.sources import ROOT

DOCUMENTED = re.findall(
    r"^\| [^|]+ \| `(\w+)` \| `(\w+)\.(\w+)` \| (difference|end) \| (primary|all) shards \|",
    (ROOT / "docs" / "measuring.md").read_text("utf-8"),
    re.MULTILINE,
)
"""The key, the API's group and field, the kind and the shards of each figure in docs/measuring.md."""


def shard(*, primary=True, node="n", **counts):
    """Returns one shard copy; `counts` may contain indexing, merges, store, flush and segments."""
    indexing, merges, store, flush = (
        counts.get(name, 0) for name in ("indexing", "merges", "store", "flush")
    )
    return {
        "routing": {"state": "STARTED", "primary": primary, "node": node},
        "indexing": {"index_time_in_millis": indexing, "throttle_time_in_millis": 0},
        "merges": {
            "total": merges,
            "total_time_in_millis": merges * 100,
            "total_throttled_time_in_millis": 0,
        },
        "refresh": {"total": 4, "total_time_in_millis": 40},
        "flush": {"total": flush, "total_time_in_millis": flush * 10},
        "store": {"size_in_bytes": store},
        "translog": {"size_in_bytes": 55},
        "segments": {"count": counts.get("segments", 1)},
    }


def reply(failed=0, **indices):
    """Returns a statistics reply; each index is a list of shards, and each shard a list of its copies."""
    return {
        "_shards": {"failed": failed},
        "indices": {
            name: {
                "uuid": f"{name}-1",
                "shards": {str(number): copies for number, copies in enumerate(shards)},
            }
            for name, shards in indices.items()
        },
    }


def recovery(kind, started=1, node="n", files=30, logged=0):
    """Returns how a shard copy came to its node, as `/_recovery` describes it."""
    return {
        **{"id": 0, "type": kind, "stage": "DONE", "primary": True, "start_time_in_millis": started},
        **{"target": {"id": node}, "translog": {"total": logged}},
        "index": {"size": {"total_in_bytes": files * 1000}, "files": {"total": files}},
    }


def recoveries(**indices):
    return {name: {"shards": list(shards)} for name, shards in indices.items()}


def read_stats(before, after, recovered=(None, None)):
    """Reads the statistics before and after a race; `recovered` are the replies about recoveries."""
    replies, of_recoveries = iter([before, after]), iter(recovered)

    def get(path):
        return next(of_recoveries if "_recovery" in path else replies)

    devices = TelemetryDevices([IndexStats(ObservedCluster(get, None))])
    devices.start()
    return devices.stop()


def test_counters_are_differences_summed_over_primary_shards():
    before = reply(logs=[[shard(indexing=100, merges=1)], [shard(indexing=50)]])
    after = reply(
        logs=[
            [shard(indexing=1100, merges=3, store=10), shard(primary=False, indexing=7777, store=10)],
            [shard(indexing=250, merges=2, store=20, segments=5)],
        ]
    )
    system = read_stats(before, after).system
    assert system.total_time == 1200
    assert system.total_time_per_shard == PerShardTimes(200, 600, 1000)
    assert system.merge_count == 4
    assert system.merge_time == 400
    assert system.refresh_count == 0
    assert system.segment_count == 6


def test_sizes_are_read_at_the_end_and_include_replicas():
    after = reply(logs=[[shard(store=10), shard(primary=False, store=11)]])
    system = read_stats(reply(), after).system
    assert system.store_size == 21
    assert system.translog_size == 110


def test_a_value_that_the_engine_does_not_report_is_missing_instead_of_zero():
    result = read_stats(reply(), reply(logs=[[shard()]]))
    assert result.system.dataset_size is None
    assert result.errors == ()


CREATED = recovery("EMPTY_STORE", files=0)


@pytest.mark.parametrize(
    ("before", "after", "recovered"),
    [
        # The race creates the index, which moves to another node, or whose replica is promoted there.
        ({}, {"node": "m"}, ({}, [recovery("PEER", node="m"), CREATED])),
        # Its node restarts.
        ({}, {}, ({}, [recovery("EXISTING_STORE")])),
        ({}, {"node": "m"}, ({}, [recovery("PEER", node="m", files=0)])),
        ({}, {}, ({}, [recovery("EXISTING_STORE", files=1, logged=5)])),
        # The index exists before. After the move, more is counted than before the race.
        ({"indexing": 5}, {"node": "m"}, ([CREATED], [recovery("PEER", node="m")])),
        ({"indexing": 5}, {"node": "m"}, ({}, {})),
        ({"indexing": 5}, {}, ([CREATED], [recovery("EXISTING_STORE", started=2)])),
        # It moves away and back again.
        ({"indexing": 5}, {}, ([recovery("PEER")], [recovery("PEER", started=2)])),
    ],
)
def test_a_shard_whose_counters_began_again_has_no_differences(before, after, recovered):
    stats = [reply(logs=[[shard(**before)]]) if before else reply(), reply()]
    stats[1] = reply(logs=[[shard(**{"indexing": 12_000, "segments": 3} | after)]])
    replies = [recoveries(logs=shards) if shards else {} for shards in recovered]
    result = read_stats(*stats, replies)
    assert result.system.total_time is None
    assert result.system.merge_count is None
    assert result.system.segment_count == 3
    assert result.errors == (
        "index-stats: shard logs[0] moved, was promoted or restarted during the race, and its counters began "
        "again: all times and counts are missing",
    )


@pytest.mark.parametrize(
    ("before", "after", "recovered"),
    [
        (None, {}, ({}, [CREATED])),
        (None, {}, ({}, [recovery("SNAPSHOT")])),
        (None, {}, ({}, [recovery("LOCAL_SHARDS")])),
        # It moves, or is closed and opened, before anything is indexed.
        (None, {"node": "m"}, ({}, [recovery("PEER", node="m", files=1)])),
        (None, {}, ({}, [recovery("EXISTING_STORE", files=1)])),
        # It stays where a previous recovery has brought it, and its replica moves.
        ({}, {}, ([recovery("PEER")], [recovery("PEER"), recovery("PEER", started=9, node="m")])),
        # An engine that does not tell, or something else.
        (None, {}, ({}, {})),
        ({}, {}, ({}, {})),
        (None, {}, ([1], ["shards"])),
        (None, {}, ([{"id": 0}], [{"id": 0, "type": 3, "target": []}])),
    ],
)
def test_a_shard_that_stayed_has_its_differences(before, after, recovered):
    stats = [reply() if before is None else reply(logs=[[shard(**before)]])]
    stats.append(reply(logs=[[shard(**{"indexing": 12_000} | after)]]))
    replies = [recoveries(logs=shards) if shards else {} for shards in recovered]
    result = read_stats(*stats, replies)
    assert (result.system.total_time, result.errors) == (12_000, ())


def test_statistics_are_read_although_recoveries_are_not():
    def get(path):
        if "_recovery" in path:
            raise EngineError("HTTP 403")
        return reply(logs=[[shard(indexing=7)]])

    devices = TelemetryDevices([IndexStats(ObservedCluster(get, None))])
    devices.start()
    result = devices.stop()
    assert (result.system.total_time, result.errors) == (0, ())


class EveryFigure(dict):
    """Statistics of a shard in which every group has every figure."""

    def get(self, key, default=None):
        return 1 if default is None else EveryFigure()


def test_the_page_on_measuring_lists_every_figure_of_the_index_statistics():
    keys = {key for key, *_ in DOCUMENTED}
    times = {f"{key}_per_shard" for key in keys if key.endswith("_time")}
    shards = reply(logs=[[EveryFigure(routing={"primary": True})]])
    system = read_stats(shards, shards).system
    read = {name for name in SystemMetrics.__struct_fields__ if getattr(system, name) not in (None, ())}
    assert keys | times == read


@pytest.mark.parametrize(("key", "group", "name", "kind", "shards"), DOCUMENTED)
def test_each_figure_is_read_as_the_page_on_measuring_says(key, group, name, kind, shards):
    def copy(primary, value):
        return {"routing": {"primary": primary}, group: {name: value}}

    before = reply(logs=[[copy(True, 5), copy(False, 5)]])
    after = reply(logs=[[copy(True, 25), copy(False, 125)]])
    primary = 20 if kind == "difference" else 25
    assert getattr(read_stats(before, after).system, key) == primary + (125 if shards == "all" else 0)


def test_an_index_created_during_the_race_is_counted_in_full():
    before, after = reply(logs=[[shard(indexing=500)]]), reply(logs=[[shard(indexing=700)]])
    after["indices"]["logs"]["uuid"] = "another"
    assert read_stats(before, after).system.total_time == 700


def test_counters_that_decreased_are_missing_with_a_reason():
    result = read_stats(
        reply(logs=[[shard(indexing=500, flush=1)]]), reply(logs=[[shard(indexing=20, flush=3)]])
    )
    assert result.system.total_time is None
    assert result.system.total_time_per_shard is None
    assert result.system.flush_count == 2
    assert result.errors == (
        "index-stats: total_time is missing: the counters of shard logs[0] went down during the race",
    )


def test_the_values_of_an_empty_cluster_are_zero():
    system = read_stats(reply(), reply()).system
    assert (system.total_time, system.merge_count, system.store_size, system.segment_count) == (0, 0, 0, 0)
    assert system.total_time_per_shard is None


def test_no_difference_is_known_if_a_shard_did_not_answer_before_the_race():
    # Shard 1 has indexed for 7 s before the race.
    before = reply(failed=1, logs=[[shard(indexing=100)]])
    after = reply(logs=[[shard(indexing=200, store=10)], [shard(indexing=7000, store=20)]])
    result = read_stats(before, after)
    assert (result.system.total_time, result.system.total_time_per_shard) == (None, None)
    assert (result.system.merge_count, result.system.store_size) == (None, 30)
    assert result.errors == (
        "index-stats: 1 shard did not answer before the race: all times and counts are missing",
    )


def test_no_figure_is_known_if_a_shard_did_not_answer_after_the_race():
    result = read_stats(reply(), reply(failed=2, logs=[[shard(indexing=100, store=10)]]))
    assert result.system == SystemMetrics()
    assert result.errors == ("index-stats: 2 shards did not answer after the race: all values are missing",)


@pytest.mark.parametrize(
    ("index", "measured"),
    [
        ("logs", True),
        (".security-7", False),
        (".ds-logs-app-000001", True),
        (".ds-.logs-internal-000001", False),
    ],
)
def test_system_indices_are_left_out(index, measured):
    assert is_measured(index) is measured
    system = read_stats(reply(), {"indices": {index: reply(x=[[shard(indexing=9)]])["indices"]["x"]}}).system
    assert system.total_time == (9 if measured else 0)


def test_a_device_that_fails_is_reported():
    def refuse(path):
        raise EngineError("HTTP 403 for /_all/_stats")

    devices = TelemetryDevices([IndexStats(ObservedCluster(refuse, None))])
    devices.start()
    result = devices.stop()
    assert result.system.total_time is None
    assert result.errors == ("index-stats: could not be read before the race: HTTP 403 for /_all/_stats",)


@pytest.mark.parametrize(
    ("indices", "text"),
    [
        ([], 'an object "indices"'),
        ({"a": {"shards": {"0": [7]}}}, '"shards" with their "routing" for each index'),
        (
            {"a": {"shards": {"0": [{"routing": {"primary": True}, "indexing": 7}]}}},
            'an object "indexing" for each shard',
        ),
    ],
)
def test_a_part_of_an_unexpected_form_is_reported(indices, text):
    (error,) = read_stats(reply(), {"indices": indices}).errors
    assert error.endswith(f"the engine's response has an unexpected form: expected {text}")


def test_an_unexpected_reply_is_reported():
    assert read_stats(reply(), {"surprise": []}).errors == (
        "index-stats: could not be read after the race: the engine's response has an unexpected form"
        ': expected an object "indices"',
    )


def test_the_heap_of_segments_is_missing_if_the_engine_does_not_measure_it():
    def with_memory(memory, norms):
        segments = {"count": 2, "memory_in_bytes": memory, "norms_memory_in_bytes": norms}
        return reply(logs=[[{**shard(), "segments": segments}]])

    system = read_stats(with_memory(0, 0), with_memory(0, 0)).system
    assert (system.memory_segments, system.memory_norms, system.segment_count) == (None, None, 2)
    system = read_stats(with_memory(5, 0), with_memory(7, 0)).system
    assert (system.memory_segments, system.memory_norms, system.memory_points) == (7, 0, None)
