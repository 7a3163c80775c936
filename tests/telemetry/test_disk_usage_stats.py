"""Rally's disk-usage-stats: fields, rows and problems."""

from msgspec.structs import replace

from pacenote.model.system_metrics import FieldUsage
from pacenote.report.summary import build_report
from pacenote.store.race_store import RaceStore
from pacenote.telemetry.disk_usage_stats import DiskUsageStats
from support.http_server import json_response
from support.records import record
from telemetry.sampling import run_device

FIELDS = {
    "message": {
        "total_in_bytes": 3_145_728,
        "inverted_index": {"total_in_bytes": 2_097_152},
        "stored_fields_in_bytes": 1_048_576,
        "doc_values_in_bytes": 0,
    },
    "_id": {"total_in_bytes": 512, "norms_in_bytes": 512},
}


def reply(failed=0):
    return {"_shards": {"total": 1, "failed": failed}, "logs": {"store_size": "3mb", "fields": FIELDS}}


def test_the_fields_of_all_indices_of_the_track_are_read_and_reported_largest_first():
    run = run_device(DiskUsageStats, {"/logs/_disk_usage": reply()}, indices=("logs",))
    assert run.lines == ["POST /logs/_disk_usage?run_expensive_tasks=true&flush=true"]
    assert run.result.errors == ()
    assert run.result.system.disk_usage_norms == (FieldUsage("logs", "_id", 512),)
    rows = build_report(replace(record(), system=run.result.system)).rows
    assert [(row.metric, row.value, row.unit) for row in rows if row.metric.startswith("logs ")] == [
        ("logs message inverted index", 2, "MB"),
        ("logs message stored fields", 1, "MB"),
        ("logs message total", 3, "MB"),
        ("logs _id norms", 512, "bytes"),
        ("logs _id total", 512, "bytes"),
    ]


def test_an_index_that_cannot_be_read_does_not_lose_the_others():
    def respond(request):
        if request.path == "/gone/_disk_usage":
            return json_response({"error": {"reason": "no such index [gone]"}}, 404)
        return json_response(reply(failed=1))

    params = {"disk-usage-stats-indices": "gone,logs", "disk-usage-stats-flush": "false"}
    run = run_device(DiskUsageStats, respond, params)
    assert run.lines[1] == "POST /logs/_disk_usage?run_expensive_tasks=true&flush=false"
    gone, failed = run.result.errors
    assert gone.startswith("disk-usage-stats: gone: POST /gone/_disk_usage")
    assert "status 404: no such index [gone]" in gone
    assert failed == "disk-usage-stats: logs: 1 shard could not be read, so its sizes are too small"
    assert len(run.result.system.disk_usage_total) == 2


def test_a_track_without_indices_needs_the_parameter():
    (error,) = run_device(DiskUsageStats, {}).result.errors
    assert error == "disk-usage-stats: could not be read before the race: the track has no indices"


def test_an_engine_that_cannot_analyse_indices_is_asked_once():
    run = run_device(DiskUsageStats, {}, indices=("a", "b"))
    assert len(run.lines) == 1
    (error,) = run.result.errors
    assert error.startswith("disk-usage-stats: could not be read after the race: POST /a/_disk_usage")


def test_long_names_of_fields_are_shortened_but_stay_apart_and_lose_no_other_figure(tmp_path):
    long = "a" * 2_000
    fields = {f"{long}{end}": FIELDS["_id"] for end in "xy"}
    replies = {"_shards": {"failed": 0}, "logs": {"fields": {**FIELDS, **fields}}, long: {"fields": FIELDS}}
    system = run_device(DiskUsageStats, {"/logs/_disk_usage": replies}, indices=("logs",)).result.system
    short = f"{'a' * 299}…"
    of_logs = {usage.field for usage in system.disk_usage_norms if usage.index == "logs"}
    assert of_logs == {"_id", short, f"{short} #2"}
    assert {usage.index for usage in system.disk_usage_total} == {"logs", short}
    store = RaceStore(tmp_path)
    store.create(record(complete=False)).finish(record(system=system))
    assert store.load("race-1").system == system
