"""Latency that includes the backlog of a warm-up is marked, and explained once, wherever it is shown."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence

import pytest
from msgspec.structs import replace

from compare.races import blocks, compared
from compare.test_trend import nights, trend_of
from pacenote.cli.lab.experiment_output import report_markdown
from pacenote.compare.groups import compare_groups
from pacenote.compare.merged import SideSeries, with_merged_percentiles
from pacenote.model.comparison import ComparedRace, Comparison, ComparisonOptions
from pacenote.model.experiment_result import VariantResult
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.merged_series import MergedPercentile, MergedSeries, MergedTask, MergedTimes
from pacenote.model.race_record import RaceRecord, Verdict
from pacenote.model.result import WarmupBacklog
from pacenote.report.experiment import build_experiment_report
from pacenote.report.page.comparison.build import ComparisonPageSources, build_comparison_page
from pacenote.report.page.experiment.build import ExperimentPageSources, build_experiment_page
from pacenote.report.page.trend.build import build_trend_page
from pacenote.report.page.tune.build import build_tune_page
from pacenote.report.render.comparison import (
    render_comparison,
    render_comparisons_csv,
    render_comparisons_json,
)
from pacenote.report.render.page import render_page
from pacenote.report.render.trend import render_trend_csv, render_trend_json
from pacenote.report.screen.comparison import comparison_lines
from pacenote.report.screen.text import plain_text
from pacenote.report.screen.trend import trend_lines
from pacenote.report.tune import build_tune_report
from report.page import examples
from report.test_experiment import result as experiment_result
from report.test_tune import confirmation, found

INDEXING = ("throughput:index-append",)
LATENCY = ("p99-latency:term",)
EXPLANATION = "includes the backlog of the warm-up in a race"


def delayed(race: RaceRecord, backlog: WarmupBacklog) -> RaceRecord:
    tasks = (replace(each, warmup_backlog=backlog) if each.paced else each for each in race.tasks)
    return replace(race, tasks=tuple(tasks))


MARKED = WarmupBacklog(135, 4.2, marked=True)
SHARED = WarmupBacklog(80, 3.4, effect=1.0, from_quantile=0.999)


def voided(race: RaceRecord) -> RaceRecord:
    return replace(race, verdict=Verdict("void", (Finding("wrong", "track", doubtful_from=EVERYTHING),)))


def compare(
    count: int, primary: Sequence[str], backlog: WarmupBacklog = MARKED, *, is_void: bool = False
) -> Comparison:
    """Returns a comparison with merged percentiles, in which one race of the baseline has a backlog."""
    sides = [list(side) for side in blocks(count)]
    sides[0][0] = delayed(sides[0][0], backlog)
    if is_void:
        sides = [[*map(voided, side)] for side in sides]
    options = ComparisonOptions(primary=tuple(primary))
    old, new = (compared(*side) for side in sides)
    comparison = compare_groups(old, new, options)
    return with_merged_percentiles(comparison, (merged(old), merged(new)), options)


def merged(races: list[ComparedRace]) -> SideSeries:
    times = MergedTimes(300_000, tuple(MergedPercentile(q, 2.0) for q in (50.0, 99.0, 99.9)))
    return SideSeries(races, MergedSeries({"term": MergedTask(times, times)}))


def pair(comparison: Comparison) -> object:
    variants = (VariantResult("1g", 6), VariantResult("2g", 6, comparison))
    return experiment_result(variants=variants)


def confirmed(comparison: Comparison):
    variants = (*confirmation().variants[:1], VariantResult("winner", 6, comparison))
    return replace(found(), confirmation=replace(confirmation(), variants=variants))


TEXTS: dict[str, Callable[[Comparison], str]] = {
    "Markdown": render_comparison,
    "page": lambda each: render_page(build_comparison_page(ComparisonPageSources(each))),
    "page of an experiment": lambda each: render_page(
        build_experiment_page(ExperimentPageSources(pair(each)))
    ),
    "page of a search": lambda each: render_page(
        build_tune_page(replace(examples.tune_page(), result=confirmed(each)))
    ),
}
"""The outputs with all metrics of a comparison."""

DECIDING: dict[str, Callable[[Comparison], str]] = {
    "terminal": lambda each: plain_text(comparison_lines(each, (), 120)),
    "experiment": lambda each: report_markdown(build_experiment_report(pair(each))),
    "search": lambda each: report_markdown(build_tune_report(confirmed(each))),
}
"""The outputs with the metrics that decide."""


@pytest.mark.parametrize("is_void", [False, True])
@pytest.mark.parametrize("name", [*TEXTS, *DECIDING])
def test_a_latency_that_decides_is_marked_and_explained(name, is_void):
    text = (TEXTS | DECIDING)[name](compare(6, LATENCY, is_void=is_void))
    assert text.count("§") >= 2
    explained = text.count(f"§ This latency {EXPLANATION}") + text.count(f"§ latency {EXPLANATION}")
    # The page of a search lists what limits the confirmation in its notes as well.
    assert explained == (2 if name == "page of a search" and not is_void else 1)
    unmarked = (TEXTS | DECIDING)[name](compare(6, LATENCY, WarmupBacklog()))
    assert "§" not in unmarked
    assert "includes the backlog" not in unmarked


@pytest.mark.parametrize("count", [1, 6])
@pytest.mark.parametrize("name", TEXTS)
def test_a_latency_that_does_not_decide_is_marked_and_explained(name, count):
    text = TEXTS[name](compare(count, INDEXING))
    assert text.count("§") >= 2
    assert text.count(EXPLANATION) == 1


def test_each_table_of_markdown_marks_the_percentiles_that_a_backlog_decides():
    text = render_comparison(compare(6, INDEXING, SHARED))
    metrics, merged_table = text.split("## Merged percentiles")
    for table in (metrics, merged_table):
        marked = [line.split("|")[1].strip() for line in table.splitlines() if "§ " in line and "|" in line]
        assert marked
        assert all("latency §" in name for name in marked)
        assert "99.9th percentile latency §" in marked
        assert "99th percentile latency §" not in marked
    single = render_comparison(compare(1, INDEXING, SHARED))
    assert "99.9th percentile latency §" in single


def test_data_of_a_comparison_has_the_mark_as_a_field():
    comparison = compare(6, INDEXING)
    document = json.loads(render_comparisons_json({"b": comparison}))
    for key in ("metrics", "merged_percentiles"):
        marked = {each["metric"]["label"] for each in document[key] if each["has_backlog"]}
        latencies = {each["metric"]["label"] for each in document[key] if "latency" in each["metric"]["key"]}
        assert marked == latencies
    rows = csv.DictReader(io.StringIO(render_comparisons_csv({"b": comparison}, full=True)))
    assert {"latency" in row["Metric"] for row in rows if row["Mark"] == "§"} == {True}
    assert "§" not in render_comparisons_csv({"b": comparison})
    void = compare(6, INDEXING, is_void=True)
    assert [each.has_backlog for each in void.metrics] == [each.has_backlog for each in comparison.metrics]


@pytest.mark.parametrize(("count", "first"), [(2, 1), (12, 0)])
def test_the_value_of_a_trend_is_marked_where_it_is_shown(count, first):
    """If some races of many have a backlog, those without one are shown."""
    races = [delayed(race, MARKED) if number >= first else race for number, race in enumerate(nights(count))]
    trend = trend_of(races, metrics=LATENCY)
    expected = [number >= first for number in range(count)]
    page = render_page(build_trend_page(examples.trend_page(trend)))
    assert page.count("§ This latency") == 1
    assert page.count(") §") >= count - first
    (points,) = [each["points"] for each in json.loads(render_trend_json(trend))["metrics"]]
    assert [point["has_backlog"] for point in points] == expected
    marks = [row["Mark"] for row in csv.DictReader(io.StringIO(render_trend_csv(trend)))]
    assert marks == ["§" if each else "" for each in expected]
    # The newest value, and what the mark means.
    assert plain_text(trend_lines(trend, (), 120)).count("§") == 2
    sound = trend_of(nights(count), metrics=LATENCY)
    assert "§" not in render_page(build_trend_page(examples.trend_page(sound)))
    assert "§" not in plain_text(trend_lines(sound, (), 120))
