"""The page of a comparison: its answers, the effects, and every race as a dot."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from compare.quality_races import quality_blocks
from compare.races import compared
from pacenote.compare.groups import compare_groups
from pacenote.model.comparison import Comparison, ComparisonOptions
from pacenote.report.page.comparison.build import build_comparison_page
from pacenote.report.page.comparison.races import compared_races
from report.page import examples
from report.page.reading import answer, bars, captions, cells, dots, drawings, tables, texts


def page_of(comparison: Comparison):
    return build_comparison_page(examples.comparison_page(comparison))


def test_the_first_screen_answers_what_a_stranger_asks():
    page = page_of(examples.comparison(1.06))
    assert (page.badge, page.tone) == ("better", "good")
    figure = page.figures[0]
    assert (figure.label, figure.value, figure.tone) == ("Throughput of index-append", "+6.2 %", "good")
    assert figure.detail.endswith("from 10 blocks")
    assert answer(page, 0).startswith("Yes")
    assert "interval" in answer(page, 1)
    assert "Can it be trusted?" in answer(page, 1)
    assert answer(page, 2) == "Yes, all 20."
    assert "node.heap_max_bytes: 1.0 GiB → 2.0 GiB" in answer(page, 3)
    assert answer(page, 4).endswith("pacenote compare --baseline=tag:variant=a --contender=tag:variant=b")


def test_every_drawing_has_a_table_on_the_page():
    page = page_of(examples.comparison())
    charts = drawings(page)
    assert {"effects", "order", "dots-0", "shift-0"} <= charts.keys()
    assert {each.table for each in charts.values()} <= tables(page).keys()


def test_effects_have_their_word_and_what_does_not_matter_behind_them():
    comparison = examples.comparison(1.06)
    chart = drawings(page_of(comparison))["effects"]
    row = chart.rows[0]
    assert row.label == "throughput of index-append"
    assert row.note.endswith(" better")
    (zone,) = bars(row)
    assert zone.is_faint
    (dot,) = dots(row)
    assert dot.x > zone.to_x
    assert [tick.label for tick in chart.ticks if tick.is_strong] == ["0 %"]
    assert [entry.text for entry in chart.key] == ["too small to matter", "estimate with its interval"]
    (table,) = [each for name, each in tables(page_of(comparison)).items() if name == "data-metrics"]
    assert len(cells(table)) == len(comparison.metrics)


def test_an_interval_beyond_the_axis_has_an_arrow():
    comparison = examples.comparison(1.06)
    main = next(each for each in comparison.metrics if each.metric.key == "throughput")
    others = [each for each in comparison.metrics if each is not main]
    assert main.change is not None
    wide = replace(main, role="primary", word="unclear", change=replace(main.change, low=-0.9, high=None))
    chart = drawings(page_of(replace(comparison, metrics=(wide, *others))))["effects"]
    row = next(each for each in chart.rows if "throughput" in each.label)
    assert captions(row) == ["◂", "▸"]


def test_every_race_is_a_dot_in_the_row_of_its_side():
    comparison = examples.comparison()
    chart = drawings(page_of(comparison))["dots-0"]
    assert [row.label for row in chart.rows] == ["Baseline", "Contender"]
    assert [len(dots(row)) for row in chart.rows] == [10, 10]
    assert {dot.form for row in chart.rows for dot in dots(row)} == {"disc"}
    order = drawings(page_of(comparison))["order"]
    assert [len(bars(row)) for row in order.rows] == [10, 10]
    assert [tick.label for tick in order.ticks] == [str(block) for block in range(10)]
    # The first block begins with the baseline, the second one with the contender.
    first, second = (bars(row)[:2] for row in order.rows)
    assert first[0].x < second[0].x < second[1].x < first[1].x


def test_a_metric_that_leaves_out_blocks_has_no_value_for_their_races():
    comparison = examples.comparison(count=6)
    main = next(each for each in comparison.metrics if each.metric.key == "throughput")
    block = comparison.baseline.races[2].block
    lost = replace(
        main,
        baseline=(*main.baseline[:2], *main.baseline[3:]),
        contender=(*main.contender[:2], *main.contender[3:]),
        lost_blocks=(block,),
    )
    metrics = tuple(lost if each is main else each for each in comparison.metrics)
    races = compared_races(replace(comparison, metrics=metrics), ("a", "b"))
    without = {race.block for race in races if main.metric not in race.values}
    assert without == {block}
    last = next(race for race in races if race.race_id == comparison.baseline.races[-1].race_id)
    assert last.values[main.metric] == main.baseline[-1]


def test_races_that_must_not_be_compared_have_no_effect_but_their_reasons():
    page = page_of(examples.void_comparison())
    assert (page.badge, page.tone) == ("void", "wrong")
    assert [figure.label for figure in page.figures] == ["Limits"]
    assert answer(page, 0).startswith("No answer: the races must not be compared.")
    assert answer(page, 2).startswith("Not all of them: 10 void.")
    assert "the driver was saturated" in answer(page, 2)
    crosses = [dot.form for row in drawings(page)["order"].rows for dot in dots(row)]
    assert crosses == ["cross"] * 10


def test_one_race_each_has_no_interval_of_races():
    page = page_of(examples.one_race_each())
    assert (page.badge, page.tone) == ("no verdict", "doubtful")
    charts = drawings(page)
    assert "order" not in charts
    forms = {dot.form for row in charts["effects"].rows for dot in dots(row)}
    assert forms == {"ring"}
    assert "Repeat both sides" not in answer(page, 0)


def test_races_without_times_are_not_in_an_order():
    comparison = examples.comparison(count=3)
    sides = [
        replace(group, races=tuple(replace(race, timestamp=None) for race in group.races))
        for group in (comparison.baseline, comparison.contender)
    ]
    page = page_of(replace(comparison, baseline=sides[0], contender=sides[1]))
    assert "order" not in drawings(page)
    assert any(text.startswith("The order of the races is not shown") for text in texts(page))
    heads = [column.heading for column in tables(page)["data-races"].columns]
    assert "Began (UTC)" not in heads


def test_a_comparison_without_metrics_says_so():
    page = page_of(replace(examples.comparison(count=2), metrics=(), answer="no verdict", differences=()))
    assert "No metric decides." in texts(page)
    assert answer(page, 3) == "Nothing that was recorded."


@pytest.mark.parametrize("count", [2, 30])
def test_blocks_are_labelled_as_far_as_there_is_room(count):
    ticks = drawings(page_of(examples.comparison(count=count)))["order"].ticks
    assert len(ticks) <= 12


def test_percentiles_keep_their_names_at_the_beginning_of_a_figure():
    comparison = examples.comparison(1.0)
    times = tuple(each for each in comparison.metrics if each.metric.kind == "percentile")
    page = build_comparison_page(examples.comparison_page(replace(comparison, metrics=times)))
    assert page.figures[0].label.startswith("p"), page.figures[0]


def test_a_number_without_a_direction_is_not_said_to_be_better_in_one():
    sides = quality_blocks({"hits": 10.0}, {"hits": 12.0})
    comparison = compare_groups(*(compared(*side) for side in sides), ComparisonOptions(("hits:knn",)))
    assert drawings(page_of(comparison))["dots-0"].summary.startswith("Neither direction is better.")
    assert drawings(page_of(examples.comparison()))["dots-0"].summary.startswith("Higher is better.")
