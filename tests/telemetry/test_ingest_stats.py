"""Documents that ingest pipelines processed during the race."""

import time

from pacenote.telemetry.device import ObservedCluster, TelemetryDevices
from pacenote.telemetry.ingest_stats import IngestStats


def counters(count, time, failed):
    return {"count": count, "time_in_millis": time, "current": 0, "failed": failed}


def node(count, time, failed, name="node-0", uptime=1000):
    """Returns a node's reply."""
    ingest = {"total": counters(count, time, failed)}
    return {"name": name, "jvm": {"uptime_in_millis": uptime}, "ingest": ingest}


def having(reply, **pipelines):
    """Adds pipelines to a node's reply, which it returns."""
    reply["ingest"]["pipelines"] = pipelines
    return reply


def pipeline(count, time, failed):
    """Returns the statistics of a pipeline with one processor that does all the work."""
    processor = {"set:tag": {"type": "set", "stats": counters(count, time, failed)}}
    return {**counters(count, time, failed), "processors": [processor]}


def read_stats(before, after):
    replies = iter([{"nodes": before}, {"nodes": after}])
    devices = TelemetryDevices([IngestStats(ObservedCluster(lambda _path: next(replies), None))])
    devices.start()
    return devices.stop()


def totals(result):
    system = result.system
    return (
        system.ingest_pipeline_cluster_count,
        system.ingest_pipeline_cluster_time,
        system.ingest_pipeline_cluster_failed,
    )


def test_totals_are_differences_summed_over_all_nodes():
    result = read_stats(
        {"a": node(5, 50, 1), "b": node(0, 0, 0, "node-1")},
        {"a": node(105, 250, 3, uptime=9000), "b": node(20, 30, 0, "node-1", 9000)},
    )
    assert (totals(result), result.errors) == ((120, 230, 2), ())


def test_without_pipelines_the_totals_are_zero():
    assert totals(read_stats({"a": node(0, 0, 0)}, {"a": node(0, 0, 0, uptime=2000)})) == (0, 0, 0)


def test_totals_are_missing_if_a_node_restarted_or_none_answered():
    result = read_stats({"a": node(9, 9, 9, uptime=5000)}, {"a": node(10, 10, 10, uptime=100)})
    assert totals(result) == (None, None, None)
    assert result.errors == (
        "ingest-pipeline-stats: node 'node-0' restarted during the race: "
        "total counts and times of ingest pipelines are missing",
    )
    assert totals(read_stats({}, {})) == (None, None, None)


def test_totals_that_went_down_are_missing():
    result = read_stats({"a": node(9, 9, 9, uptime=5000)}, {"a": node(10, 8, 10, uptime=9000)})
    assert totals(result) == (None, None, None)
    assert [error.partition(": ")[2].partition(":")[0] for error in result.errors] == [
        "the counters of node 'node-0' went down during the race"
    ]
    assert not any(name.startswith("node.") for name in result.values)


def test_a_reply_without_totals_is_an_error():
    (error,) = read_stats({"a": {"name": "node-0", "jvm": {"uptime_in_millis": 1}}}, {}).errors
    assert "unexpected form" in error


def test_pipelines_that_processed_documents_are_recorded_with_their_processors():
    result = read_stats(
        {"a": having(node(5, 5, 0), old=pipeline(5, 5, 0)), "b": node(0, 0, 0, "node-1")},
        {
            "a": having(node(25, 15, 1, uptime=9000), old=pipeline(5, 5, 0), new=pipeline(20, 10, 1)),
            "b": having(node(4, 2, 0, "node-1", 9000), new=pipeline(4, 2, 0)),
        },
    )
    assert result.errors == ()
    assert result.values["node.node-0.ingest_pipeline_node_count"] == 20
    assert result.values["node.node-1.ingest_pipeline_node_time"] == 2
    assert result.values["ingest_pipelines"] == [
        {
            "pipeline_name": "new",
            "ingest_pipeline_pipeline_count": 24,
            "ingest_pipeline_pipeline_time": 12,
            "ingest_pipeline_pipeline_failed": 1,
            "processors": [
                {
                    "processor_name": "set:tag",
                    "type": "set",
                    "ingest_pipeline_processor_count": 24,
                    "ingest_pipeline_processor_time": 12,
                    "ingest_pipeline_processor_failed": 1,
                }
            ],
        }
    ]


def test_a_pipeline_that_was_replaced_has_no_figures():
    result = read_stats(
        {"a": having(node(50, 50, 0), replaced=pipeline(50, 50, 0), kept=pipeline(0, 0, 0))},
        {"a": having(node(90, 80, 0, uptime=9000), replaced=pipeline(30, 20, 0), kept=pipeline(10, 10, 0))},
    )
    assert totals(result) == (40, 30, 0)
    assert [each["pipeline_name"] for each in result.values["ingest_pipelines"]] == ["kept"]
    assert result.errors == (
        "ingest-pipeline-stats: the counters of pipeline 'replaced' went down during the race: its figures "
        "are missing",
    )


def test_a_pipeline_that_was_replaced_and_has_counted_more_since_has_no_figures():
    result = read_stats(
        {
            "a": having(node(1010, 1000, 9), replaced=pipeline(1000, 1000, 9), kept=pipeline(10, 10, 0)),
            "b": having(node(0, 0, 0, "node-1"), replaced=pipeline(0, 0, 0), kept=pipeline(0, 0, 0)),
        },
        {
            "a": having(
                node(2130, 2100, 9, uptime=9000), replaced=pipeline(1100, 1100, 9), kept=pipeline(30, 30, 0)
            ),
            "b": having(node(7, 7, 0, "node-1", 9000), replaced=pipeline(7, 7, 0), kept=pipeline(0, 0, 0)),
        },
    )
    assert totals(result) == (1127, 1107, 0)
    # That it was not this one, which has counted little before, cannot be told.
    assert "ingest_pipelines" not in result.values
    assert result.errors == tuple(
        f"ingest-pipeline-stats: pipeline '{name}' may have been deleted and created again during the race, "
        "because all pipelines together counted fewer documents than their node: its figures are missing"
        for name in ("kept", "replaced")
    )


def test_pipelines_that_call_others_or_counted_more_than_is_lacking_have_figures():
    before = having(
        node(90, 0, 0), outer=pipeline(90, 0, 0), inner=pipeline(80, 0, 0), gone=pipeline(1, 0, 0)
    )
    after = having(node(190, 0, 0, uptime=9000), outer=pipeline(190, 0, 0), inner=pipeline(140, 0, 0))
    result = read_stats({"a": before}, {"a": after})
    assert [each["ingest_pipeline_pipeline_count"] for each in result.values["ingest_pipelines"]] == [100, 60]
    assert result.errors == ()
    # Another pipeline, which is gone, has counted the others.
    after = having(node(190, 0, 0, uptime=9000), outer=pipeline(180, 0, 0), inner=pipeline(80, 0, 0))
    result = read_stats({"a": before}, {"a": after})
    assert [each["ingest_pipeline_pipeline_count"] for each in result.values["ingest_pipelines"]] == [90]
    assert result.errors == ()


def test_a_node_may_report_any_number_of_pipelines():
    def many(count):
        names = [f"p{number}" for number in range(20_000)]
        pipelines = {name: pipeline(count, 0, 0) for name in names}
        # The counters of the first half went down.
        return pipelines | {name: pipeline(-count, 0, 0) for name in names[:10_000]}

    began_s = time.process_time()
    result = read_stats(
        {"a": having(node(0, 0, 0), **many(1))}, {"a": having(node(9, 9, 0, uptime=9000), **many(2))}
    )
    assert time.process_time() - began_s < 10
    assert any("the counters of pipeline 'p0' went down" in error for error in result.errors)
