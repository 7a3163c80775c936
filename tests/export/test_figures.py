"""The figures of races: names, units and values, also of imported and earlier races."""

from datetime import UTC, datetime

from msgspec.structs import replace

from pacenote.export.figures import exported_figures
from pacenote.figures.catalogue import METRICS
from pacenote.model.imported import ImportedResults, ImportedValue
from pacenote.model.race_record import RaceRecord, RecordedTrack
from pacenote.model.result import CensoredPercentile, ValueSummary, WarmupBacklog
from pacenote.model.saturation_answer import RecordedSaturation
from pacenote.model.system_metrics import FieldUsage, MlProcessingTime, SystemMetrics, TransformFigure
from pacenote.model.target_rate import TargetRate
from support.records import bulk, paced, part, record, task, times


def values(figures, metric, task_name="", part_name=""):
    """Returns the figures of a metric by statistic, as value and unit."""
    return {
        each.statistic: (each.value, each.unit)
        for each in figures
        if (each.metric, each.task, each.part) == (metric, task_name, part_name)
    }


def test_tasks_have_throughput_times_and_totals():
    race = record(tasks=(bulk(), paced()), targets={"term": TargetRate(1_000.0, "ops", 1_000.0)})
    figures = exported_figures(race)
    assert values(figures, "throughput", "index-append") == {
        "min": (9_000.0, "docs/s"),
        "mean": (12_345.678, "docs/s"),
        "median": (12_000.0, "docs/s"),
        "max": (15_000.5, "docs/s"),
    }
    latency = values(figures, "latency", "term")
    assert list(latency) == ["count", "min", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"]
    assert latency["count"] == (50_000, "")
    assert latency["p99"] == (8.0, "ms")
    assert values(figures, "latency", "index-append") == {}, "a task without a schedule has no latency"
    assert values(figures, "error_rate", "index-append") == {"value": (0.005, "ratio")}
    assert values(figures, "work_done", "index-append") == {"value": (740_000, "docs")}
    assert values(figures, "failures", "index-append", "HTTP 429") == {"value": (12, "documents")}
    assert values(figures, "target_rate", "term") == {"value": (1_000.0, "ops/s")}
    assert values(figures, "network_received", "term") == {"value": (90_000_000, "bytes")}


def test_percentiles_say_whether_they_have_enough_samples():
    by_statistic = {
        each.statistic: each
        for each in exported_figures(record(tasks=(task(service_time=times(50)),)))
        if each.metric == "service_time"
    }
    assert by_statistic["p90"].supported
    assert not by_statistic["p99"].supported
    assert by_statistic["max"].supported, "the largest value is no estimate"
    assert (by_statistic["p90"].low, by_statistic["p90"].high) == (3.0, 5.0)


def test_a_latency_that_includes_the_backlog_of_a_warm_up_says_so():
    for marked, expected in ((True, {"value": (135, "")}), (False, {})):
        delayed = paced(warmup_backlog=WarmupBacklog(135, 12.3, gone=True, marked=marked))
        assert values(exported_figures(record(tasks=(delayed,))), "warmup_backlog", "term") == expected


def test_a_percentile_that_never_ended_has_no_figure():
    censored = (CensoredPercentile(50.0, 2.0, 2.5, True), CensoredPercentile(99.0, None, None, True))
    figures = exported_figures(record(tasks=(paced(latency_with_failures=censored),)))
    assert values(figures, "latency_with_failures", "term") == {"p50": (2.0, "ms")}


def test_parts_of_tasks_are_apart_from_them():
    own = task(parts=(part("first"), part("second")), values={"recall": ValueSummary(3, 0.5, 0.75, 1.0)})
    figures = exported_figures(record(tasks=(own,)))
    assert values(figures, "operations", "search") == {"value": (58_000, "")}
    assert values(figures, "operations", "search", "second") == {"value": (230, "")}
    assert values(figures, "runner_value", "search", "recall") == {
        "count": (3, ""),
        "min": (0.5, ""),
        "mean": (0.75, ""),
        "max": (1.0, ""),
    }


def test_the_engine_has_the_figures_that_were_read():
    system = SystemMetrics(
        total_time=90.0,
        bytes_written=7,
        ml_processing_time=(MlProcessingTime("job", 1.0, 2.0, 3.0, 4.0),),
        total_transform_throughput=(TransformFigure("tf", 5.0, "docs/s"),),
        disk_usage_total=(FieldUsage("logs", "message", 600.0),),
    )
    figures = exported_figures(record(system=system, tasks=()))
    assert values(figures, "total_time") == {}
    assert values(figures, "indexing_time") == {"value": (90.0, "ms")}
    assert values(figures, "disk_written") == {"value": (7, "bytes")}
    assert values(figures, "ml_processing_time", part_name="job")["median"] == (3.0, "ms")
    assert values(figures, "transform_throughput", part_name="tf") == {"value": (5.0, "docs/s")}
    assert values(figures, "disk_usage_total", part_name="logs/message") == {"value": (600.0, "bytes")}
    assert values(figures, "documents_counted", part_name="logs") == {"value": (740_000, "")}
    assert not [each for each in figures if each.metric == "segment_count"], "it was not read"


def test_the_answer_of_a_saturation_is_exported():
    answer = RecordedSaturation("term", "between 10 and 20 ops/s", 10.0, 20.0)
    figures = exported_figures(record(tasks=(), saturation=answer))
    assert values(figures, "saturation_stable", "term") == {"value": (10.0, "ops/s")}
    assert values(figures, "saturation_unstable", "term") == {"value": (20.0, "ops/s")}


def test_imported_races_have_the_figures_whose_meaning_is_known():
    imported = ImportedResults(
        "rally",
        "summary",
        "report.csv",
        "0" * 64,
        values=(
            ImportedValue("Cumulative indexing time of primary shards", "", 12.5, "min"),
            ImportedValue("Mean Throughput", "term", 50.1, "ops/s"),
            ImportedValue("99th percentile latency", "term", 7.5, "ms"),
            ImportedValue("100th percentile latency", "term", 9.5, "ms"),
            ImportedValue("error rate", "term", 2.0, "%"),
        ),
    )
    race = RaceRecord(
        race_id="r", timestamp=datetime(2026, 1, 1, tzinfo=UTC), track=RecordedTrack("t"), imported=imported
    )
    figures = exported_figures(race)
    # Rally counts it from the creation of the indices, so that it is not the metric of the same kind.
    assert values(figures, "imported_value", "", "Cumulative indexing time of primary shards") == {
        "value": (12.5, "min")
    }
    assert values(figures, "throughput", "term") == {"mean": (50.1, "ops/s")}
    assert values(figures, "latency", "term") == {"p99": (7.5, "ms"), "max": (9.5, "ms")}
    assert values(figures, "error_rate", "term") == {"value": (0.02, "ratio")}
    by_statistic = {each.statistic: each.supported for each in figures if each.metric == "latency"}
    assert by_statistic == {"p99": False, "max": True}, "the number of samples is not known"


def test_each_figure_is_exported_once():
    twice = task(parts=(part("same"), replace(part("same"), operations=1)))
    figures = exported_figures(record(tasks=(twice, twice)))
    keys = [(each.task, each.part, each.metric, each.statistic) for each in figures]
    assert len(keys) == len(set(keys)) > 50
    assert values(figures, "operations", "search", "same") == {"value": (230, "")}


def test_sub_operations_of_several_types_with_one_name_are_all_exported():
    parts = (part("x", operations=7), part("x", operation_type="sleep", operations=8))
    figures = exported_figures(record(tasks=(task(parts=parts),)))
    for name, operations in (("x (search)", 7), ("x (sleep)", 8)):
        assert values(figures, "operations", "search", name) == {"value": (operations, "")}


def test_every_metric_is_one_of_the_table():
    race = record(tasks=(bulk(), paced(), task(parts=(part("a"),))))
    assert {each.metric for each in exported_figures(race)} <= METRICS.keys()


def test_the_mean_of_what_a_runner_returned_has_its_interval():
    own = task(values={"recall": ValueSummary(900, 0.5, 0.75, 1.0, 0.1, 0.74, 0.76)})
    bounds = {
        figure.statistic: (figure.low, figure.high)
        for figure in exported_figures(record(tasks=(own,)))
        if figure.part == "recall"
    }
    assert bounds["mean"] == (0.74, 0.76)
    assert {bounds[which] for which in ("count", "min", "max")} == {(None, None)}
