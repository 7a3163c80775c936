"""Pages on paper, in a browser if Chromium is installed: they are whole and light, and fit the paper."""

from __future__ import annotations

import asyncio

import pytest

from pacenote.report.render.page import render_page
from pacenote.report.render.race_page import render_race_page
from report.render.test_drawing import PAGES
from report.render.test_race_page import sources
from support.browser import CHROMIUM, browser_page

pytestmark = pytest.mark.process

_PAPER_PX = 720
"""Width of A4 paper without margins."""

_SHOWN = """(() => {
  dispatchEvent(new Event("beforeprint"));
  const root = document.documentElement;
  const colour = getComputedStyle(root).getPropertyValue("--page").trim();
  const sections = [...document.querySelectorAll("section:not(.unprinted)")];
  return {
    isWide: root.scrollWidth > innerWidth, colour,
    missing: sections.filter((each) => each.offsetHeight < 20).map((each) => each.id),
    sections: sections.length, canvases: document.querySelectorAll("canvas").length,
    places: document.querySelectorAll(".plot").length,
  };
})()"""


def test_printed_pages_have_all_sections_and_charts(tmp_path):
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: printed pages are not tested")
    pages = {"race": render_race_page(sources())}
    pages |= {name: render_page(make()) for name, make in PAGES.items()}

    async def run():
        async with browser_page(tmp_path / "profile") as browser:
            for name, page in pages.items():
                file = tmp_path / f"{name}.html"
                file.write_text(page, "utf-8")
                await browser.show_as(_PAPER_PX, "dark")
                dark = {"name": "prefers-color-scheme", "value": "dark"}
                await browser.call("Emulation.setEmulatedMedia", media="print", features=[dark])
                await browser.go(file.as_uri())
                shown = await browser.value(_SHOWN)
                assert shown["sections"] >= 2, name
                assert shown["missing"] == [], name
                assert not shown["isWide"], name
                assert shown["colour"] == "#fff", name
                assert shown["canvases"] == shown["places"], name

    asyncio.run(run())
