"""The page with a comparison of races, which is a page of its own in a frame without rights."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from pacenote.report.render.html import escaped
from pacenote.serve.document import OwnPage, attribute, bar
from pacenote.units import format_count

MAX_COMPARED = 100
"""Most races of a comparison, so that its address is not too long."""


def comparison_page(root: str, baseline: Sequence[str], contender: Sequence[str]) -> OwnPage:
    """Returns the page; the races are given by their ids."""
    query = _query(baseline, contender)
    links = (
        (root, "All races"),
        (f"{root}?{query}", "Change the selection"),
        (f"{root}compare?{_query(contender, baseline)}", "Exchange the sides"),
    )
    nav = "".join(f'<a href="{attribute(path)}">{name}</a>' for path, name in links)
    sides = f"baseline {_side(baseline)}, contender {_side(contender)}"
    body = "".join((
        bar(root, f'<span class=name>{escaped(sides)}</span><nav aria-label="Comparison">{nav}</nav>'),
        f"<main><h1 class=hidden>Comparison: {escaped(sides)}</h1>",
        f'<iframe src="{attribute(f"{root}comparison.html?{query}")}" title="Comparison" ',
        "sandbox=allow-scripts></iframe></main>",
    ))
    return OwnPage(f"Comparison: {sides} · Pacenote", body, full_height=True)


def _query(baseline: Sequence[str], contender: Sequence[str]) -> str:
    return urlencode({"baseline": baseline, "contender": contender}, doseq=True)


def _side(race_ids: Sequence[str]) -> str:
    return race_ids[0][:8] if len(race_ids) == 1 else format_count(len(race_ids), "race")
