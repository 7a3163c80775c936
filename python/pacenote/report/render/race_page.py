"""The report of a race as one HTML page without references to other files."""

from __future__ import annotations

from pacenote.report.page.race.build import PageSources, build_page, without_details
from pacenote.report.render.page import MAX_BYTES, render_page

_LESS_SETTINGS = 8_000


def render_race_page(sources: PageSources) -> str:
    """Returns the page. One that would be too large has fewer settings, then none and no list of figures;
    only the series of very many tasks need more.
    """
    page = render_page(build_page(sources))
    if len(page.encode()) <= MAX_BYTES:
        return page
    smaller = build_page(sources, _LESS_SETTINGS)
    page = render_page(smaller)
    return page if len(page.encode()) <= MAX_BYTES else render_page(without_details(smaller))
