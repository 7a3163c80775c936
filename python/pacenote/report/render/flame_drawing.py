"""A flame graph without a script as inline SVG. A frame is an SVG of its own, which cuts off its text."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.report.page.flame_drawing import FlameBar, FlameDrawing
from pacenote.report.render.drawing import key_list
from pacenote.report.render.html import escaped

_LEVEL_PX = 17
_BAR_PX = 16


def flame_graph_drawing(block: FlameDrawing) -> Iterator[str]:
    """Yields a figure: the frames, and what their colours mean."""
    title, summary = escaped(block.title), escaped(block.summary)
    yield (
        f'<figure id="chart-{escaped(block.id)}"><figcaption><h3>{title}</h3>'
        f'<p class=quiet>{summary} <a href="#{escaped(block.table)}">Table</a></p></figcaption>'
        f'<svg class=flame role=img aria-label="{title}. {summary}" height={block.levels * _LEVEL_PX}>'
    )
    yield from map(_bar, block.bars)
    yield f"</svg>{key_list(block.key)}</figure>"


def _bar(bar: FlameBar) -> str:
    label = f"<text x=3 y=12>{escaped(bar.label)}</text>" if bar.label else ""
    place = f'x="{100 * bar.x:.2f}%" y={bar.level * _LEVEL_PX} width="{100 * bar.width:.2f}%"'
    return (
        f"<svg {place} height={_BAR_PX}>"
        f'<title>{escaped(bar.title)}</title><rect class="bar {bar.style} level5" />{label}</svg>'
    )
