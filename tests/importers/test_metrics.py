"""The names and units of all versions of both tools."""

from __future__ import annotations

import pytest

from pacenote.importers.metrics import imported_value
from pacenote.model.imported import ImportedValue


@pytest.mark.parametrize(
    ("figure", "expected"),
    [
        (("50.0th percentile latency", 2.0, "ms"), ("50th percentile latency", 2.0, "ms")),
        (("99.9th percentile service time", 1.5, "s"), ("99.9th percentile service time", 1500.0, "ms")),
        (("p99 service_time", 5.0, "ms"), ("99th percentile service time", 5.0, "ms")),
        (("Median Throughput", 6000.0, "docs/min"), ("Median Throughput", 100.0, "docs/s")),
        (("Error Rate", 3.0, ""), ("error rate", 3.0, "%")),
        (("Indexing time", 4.0, "min"), ("Cumulative indexing time of primary shards", 4.0, "min")),
        (
            ("Total merge throttle time", 90.0, "s"),
            ("Cumulative merge throttle time of primary shards", 1.5, "min"),
        ),
        (
            ("Max refresh time per shard", 1.0, "min"),
            ("Max cumulative refresh time across primary shards", 1.0, "min"),
        ),
        (
            ("Min cumulative flush time across primary shard", 1.0, "min"),
            ("Min cumulative flush time across primary shards", 1.0, "min"),
        ),
        (
            ("Cumulative merge count of primary shards", 7.0, ""),
            ("Cumulative merge count of primary shards", 7.0, ""),
        ),
        (("Total Young Gen GC", 0.88, "s"), ("Total Young Gen GC time", 0.88, "s")),
        (("Total Old Gen GC count", 2.0, ""), ("Total Old Gen GC count", 2.0, "")),
        (("Store size", 2048.0, "MB"), ("Store size", 2.0, "GB")),
        (("Total Ingest Pipeline time", 2500.0, "ms"), ("Total Ingest Pipeline time", 2.5, "s")),
        (("Total ingest pipeline failed", 3.0, ""), ("Total Ingest Pipeline failed", 3.0, "")),
        (("Segment count", 36.0, ""), ("Segment count", 36.0, "")),
        (("Transform throughput", 5.0, "docs/s"), ("Transform throughput", 5.0, "docs/s")),
    ],
)
def test_figures_get_the_names_and_units_of_the_current_report(figure, expected):
    metric, value, unit = figure
    entry = imported_value(metric, "", value, unit)
    assert entry is not None
    assert (entry.metric, entry.value, entry.unit) == (expected[0], pytest.approx(expected[1]), expected[2])


def test_a_unit_that_does_not_fit_the_metric_is_refused():
    assert imported_value("99th percentile latency", "term", 5.0, "GB") == "'GB' is not a unit of it"
    assert imported_value("Store size", "", 5.0, "docs") == "'docs' is not a unit of it"
    for metric in ("99.9.9th percentile service time", "101th percentile latency"):
        assert imported_value(metric, "term", 5.0, "ms") == "it is not a percentile from 0 to 100"
    assert isinstance(imported_value("100th percentile latency", "term", 5.0, "ms"), ImportedValue)
