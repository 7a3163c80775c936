"""Adds one line to the catalogue, before anything else is imported, and prints where its figure is seen."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from pacenote.figures import catalogue
from pacenote.figures.metric import Metric, MetricRow, RuleName, ShownUnit, StoredName

OF_ENGINE = Metric(
    *("segment_size", "bytes", "gauge", "mean size of a segment"),
    origin=lambda system: system.store_size / system.segment_count,
    row=MetricRow("Mean segment size", ShownUnit("KB", 1024)),
    compared=MetricRow("Mean segment size", ShownUnit("KB", 1024)),
    result="segment_size",
    stored=StoredName("segment_size_in_bytes", "byte"),
    rules=(RuleName("total.segment_bytes", "mean size of a segment", "bytes"),),
)
OF_TASK = Metric(
    *("segment_size", "bytes", "gauge", "bytes written per operation"),
    origin=lambda task: task.bytes_out / task.accounting.operations,
    row=MetricRow("Mean segment size", ShownUnit("KB", 1024)),
    compared=MetricRow("Mean segment size", ShownUnit("KB", 1024)),
    result="segment_size",
    rules=(RuleName("total.segment_bytes", "bytes written per operation", "bytes"),),
)

if sys.argv[1] == "engine":
    catalogue.ENGINE += (OF_ENGINE,)
    catalogue.METRICS = {**catalogue.METRICS, OF_ENGINE.key: OF_ENGINE}
else:
    catalogue.TASK += (OF_TASK,)
    catalogue.METRICS = {**catalogue.METRICS, OF_TASK.key: OF_TASK}


def seen() -> dict[str, bool]:
    """Returns whether each place that shows figures has the new one."""
    from pacenote.compare.groups import ComparedRace, compare_groups
    from pacenote.diagnose.catalogue import FIGURES
    from pacenote.diagnose.facts import Window
    from pacenote.diagnose.race_facts import race_builder
    from pacenote.export.document import exported_race
    from pacenote.export.openmetrics import openmetrics_text
    from pacenote.metrics_store.race_documents import result_documents
    from pacenote.report.page.race.build import PageSources
    from pacenote.report.render.csv import render_csv
    from pacenote.report.render.markdown import render_markdown
    from pacenote.report.render.race_page import render_race_page
    from pacenote.report.screen.build import RaceLocation
    from pacenote.report.summary import build_report
    from support.records import record

    race = record()
    later = record("race-2", timestamp=datetime(2026, 3, 1, 13, tzinfo=UTC))
    report, exported = build_report(race), exported_race(race, "complete", Path())
    page = render_race_page(PageSources(race, RaceLocation("races/race-1", "race-1", "complete")))
    comparison = compare_groups([ComparedRace(race)], [ComparedRace(later)])
    evidence = race_builder(race).build()
    window = Window() if sys.argv[1] == "engine" else Window("term")
    return {
        "report": "Mean segment size" in render_markdown(report),
        "CSV": "Mean segment size" in render_csv(report),
        "HTML page": "Mean segment size" in page,
        "comparison": any(each.metric.key == "mean-segment-size" for each in comparison.metrics),
        "export": "pacenote_segment_size_bytes{" in "".join(openmetrics_text([exported])),
        "metrics store": any(each["name"] == "segment_size" for each in result_documents(race)),
        "rules": "total.segment_bytes" in FIGURES
        and isinstance(evidence.value(window, "total.segment_bytes"), float),
    }


sys.stdout.write(json.dumps(seen()))
