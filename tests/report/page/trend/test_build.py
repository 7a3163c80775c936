"""The page of a trend: what it answers, and that each chart has its data."""

from __future__ import annotations

import re

from msgspec import structs
from msgspec.structs import replace

from compare.test_trend import nights, step, trend_of
from pacenote.model.trend import Trend
from pacenote.report.page.drawing import Drawing, Stroke
from pacenote.report.page.page import ItemList, PageTable, ReportPage, Text
from pacenote.report.page.trend.build import build_trend_page
from pacenote.report.render.page import MAX_BYTES, render_page
from report.page.examples import regression, trend_page


def page_of(trend: Trend) -> ReportPage:
    return build_trend_page(trend_page(trend))


def answers(page: ReportPage) -> dict[str, str]:
    return {
        each.question: " ".join(block.text for block in each.blocks if isinstance(block, Text))
        for each in page.questions
    }


def blocks(page: ReportPage, kind: type) -> list:
    return [block for section in page.sections for block in section.blocks if isinstance(block, kind)]


def test_the_answer_comes_first():
    page = page_of(regression())
    assert (page.badge, page.tone) == ("regression", "wrong")
    assert [figure.label for figure in page.figures] == [
        *("Regressions", "Throughput of index-append", "Since", "Races"),
    ]
    said = answers(page)
    assert said["Is there a regression?"].startswith("Yes: 1 of 2 metrics became worse")
    changed = said["Since when, and what changed?"]
    assert changed.startswith("Between 2026-03-14 12:30 (n13) and 2026-03-15 12:30 (n14).")
    assert "Changed here and nowhere else: race.car_params.heap: 1g → 512m" in changed
    assert "opensearch 3.3.0 r13 → opensearch 3.3.0 r14" in changed


def test_a_steady_track_says_so():
    page = page_of(trend_of(nights(12)))
    assert (page.badge, page.tone) == ("no regression", "good")
    assert answers(page)["Since when, and what changed?"] == "No metric changed by what matters."
    assert [section.id for section in page.sections] == ["metrics", "charts", "races"]


def test_each_chart_has_its_races_levels_and_changes_and_a_table():
    trend = regression()
    page = page_of(trend)
    tables = {table.id: table for table in blocks(page, PageTable)}
    charts = blocks(page, Drawing)
    assert len(charts) == 2
    for chart in charts:
        assert len(tables[chart.table].groups[0].rows) == 20
    (rate,) = (chart for chart in charts if chart.title.startswith("Throughput of index-append"))
    marks = rate.rows[0].marks
    assert sum(type(mark).__name__ == "Dot" for mark in marks) == 20
    assert sum(isinstance(mark, Stroke) and mark.style == "lane2" for mark in marks) == 2
    assert sum(isinstance(mark, Stroke) and mark.is_dashed for mark in marks) == 1
    assert rate.summary.startswith("Worse since 03-15. 20 races")
    assert "p90 latency of term in ms" in {chart.title for chart in charts}
    assert rate.ticks[-1].label == "03-20"
    assert re.search(r"Change 1: -1\d\.\d % \(worse\) since 2026-03-15 12:30 \(n14\)\.", rate.summary)
    (change,) = (block for block in blocks(page, ItemList) if block.title.startswith("Change 1: Between"))
    assert change.items[0].title.startswith("worse: throughput of index-append -1")
    facts = tables["data-change-1"].groups[0].rows
    assert [cell.text for cell in facts[0]] == ["race.car_params.heap", "1g", "512m", "only here"]


def test_values_of_facts_are_not_taken_apart():
    records = [
        structs.replace(each, car_params={"a: b": "x → y" if night < 14 else "z: → w"})
        for night, each in enumerate(nights(20, rate=step(14, 0.85)))
    ]
    tables = {table.id: table for table in blocks(page_of(trend_of(records)), PageTable)}
    facts = tables["data-change-1"].groups[0].rows
    assert [cell.text for cell in facts[0]] == ["race.car_params.a: b", "x → y", "z: → w", "only here"]


def test_too_few_races_have_a_page():
    page = page_of(trend_of(nights(2)))
    assert page.badge == "too few races"
    assert "6 are needed" in answers(page)["Is there a regression?"]
    assert render_page(page)


def test_a_hundred_races_with_many_metrics_fit_a_page():
    trend = trend_of(nights(60, rate=step(50, 0.8)))
    many = replace(
        trend,
        metrics=tuple(
            replace(each, metric=replace(each.metric, task=f"{each.metric.task}-{number}"))
            for number in range(5)
            for each in trend.metrics
        ),
    )
    assert len(render_page(page_of(many)).encode()) < MAX_BYTES
