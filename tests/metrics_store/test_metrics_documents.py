"""Metrics documents: the golden file has what Rally 2.13 writes, with our figures."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from msgspec.structs import replace

from pacenote.metrics_store.metrics_documents import MetricsDocuments, MetricSources
from pacenote.metrics_store.samples import StoredSample
from pacenote.model.race_timeline import PointTimes, RaceTimeline, TaskTimeline, TimelinePoint
from pacenote.model.result import SampleCounts
from pacenote.model.started_node import StartedNode
from pacenote.model.system_metrics import FieldUsage, MlProcessingTime, TransformFigure
from pacenote.model.telemetry_sample import TelemetrySample
from support.records import bulk, paced, record, task

GOLDEN = Path(__file__).with_name("golden") / "metrics.json"

SAMPLE = StoredSample(
    *("term", "term-query", "search", False, 3, "normal"),
    *(1_000_000, 1_500_000, 4_500_000, 3_100_000, True, 200, "", None),
)
FAILED = SAMPLE._replace(success=False, status=429, error_class="http-status", details='{"hits": 5}')
PART = SAMPLE._replace(part=True, operation="inner", operation_type="raw-request")


def race(**changes: Any):
    driver = {"started_unix_ns": 1_772_368_220_000_000_000}
    term = paced(operation="term-query", started_s=10.0, samples=SampleCounts(kept=2))
    tasks = (bulk(), term)
    return record(**{"driver": driver, "tasks": tasks, "task_meta": {"term": {"team": "search"}}} | changes)


def point(from_s: int, work: int) -> TimelinePoint:
    return TimelinePoint(from_s, 1, 0, work, work, work, PointTimes(1.0, 1.0, 1.0, 1.0), None, ())


def timeline(*points: TimelinePoint, measured_from_s: int | None = 1, length_s: int = 1) -> RaceTimeline:
    own = TaskTimeline(True, measured_from_s, (), points, ())
    return RaceTimeline(length_s, 4.0, {"term": own})


def documents(stored) -> list[dict[str, Any]]:
    return [json.loads(one.text) for one in stored]


def test_documents_are_rallys():
    sources = MetricSources(
        (SAMPLE, FAILED, PART),
        timeline(point(0, 5), point(1, 50)),
        (TelemetrySample(1_772_368_221_000_000_000, "shard-stats", "docs", 7.0, labels={"node": "n1"}),),
    )
    by_id = {one.id: json.loads(one.text) for one in MetricsDocuments(race(), None).all(sources)}
    text = json.dumps(by_id, indent=1) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_a_sample_has_latency_service_time_and_processing_time_in_milliseconds():
    stored = documents(MetricsDocuments(race(), 1).of_samples([SAMPLE]))
    values = {one["name"]: one["value"] for one in stored}
    assert values == {"latency": 3.5, "service_time": 3.0, "processing_time": 3.1}
    # Since the task began, and by the wall clock.
    assert {one["relative-time"] for one in stored} == {1.5}
    assert {one["@timestamp"] for one in stored} == {1_772_368_220_000 + 10_000 + 2}


def test_a_sub_operation_has_a_service_time_under_its_own_name():
    (document,) = documents(MetricsDocuments(race(), 1).of_samples([PART]))
    assert (document["name"], document["task"], document["operation"]) == ("service_time", "term", "inner")
    assert document["operation-type"] == "raw-request"


@pytest.mark.parametrize(
    ("error_class", "expected"), [("timeout", "transport"), ("reset", "transport"), ("bulk-item", "api")]
)
def test_a_failure_has_its_kind_and_status(error_class, expected):
    sample = FAILED._replace(error_class=error_class)
    meta = documents(MetricsDocuments(race(), 1).of_samples([sample]))[0]["meta"]
    assert (meta["success"], meta["error-type"], meta["error-description"]) == (False, expected, error_class)
    assert (meta["http-status"], meta["hits"], meta["client_id"], meta["team"]) == (429, 5, 3, "search")


def test_damaged_details_are_left_out():
    meta = documents(MetricsDocuments(race(), 1).of_samples([SAMPLE._replace(details="{")]))[0]["meta"]
    assert meta["success"] is True


def test_operations_of_several_types_with_one_name_have_their_types():
    samples = [PART, PART._replace(operation_type="sleep")]
    stored = documents(MetricsDocuments(race(), None).of_samples(samples))
    assert [one["operation-type"] for one in stored] == ["raw-request", "sleep"]


def test_every_nth_sample_of_each_task_is_stored():
    other = SAMPLE._replace(task="index-append")
    samples = [SAMPLE] * 9 + [other] * 3 + [PART] * 6
    stored = documents(MetricsDocuments(race(), 3).of_samples(samples))
    services = [one for one in stored if one["name"] == "service_time"]
    assert Counter((one["task"], one["operation"]) for one in services) == {
        ("term", "term-query"): 3,
        ("index-append", "term-query"): 1,
        ("term", "inner"): 2,
    }


def test_operations_that_take_turns_are_all_represented():
    """A composite with four sub-operations, and whose times alternate."""
    parts = [PART._replace(operation=f"s{number}") for number in range(4)]
    fast, slow = SAMPLE._replace(done_ns=2_500_000), SAMPLE._replace(done_ns=11_500_000)
    stored = documents(MetricsDocuments(race(), 2).of_samples([*parts, fast, *parts, slow] * 500))
    services = [one for one in stored if one["name"] == "service_time"]
    names = [f"s{number}" for number in range(4)]
    assert Counter(one["operation"] for one in services) == dict.fromkeys([*names, "term-query"], 500)
    whole = [one["value"] for one in services if one["operation"] == "term-query"]
    assert fmean(whole) == pytest.approx((1.0 + 10.0) / 2, rel=0.1)
    again = documents(MetricsDocuments(race(), 2).of_samples([*parts, fast, *parts, slow] * 500))
    assert again == stored


def test_by_default_large_tasks_store_at_most_a_hundred_thousand_samples():
    tasks = (
        task("small", samples=SampleCounts(kept=100_000)),
        task("large", samples=SampleCounts(kept=350_000)),
    )
    assert MetricsDocuments(race(tasks=tasks), None).steps() == {"small": 1, "large": 4}
    assert MetricsDocuments(race(tasks=tasks), 1).steps() == {"small": 1, "large": 1}


def test_ids_depend_only_on_the_race_and_the_document():
    sources = MetricSources((SAMPLE, FAILED, PART), timeline(point(1, 5)))
    first, second = (list(MetricsDocuments(race(), None).all(sources)) for _ in range(2))
    assert first == second
    ids = [one.id for one in first]
    assert len(set(ids)) == len(ids)
    other = MetricsDocuments(replace(race(), race_id="race-2"), None).all(sources)
    assert not {one.id for one in other} & set(ids)


def rates(stored) -> list[tuple[float, float, str]]:
    return [(one["relative-time"], one["value"], one["sample-type"]) for one in documents(stored)]


def test_throughput_is_that_of_each_whole_second_with_its_sample_type():
    tasks = (paced(duration_s=3.4),)
    points = (point(0, 5), point(1, 50), point(2, 60), point(3, 9))
    stored = MetricsDocuments(race(tasks=tasks), None).of_throughput(timeline(*points))
    # The last part is not a whole second: it would look like a drop.
    assert rates(stored) == [(1000, 5.0, "warmup"), (2000, 50.0, "normal"), (3000, 60.0, "normal")]


def test_seconds_without_an_operation_have_a_throughput_of_0():
    """Replies of 2.5 s: the mean of all values is that of the task."""
    points = (point(2, 1), point(5, 1), point(7, 1))
    stored = MetricsDocuments(race(tasks=(paced(duration_s=8.0),)), None).of_throughput(timeline(*points))
    assert [value for _, value, _ in rates(stored)] == [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0]


def test_parts_of_several_seconds_have_their_mean():
    tasks = (paced(duration_s=20.0),)
    stored = MetricsDocuments(race(tasks=tasks), None).of_throughput(
        timeline(point(0, 50), point(10, 500), length_s=10)
    )
    assert rates(stored) == [(10_000, 5.0, "warmup"), (20_000, 50.0, "normal")]


@pytest.mark.parametrize("changes", [{"duration_s": 0.5}, {"duration_s": 9.0, "reported_s": 2.0}])
def test_a_short_task_or_a_reported_time_has_one_throughput(changes):
    tasks = (paced(**changes),)
    stored = MetricsDocuments(race(tasks=tasks), None).of_throughput(timeline(point(0, 5)))
    assert rates(stored) == [(changes["duration_s"] * 1000, 833.333333, "normal")]


def test_the_engine_has_rallys_names_and_units():
    system = replace(
        record().system,
        flush_count=0,
        index_size=5,
        ml_processing_time=(MlProcessingTime("job", 1.0, 2.0, 2.5, 4.0),),
        total_transform_search_times=(TransformFigure("t1", 9.0, "ms"),),
        disk_usage_total=(FieldUsage("logs", "size", 7.0),),
    )
    cluster = replace(record().cluster, started_nodes=(StartedNode(name="rally-node-0", pid=1),))
    changed = race(system=system, cluster=cluster, telemetry={"node_startup_time": 4.5})
    by_name = {one["name"]: one for one in documents(MetricsDocuments(changed, None).of_engine())}
    assert by_name["indexing_total_time"]["value"] == 90_000.0
    assert by_name["indexing_total_time"]["per-shard"] == [15_000.0, 18_000.0, 21_000.0]
    assert (by_name["merges_total_count"]["value"], by_name["flush_total_count"]["value"]) == (7, 0)
    assert (by_name["node_total_young_gen_gc_time"]["unit"], by_name["store_size_in_bytes"]["unit"]) == (
        "ms",
        "byte",
    )
    assert by_name["ml_processing_time"]["median"] == 2.5
    assert by_name["total_transform_search_time"]["meta"]["transform_id"] == "t1"
    usage = by_name["disk_usage_total"]["meta"]
    assert (usage["index"], usage["field"]) == ("logs", "size")
    for name in ("final_index_size_bytes", "node_startup_time"):
        assert by_name[name]["meta"]["node_name"] == "rally-node-0"
    assert "refresh_total_time" not in by_name  # It was not measured.


def test_readings_of_a_device_are_one_document_each():
    def at(time_ns: int, name: str, value: float | None, node: str) -> TelemetrySample:
        return TelemetrySample(time_ns, "node-stats", name, value, labels={"node": node, "roles": "d"})

    samples = [at(1, "a", 1.0, "n1"), at(1, "b", None, "n1"), at(1, "a", 2.0, "n2"), at(2, "b", 3.0, "n1")]
    stored = documents(MetricsDocuments(race(), None).of_telemetry(samples))
    assert [(one["meta"]["node_name"], one.get("a"), one.get("b")) for one in stored] == [
        ("n1", 1.0, None),
        ("n2", 2.0, None),
        ("n1", None, 3.0),
    ]
    assert {one["name"] for one in stored} == {"node-stats"}
    assert stored[0]["meta"]["roles"] == "d"


def test_the_managing_node_is_named_as_in_rally():
    sample = TelemetrySample(1, "master-node-stats", "master_node", 1.0, labels={"node": "n1"})
    (stored,) = documents(MetricsDocuments(race(), None).of_telemetry([sample]))
    assert (stored["name"], stored["node"], "master_node" in stored) == ("master-node-stats", "n1", False)
