"""Pages with drawings as HTML: hostile names, sizes, and no style or script but their own."""

from __future__ import annotations

from functools import cache

import pytest

from pacenote.report.page.comparison.build import build_comparison_page
from pacenote.report.page.experiment.build import build_experiment_page
from pacenote.report.page.saturation.build import build_saturation_page
from pacenote.report.page.trend.build import build_trend_page
from pacenote.report.page.tune.build import build_tune_page
from pacenote.report.render.page import MAX_BYTES, render_page
from report.page import examples
from report.render.test_flame_graph import Page

PAGES = {
    "comparison": lambda: build_comparison_page(examples.comparison_page()),
    "pair": lambda: build_experiment_page(examples.pair_page()),
    "ladder": lambda: build_experiment_page(examples.ladder_page()),
    "matrix": lambda: build_experiment_page(examples.matrix_page()),
    "tune": lambda: build_tune_page(examples.tune_page()),
    "saturation": lambda: build_saturation_page(examples.saturation_page()),
    "trend": lambda: build_trend_page(examples.trend_page()),
}
"""Pages of each kind, by name."""

HOSTILE_PAGES = {
    "comparison": lambda: build_comparison_page(examples.comparison_page(examples.hostile_comparison())),
    "pair": lambda: build_experiment_page(examples.hostile_pair_page()),
    "tune": lambda: build_tune_page(examples.hostile_tune_page()),
    "saturation": lambda: build_saturation_page(examples.hostile_saturation_page()),
    "trend": lambda: build_trend_page(examples.hostile_trend_page()),
}


@cache
def rendered(name: str) -> str:
    return render_page(PAGES[name]())


@cache
def page(name: str) -> Page:
    return Page(rendered(name))


@cache
def known_tags() -> frozenset[str]:
    """Returns the tags of all pages with harmless names."""
    return frozenset(tag for name in PAGES for tag, _ in page(name).elements)


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_tables_and_nothing_is_loaded(name):
    text = rendered(name)
    assert len(text.encode()) <= MAX_BYTES
    elements = page(name).elements
    ids = [each["id"] for _, each in elements if "id" in each]
    assert len(set(ids)) == len(ids)
    links = {each["href"] for _, each in elements if "href" in each}
    assert all(link.startswith("#") for link in links)
    assert {link[1:] for link in links} <= set(ids)
    assert not any({"style", "src", "onclick", "fill"} & each.keys() for _, each in elements)
    assert "uPlot" not in text


@pytest.mark.parametrize("name", HOSTILE_PAGES)
def test_names_never_become_markup(name):
    text = render_page(HOSTILE_PAGES[name]())
    tags = [tag for tag, _ in Page(text).elements]
    assert tags.count("script") == 1
    assert set(tags) <= known_tags()
    assert not {"\x1b", "\x07"} & set(text)
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;alert(1)") > 20
    text.encode()
