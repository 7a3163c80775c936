"""The page of a search for the highest rate: the probes by rate, and throughput by clients."""

from __future__ import annotations

from msgspec import structs
from msgspec.structs import replace

from pacenote.model.saturation import VaryingLimit
from pacenote.report.page.drawing import Stroke, Trace
from pacenote.report.page.saturation.build import build_saturation_page
from report.page import examples
from report.page.reading import answer, bars, cells, dots, drawings, tables


def test_the_answer_is_an_interval_of_rates():
    page = build_saturation_page(examples.saturation_page())
    assert (page.badge, page.tone) == ("limited by the engine", "good")
    assert [figure.value for figure in page.figures[:2]] == ["140 ops/s", "170 ops/s"]
    assert answer(page, 0) == "Between 140 ops/s and 170 ops/s."
    assert answer(page, 1).startswith("140 ops/s: 1 of 1 probe passed")
    assert answer(page, 2).startswith("The engine.")
    assert "pacenote saturate" in answer(page, 4)


def test_the_area_of_the_chart_is_the_interval_of_the_answer():
    sources = examples.saturation_page()

    def area(**changes):
        page = build_saturation_page(replace(sources, result=structs.replace(sources.result, **changes)))
        return [(bar.x, bar.to_x) for bar in bars(drawings(page)["rates-0"].rows[0])]

    ((low, high),) = area()
    ((wider_low, wider_high),) = area(varying=VaryingLimit(100.0, 190.0))
    assert wider_low < low < high < wider_high
    # The answer is at least the lower end: the highest rate may be above the upper one.
    assert area(limited_by="samples") == area(limited_by="driver") == area(unstable=None) == []
    assert area(limited_by="connections") == []


def test_each_probe_has_its_outcome_and_its_upper_bound():
    page = build_saturation_page(examples.saturation_page())
    (row,) = drawings(page)["rates-0"].rows
    forms = [dot.form for dot in dots(row)]
    assert forms == ["disc", "disc", "cross", "disc", "ring", "cross"]
    (interval,) = bars(row)
    assert interval.is_faint
    passed = dots(row)[3]
    assert passed.x == interval.x
    bounds = [mark for mark in row.marks if isinstance(mark, Stroke) and mark.x == mark.to_x]
    # The last probe has no percentile.
    assert len(bounds) == 5
    assert all(bound.to_y < bound.y for bound in bounds)
    assert len(cells(tables(page)["data-probes"])) == 6


def test_throughput_by_clients_has_the_fitted_law_and_its_peak():
    page = build_saturation_page(examples.saturation_page())
    (row,) = drawings(page)["sweep"].rows
    assert len(dots(row)) == 12
    (curve,) = [mark for mark in row.marks if isinstance(mark, Trace)]
    assert len(curve.points) == 60
    (peak,) = bars(row)
    assert peak.style == "good"
    assert len(cells(tables(page)["data-levels"])) == 12


def test_a_search_that_ended_early_has_a_page():
    sources = examples.saturation_page()
    nothing = structs.replace(
        sources.result, probes=(), levels=(), stable=None, unstable=None, limited_by="search"
    )
    page = build_saturation_page(replace(sources, result=structs.replace(nothing, fit=None), fitted=()))
    assert (page.badge, page.tone) == ("ended early", "wrong")
    assert answer(page, 0) == "No probe was completed."
    assert not drawings(page)
