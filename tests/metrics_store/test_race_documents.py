"""The documents of a race and its results; the golden files have what Rally 2.13 writes, with our figures."""

from __future__ import annotations

import json
import os
from pathlib import Path

from msgspec.structs import replace

from pacenote.metrics_store.race_documents import race_document, race_results, result_documents
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.started_node import StartedNode
from pacenote.model.system_metrics import FieldUsage, MlProcessingTime, TransformFigure
from support.records import record, task

GOLDEN = Path(__file__).with_name("golden")


def check(name: str, document: object) -> None:
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text()


def race():
    return record(task_meta={"term": {"team": "search"}}, user_tags={"intention": "baseline", "run": 1})


def test_the_document_of_a_race_is_rallys():
    check("race.json", race_document(race()))


def test_the_documents_of_results_are_rallys():
    check("results.json", list(result_documents(race())))


def test_secrets_are_in_no_document():
    assert "hunter2" not in json.dumps([race_document(race()), *result_documents(race())])


def test_a_bare_schedule_has_no_challenge_in_the_race_and_rallys_name_in_results():
    bare = replace(race(), challenge=None)
    assert "challenge" not in race_document(bare)
    assert {one["challenge"] for one in result_documents(bare)} == {"default"}


def test_tasks_that_reports_leave_out_are_stored_only_if_they_failed():
    def stored(error_rate):
        tasks = (task(), task("refresh", error_rate=error_rate))
        results = race_results(record(tasks=tasks, unreported=("refresh",)))
        return [entry["task"] for entry in results["op_metrics"]]

    assert stored(0.0) == stored(None) == ["search"]
    assert stored(0.5) == ["search", "refresh"]


def test_a_rate_that_was_not_measured_is_zero_as_in_rally():
    entry = race_results(record(tasks=(task(error_rate=None),)))["op_metrics"][0]
    assert entry["error_rate"] == 0.0
    assert "meta" not in entry


def test_figures_of_jobs_transforms_and_fields_have_what_they_are_about():
    system = replace(
        record().system,
        ml_processing_time=(MlProcessingTime("job", 1.0, 2.0, 2.5, 4.0),),
        total_transform_throughput=(TransformFigure("t1", 9.0, "docs/s"),),
        disk_usage_points=(FieldUsage("logs", "size", 7.0),),
        disk_usage_knn_vectors=(FieldUsage("logs", "vector", 8.0),),
    )
    by_name = {one["name"]: one for one in result_documents(record(system=system))}
    ml = {"min": 1.0, "mean": 2.0, "median": 2.5, "max": 4.0}
    assert (by_name["ml_processing_time"]["job"], by_name["ml_processing_time"]["value"]) == ("job", ml)
    throughput = by_name["total_transform_throughput"]
    assert (throughput["id"], throughput["value"]) == ("t1", {"single": 9.0})
    points = by_name["disk_usage_points"]
    assert (points["index"], points["field"], points["value"]) == ("logs", "size", {"single": 7.0})
    assert "disk_usage_knn_vectors" not in by_name  # Rally's results do not have it.


def test_figures_of_a_node_name_it():
    cluster = replace(record().cluster, started_nodes=(StartedNode(name="rally-node-0", pid=1),))
    system = replace(record().system, index_size=5, bytes_written=None)
    started = record(cluster=cluster, system=system, telemetry={"node_startup_time": 4.5})
    by_name = {one["name"]: one for one in result_documents(started) if "node" in one}
    assert {name: one["value"] for name, one in by_name.items()} == {
        "index_size": {"single": 5},
        "startup_time": {"single": 4.5},
    }
    assert {one["node"] for one in by_name.values()} == {"rally-node-0"}


def test_plugin_parameters_and_the_team_are_stored():
    options = RecordedOptions(plugin_params={"a": 1}, team_revision="abc")
    document = race_document(record(options=options))
    assert (document["plugin-params"], document["cluster"]["team-revision"]) == ({"a": 1}, "abc")
    assert next(result_documents(record(options=options)))["team-revision"] == "abc"
