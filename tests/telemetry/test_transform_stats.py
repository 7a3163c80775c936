"""Rally's transform-stats: samples, totals and rows."""

from msgspec.structs import replace

from pacenote.model.system_metrics import TransformFigure
from pacenote.report.summary import build_report
from pacenote.telemetry.transform_stats import TransformStats
from support.records import record
from telemetry.sampling import run_device

STATS = {
    "pages_processed": 2, "documents_processed": 500, "documents_indexed": 50, "index_time_in_ms": 100,
    "index_total": 1, "index_failures": 0, "search_time_in_ms": 300, "search_total": 2,
    "search_failures": 0, "processing_time_in_ms": 600, "processing_total": 2,
}  # fmt: skip


def read(stats, params=None, path="/_transform/_all/_stats"):
    return run_device(
        TransformStats, {path: {"transforms": [{"id": "t", "state": "started", "stats": stats}]}}, params
    )


def test_samples_have_the_names_of_rally():
    run = read(STATS)
    assert run.result.errors == ()
    values = run.values()
    assert values["transform_documents_processed", "t"] == 500
    assert values["transform_search_time", "t"] == 300
    assert values["transform_throughput", "t"] == 500
    assert len(values) == 12


def test_totals_are_stored_and_reported_in_the_order_of_rally():
    result = read(STATS).result
    assert result.system.total_transform_processing_times == (TransformFigure("t", 600, "ms"),)
    assert result.system.total_transform_throughput == (TransformFigure("t", 500, "docs/s"),)
    assert result.values["transform.t.total_transform_index_failures"] == 0
    rows = build_report(replace(record(), system=result.system)).rows
    assert [
        (row.metric, row.task, row.value, row.unit) for row in rows if row.metric.startswith("Transform")
    ] == [
        ("Transform processing time", "t", 600, "ms"),
        ("Transform indexing time", "t", 100, "ms"),
        ("Transform search time", "t", 300, "ms"),
        ("Transform throughput", "t", 500, "docs/s"),
    ]


def test_a_transform_that_has_not_worked_has_no_throughput():
    idle = dict.fromkeys(STATS, 0)
    run = read(idle, {"transform-stats-transforms": ["a", "b"]}, "/_transform/a,b/_stats")
    assert ("transform_throughput", "t") not in run.values()
    assert run.result.system.total_transform_throughput == ()


def test_a_reply_in_another_form_is_an_error():
    run = read({"pages_processed": 1})
    assert any("unexpected form" in error for error in run.result.errors)


def test_long_ids_of_transforms_are_shortened_but_stay_apart():
    transforms = [{"id": "t" * 2_000 + end, "stats": STATS} for end in "xy"]
    result = run_device(TransformStats, {"/_transform/_all/_stats": {"transforms": transforms}}).result
    short = f"{'t' * 299}…"
    assert [each.id for each in result.system.total_transform_throughput] == [short, f"{short} #2"]
