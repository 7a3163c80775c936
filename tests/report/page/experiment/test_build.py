"""The page of an experiment: its answers, what each design shows, and the races that count or do not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from lab.experiment.experiments import pair
from pacenote.report.page.experiment.build import build_experiment_page
from report.page import examples
from report.page.reading import answer, bars, captions, cells, dots, drawings, tables, texts


def test_a_pair_has_its_answer_and_marks_the_races_that_are_not_valid():
    page = build_experiment_page(examples.pair_page())
    assert (page.heading, page.badge, page.tone) == ("Is a heap of 2 GB faster?", "better", "good")
    assert page.figures[0].value.startswith("+5.")
    assert page.figures[-1].value == "4 reasons"
    assert answer(page, 0) == "Yes: b is better than a."
    assert answer(page, 2).startswith("Not all of them: 22 valid, 1 suspect, 1 failed.")
    assert "a: --car=2gheap" in answer(page, 3)
    assert "pacenote experiment run ~/e-1/experiment.toml" in answer(page, 4)
    order = drawings(page)["order"]
    assert [len(bars(row)) for row in order.rows] == [12, 12]
    styles = [bar.style for row in order.rows for bar in bars(row)]
    assert (styles.count("doubtful"), styles.count("wrong")) == (1, 1)
    strip = drawings(page)["dots-0"]
    assert sorted(len(dots(row)) for row in strip.rows) == [11, 12]
    assert [dot.form for row in strip.rows for dot in dots(row)].count("ring") == 1
    assert any("error rate of index-append 0" in text for text in texts(page))


def test_contenders_are_shown_together():
    variants = (*pair().variants, replace(pair().variants[1], name="c"))
    page = build_experiment_page(
        examples.experiment_page(pair(blocks=5, variants=variants), {"b": 10_600.0, "c": 9_000.0})
    )
    rows = {row.label: row.note for row in drawings(page)["contenders-main"].rows}
    assert rows["b"].endswith("better")
    assert rows["c"].endswith("worse")
    assert {"effects", "v1-effects"} <= drawings(page).keys()


def test_the_steps_of_a_ladder_begin_at_the_best_before_them():
    page = build_experiment_page(examples.ladder_page())
    rows = drawings(page)["steps"].rows
    assert [row.label for row in rows] == ["start", "codec", "refresh", "buffer"]
    (codec,), (refresh,), (buffer,) = (bars(row) for row in rows[1:])
    assert dots(rows[0])[0].x == pytest.approx(codec.x)
    assert buffer.x == pytest.approx(codec.to_x)
    assert (codec.style, refresh.style, buffer.style) == ("good", "quiet", "good")
    assert rows[2].note.endswith("not kept")
    assert [row[4] for row in cells(tables(page)["data-steps"])] == ["the start", "kept", "not kept", "kept"]


def test_a_matrix_is_a_heat_map_whose_strongest_colour_is_the_best():
    page = build_experiment_page(examples.matrix_page())
    chart = drawings(page)["heat"]
    assert [row.label for row in chart.rows] == ["heap 1g", "heap 2g", "heap 4g"]
    assert [tick.label for tick in chart.ticks] == ["2", "4", "8", "16"]
    levels = [[bar.level for bar in bars(row)] for row in chart.rows]
    assert max(max(row) for row in levels) == levels[2][2] == 9
    (best,) = [text for row in chart.rows for text in captions(row) if "★" in text]
    assert best == captions(chart.rows[2])[2]
    assert page.figures[0].value == "4g+8"
    assert len(cells(tables(page)["data-cells"])) == 12


def test_a_sweep_is_a_curve_with_its_intervals():
    page = build_experiment_page(examples.sweep_page())
    chart = drawings(page)["curve"]
    assert [tick.label for tick in chart.ticks] == ["1", "2", "4", "8", "16"]
    shown = dots(chart.rows[0])
    assert [dot.form for dot in shown] == ["ring", "disc", "disc", "disc", "disc"]
    assert [dot.style for dot in shown].count("good") >= 1
    assert min(shown, key=lambda dot: dot.y) in shown[2:4]


def test_noise_has_what_is_seen_by_blocks():
    page = build_experiment_page(examples.noise_page())
    shown = dots(drawings(page)["detectable"].rows[0])
    assert len(shown) > 2
    assert [dot.y for dot in shown] == sorted(dot.y for dot in shown)
    assert page.figures[0].label == "Spread from race to race"


def test_a_screening_has_the_effects_of_its_factors():
    page = build_experiment_page(examples.screening_page())
    rows = drawings(page)["factor-effects"].rows
    assert {row.label for row in rows} == {
        "heap: 1g → 2g",
        "codec: default → best",
        "refresh: 1s → 30s",
    }


def test_an_experiment_without_races_has_a_page():
    sources = examples.pair_page()
    nothing = replace(sources.result, races_done=0, variants=(), state="unfinished", main_metric=None)
    page = build_experiment_page(replace(sources, result=nothing, races=()))
    assert (page.badge, page.tone) == ("unfinished", "doubtful")
    assert answer(page, 0) == "No answer yet: no race has ended."
    assert answer(page, 2) == "No race has ended."


@pytest.mark.parametrize("design", ["pair", "ladder", "matrix", "sweep", "noise", "screening"])
def test_the_drawings_of_every_design_have_their_tables(design):
    page = build_experiment_page(getattr(examples, f"{design}_page")())
    assert {each.table for each in drawings(page).values()} <= tables(page).keys()
    ids = [block.id for section in page.sections for block in section.blocks if hasattr(block, "id")]
    assert len(set(ids)) == len(ids)
