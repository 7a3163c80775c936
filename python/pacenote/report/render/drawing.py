"""A drawing as inline SVG.

Positions are percentages of the width, which SVG allows for everything but paths; these are in an SVG of
their own that is stretched. No mark has a style of its own: the classes have colours for both schemes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pacenote.report.page.drawing import Bar, Caption, Dot, Drawing, DrawingRow, KeyEntry, Mark, Stroke, Tick
from pacenote.report.render.html import escaped

_RADIUS = 4.5
_AXIS_PX = 24
_EDGE = 0.04
"""Share of the width within which a label of the axis would leave the drawing if it was centred."""


def drawing(block: Drawing) -> Iterator[str]:
    """Yields a figure: its rows, its axis, and what the marks mean."""
    title, summary = escaped(block.title), escaped(block.summary)
    yield (
        f'<figure id="chart-{escaped(block.id)}"><figcaption><h3>{title}</h3>'
        f'<p class=quiet>{summary} <a href="#{escaped(block.table)}">Table</a></p></figcaption>'
        f'<div class=drawing role=img aria-label="{title}. {summary}">'
    )
    rules = "".join(map(_rule, block.ticks)) if block.has_rules else ""
    for row in block.rows:
        yield _row(row, rules)
    if block.ticks:
        labels = "".join(map(_tick_label, block.ticks))
        yield f'<div class="name quiet">{escaped(block.unit)}</div>'
        yield f"<svg height={_AXIS_PX}>{labels}</svg><div class=note></div>"
    yield "</div>"
    yield f"{key_list(block.key)}</figure>"


def _row(row: DrawingRow, rules: str) -> str:
    marks = "".join(_mark(mark, row.height_px) for mark in row.marks)
    return (
        f"<div class=name>{escaped(row.label)}</div><svg height={row.height_px}>{rules}{marks}</svg>"
        f'<div class="note {row.tone}">{escaped(row.note)}</div>'
    )


def _rule(tick: Tick) -> str:
    x = _x(tick.x)
    return f'<line class="{"rule strong" if tick.is_strong else "rule"}" x1="{x}" x2="{x}" y1=0 y2="100%" />'


def _tick_label(tick: Tick) -> str:
    anchor = "start" if tick.x < _EDGE else "end" if tick.x > 1 - _EDGE else "middle"
    return f'<text x="{_x(tick.x)}" y=16 class="tick {anchor}">{escaped(tick.label)}</text>'


def _mark(mark: Mark, height: int) -> str:
    if isinstance(mark, Dot):
        return _dot(mark, height)
    if isinstance(mark, Stroke):
        classes = ["stroke", mark.style, "thin" if mark.is_thin else "", "dashed" if mark.is_dashed else ""]
        return (
            f'<line class="{_joined(classes)}" x1="{_x(mark.x)}" y1="{_y(mark.y, height)}" '
            f'x2="{_x(mark.to_x)}" y2="{_y(mark.to_y, height)}">{_title(mark.title)}</line>'
        )
    if isinstance(mark, Bar):
        level = "" if mark.level is None else f"level{mark.level}"
        classes = ["bar", mark.style, "faint" if mark.is_faint else "", level]
        return (
            f'<rect class="{_joined(classes)}" x="{_x(mark.x)}" y="{_y(mark.y, height)}" '
            f'width="{_x(max(mark.to_x - mark.x, 0.0))}" height="{_y(mark.to_y - mark.y, height)}">'
            f"{_title(mark.title)}</rect>"
        )
    if isinstance(mark, Caption):
        return (
            f'<text class="{_joined([mark.anchor, mark.style])}" x="{_x(mark.x)}" '
            f'y="{mark.y * height + 4:.1f}">{escaped(mark.text)}</text>'
        )
    points = " ".join(f"{100 * x:.2f},{100 * y:.2f}" for x, y in mark.points)
    shape = "polygon" if mark.is_area else "polyline"
    classes = ["trace", mark.style, "faint" if mark.is_area else ""]
    return (
        '<svg width="100%" height="100%" viewBox="0 0 100 100" preserveAspectRatio=none>'
        f'<{shape} class="{_joined(classes)}" points="{points}" /></svg>'
    )


def _dot(mark: Dot, height: int) -> str:
    x, y, title = _x(mark.x), mark.y * height, _title(mark.title)
    if mark.form == "cross":
        return (
            f'<text class="{_joined(["cross middle", mark.style])}" x="{x}" y="{y + 5:.1f}">×{title}</text>'
        )
    classes = _joined(["dot", mark.style, "ring" if mark.form == "ring" else ""])
    return f'<circle class="{classes}" cx="{x}" cy="{y:.1f}" r={_RADIUS}>{title}</circle>'


def _title(text: str) -> str:
    return f"<title>{escaped(text)}</title>" if text else ""


def key_list(entries: Sequence[KeyEntry]) -> str:
    """Returns what the styles of a drawing mean; nothing without entries."""
    return f"<ul class=key>{''.join(map(_key_entry, entries))}</ul>" if entries else ""


def _key_entry(entry: KeyEntry) -> str:
    style: dict[str, Mark] = {
        "line": Stroke(0.0, 0.5, 1.0, 0.5, entry.style),
        "dashed": Stroke(0.0, 0.5, 1.0, 0.5, entry.style, is_dashed=True),
        "bar": Bar(0.0, 1.0, 0.1, 0.9, entry.style),
        "area": Bar(0.0, 1.0, 0.1, 0.9, entry.style, is_faint=True),
        "disc": Dot(0.5, 0.5, entry.style),
        "ring": Dot(0.5, 0.5, entry.style, "ring"),
        "cross": Dot(0.5, 0.5, entry.style, "cross"),
    }
    sample = _mark(style[entry.form], 12)
    return f'<li><svg height=12 aria-hidden="true">{sample}</svg>{escaped(entry.text)}</li>'


def _joined(names: list[str]) -> str:
    return " ".join(name for name in names if name)


def _x(share: float) -> str:
    return f"{100 * share:.2f}%"


def _y(share: float, height: int) -> str:
    return f"{share * height:.1f}"
