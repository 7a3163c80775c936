"""Processing times of machine learning jobs."""

from msgspec.structs import replace

from pacenote.model.system_metrics import MlProcessingTime
from pacenote.report.summary import build_report
from pacenote.telemetry.ml_stats import MlProcessingTimes
from support.records import record
from telemetry.sampling import run_device

PATH = "/.ml-anomalies-*/_search"
COUNT = "/.ml-anomalies-*/_count"


def test_the_times_of_each_job_are_read_and_reported():
    bucket = {
        "key": "job-1", "doc_count": 3, "min": {"value": 1.0}, "mean": {"value": 2.5}, "max": {"value": 9.0},
        "median": {"values": {"50.0": 2.0}},
    }  # fmt: skip
    run = run_device(
        MlProcessingTimes, {COUNT: {"count": 3}, PATH: {"aggregations": {"jobs": {"buckets": [bucket]}}}}
    )
    assert run.result.errors == ()
    assert run.result.system.ml_processing_time == (MlProcessingTime("job-1", 1.0, 2.5, 2.0, 9.0),)
    rows = build_report(replace(record(), system=run.result.system)).rows
    assert [(row.metric, row.task, row.value, row.unit) for row in rows if "ML processing" in row.metric] == [
        ("Min ML processing time", "job-1", 1.0, "ms"),
        ("Mean ML processing time", "job-1", 2.5, "ms"),
        ("Median ML processing time", "job-1", 2.0, "ms"),
        ("Max ML processing time", "job-1", 9.0, "ms"),
    ]


def test_long_names_of_jobs_are_shortened_but_stay_apart():
    value = {"value": 1.0}
    times = {"min": value, "mean": value, "max": value, "median": {"values": {"50.0": 2.0}}}
    buckets = [{"key": "j" * 2_000 + end, **times} for end in "xy"]
    reply = {"aggregations": {"jobs": {"buckets": buckets}}}
    system = run_device(MlProcessingTimes, {COUNT: {"count": 2}, PATH: reply}).result.system
    short = f"{'j' * 299}…"
    assert [times.job for times in system.ml_processing_time] == [short, f"{short} #2"]


def test_a_cluster_without_jobs_has_none():
    run = run_device(MlProcessingTimes, {COUNT: {"count": 0}})
    assert (run.result.system.ml_processing_time, run.result.errors) == ((), ())
    assert not any("_search" in line for line in run.lines)
