"""Pages of very many races and tasks: they stay small, say what they leave out, and keep what stands out."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pacenote.model.comparison import Comparison, MetricComparison, RaceGroup
from pacenote.report.page.comparison.build import build_comparison_page
from pacenote.report.page.drawing import Bar, Dot, Drawing, DrawingRow
from pacenote.report.page.experiment.build import build_experiment_page
from pacenote.report.page.page import Item, ItemList, PageColumn, PageTable, ReportPage, RowGroup, Section
from pacenote.report.page.smaller import smaller_pages
from pacenote.report.page.tune.build import build_tune_page
from pacenote.report.page.tune.history import TuneHistory
from pacenote.report.render import page as page_module
from pacenote.report.render.page import render_page, render_small_page
from report.page import examples
from report.page.reading import drawings, tables
from report.render.test_flame_graph import Page

_TIMES = 15


def _many_races(group: RaceGroup) -> RaceGroup:
    races = tuple(
        replace(race, race_id=f"{race.race_id}-{time}", block=f"{time}-{race.block}")
        for time in range(_TIMES)
        for race in group.races
    )
    return replace(group, races=races)


def _many_tasks(metrics: tuple[MetricComparison, ...]) -> tuple[MetricComparison, ...]:
    return tuple(
        replace(
            each,
            metric=replace(each.metric, task=f"{each.metric.task}-{task}" if each.metric.task else ""),
            baseline=each.baseline * _TIMES,
            contender=each.contender * _TIMES,
        )
        for task in range(40)
        for each in metrics
    )


def many_races() -> ReportPage:
    """Returns the page of a comparison of 150 races on each side, with 80 tasks."""
    comparison: Comparison = examples.comparison(count=10)
    sides = {"baseline": _many_races(comparison.baseline), "contender": _many_races(comparison.contender)}
    many = replace(comparison, **sides, metrics=_many_tasks(comparison.metrics))
    return build_comparison_page(examples.comparison_page(many))


def many_blocks() -> ReportPage:
    """Returns the page of an experiment with 360 races, some of them suspect or failed."""
    sources = examples.pair_page()
    return build_experiment_page(replace(sources, races=sources.races * _TIMES))


def many_candidates() -> ReportPage:
    """Returns the page of a search with 540 races."""
    sources = examples.tune_page()
    ends = sources.history.ends * 2 * _TIMES
    return build_tune_page(replace(sources, history=TuneHistory(ends, sources.history.drops)))


@pytest.mark.parametrize("make", [many_races, many_blocks, many_candidates])
def test_a_page_that_would_be_too_large_is_smaller_and_says_so(make, monkeypatch):
    page = make()
    limit = 90_000
    monkeypatch.setattr(page_module, "MAX_BYTES", limit)
    assert len(render_page(page).encode()) > limit
    text = render_small_page(page)
    assert len(text.encode()) <= limit
    assert "So that the page stays small" in text
    elements = Page(text).elements
    ids = [each["id"] for _, each in elements if "id" in each]
    assert len(set(ids)) == len(ids)
    links = {each["href"][1:] for _, each in elements if "href" in each}
    assert links <= set(ids)


def test_a_page_that_is_small_enough_has_everything():
    page = build_experiment_page(examples.pair_page())
    assert render_small_page(page) == render_page(page)


@pytest.mark.parametrize(("to_limit", "is_whole"), [(-1000, True), (0, True), (1, False), (1000, False)])
def test_a_page_may_have_300_000_bytes(to_limit, is_whole):
    def of_items(*texts: str) -> ReportPage:
        items = ItemList("Items", tuple(map(Item, texts)))
        sections = (Section("one", "One", (items,)),)
        return replace(build_experiment_page(examples.noise_page()), sections=sections)

    texts = ["text"] * 2000
    missing = 300_000 - len(render_page(of_items(*texts)).encode())
    page = of_items(*texts[1:], texts[0] + "x" * (missing + to_limit))
    assert len(render_page(page).encode()) == 300_000 + to_limit
    text = render_small_page(page)
    assert (text == render_page(page)) == is_whole
    assert len(text.encode()) <= 300_000


def smallest() -> ReportPage:
    """Returns the smallest version of a page with a thousand dots, bars, rows and items."""
    dots = tuple(Dot(at / 1000, 0.5, title="text") for at in range(1000))
    odd = (Dot(0.5005, 0.5, form="cross"), Dot(0.5, 0.99))
    bars = tuple(Bar(at / 1000, (at + 1) / 1000) for at in range(1000))
    rows = tuple((str(at),) for at in range(1000))
    blocks = (
        Drawing("dots", "Dots", "Many.", "data", (DrawingRow("a", (*dots, *odd)),)),
        Drawing("bars", "Bars", "Many.", "data", (DrawingRow("a", bars),)),
        Drawing("rows", "Rows", "Many.", "data", tuple(DrawingRow(str(at), ()) for at in range(1000))),
        PageTable("data", "Rows", (PageColumn("a"),), (RowGroup("a", rows[:5]), RowGroup("b", rows[5:]))),
        ItemList("Items", tuple(Item(str(at)) for at in range(1000))),
    )
    page = replace(build_experiment_page(examples.noise_page()), sections=(Section("one", "One", blocks),))
    *_, last = smaller_pages(page)
    return last


def test_dots_that_stand_out_are_kept():
    (row,) = drawings(smallest())["dots"].rows
    dots = [mark for mark in row.marks if isinstance(mark, Dot)]
    assert len(dots) <= 20
    assert not any(dot.title for dot in dots)
    assert min(dot.x for dot in dots) == 0.0
    assert max(dot.x for dot in dots) == 0.999
    assert max(dot.y for dot in dots) == 0.99
    assert [dot.form for dot in dots].count("cross") == 1


def test_what_is_left_out_is_named():
    page = smallest()
    note, _, bars, rows, table, items = page.sections[0].blocks
    assert "about 10 dots in a row" in note.text
    assert bars.text == "Bars: left out, because it has too many parts. Many."
    assert len(rows.rows) == 10
    assert rows.summary == "Many. 990 more rows left out."
    assert [len(group.rows) for group in table.groups] == [5, 5]
    assert tables(page)["data"].caption == "Rows; the first 10 of 1,000 rows"
    assert len(items.items) == 10
    assert items.title == "Items; the first 10"
