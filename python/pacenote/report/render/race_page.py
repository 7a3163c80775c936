"""The report of a race as one HTML page without references to other files.

The tables of the page are its data: the charts read their values from them, so that a browser without scripts
shows the same figures, and no value is stored twice. Every text of a page is escaped here.
"""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.report.page.build import PageSources, build_page, without_details
from pacenote.report.page.page import (
    Block,
    Chart,
    CurveChart,
    FactList,
    HeatMap,
    Item,
    ItemList,
    KeyFigure,
    PageCell,
    PageCommand,
    PageTable,
    Question,
    RacePage,
    RowGroup,
    Section,
    Text,
    TimeAxis,
)
from pacenote.report.render.html import Frame, document, escaped, json_data, resource, shown

MAX_BYTES = 300_000
"""The most bytes of a page; only the series of very many tasks need more."""

_FILES, _UPLOT = "race_page_files", "uplot"
_LESS_SETTINGS = 8_000
_BADGES = {"valid": "good", "suspect": "doubtful", "void": "wrong"}


def render_race_page(sources: PageSources) -> str:
    """Returns the page. One that would be too large has fewer settings, then none and no list of figures."""
    page = _page(build_page(sources))
    if len(page.encode()) <= MAX_BYTES:
        return page
    smaller = build_page(sources, _LESS_SETTINGS)
    page = _page(smaller)
    return page if len(page.encode()) <= MAX_BYTES else _page(without_details(smaller))


def _page(page: RacePage) -> str:
    licence = resource(_UPLOT, "LICENSE").strip()
    frame = Frame(
        resource(_FILES, "page.html"),
        resource(_UPLOT, "uPlot.min.css") + resource(_FILES, "page.css"),
        f"/*\n{licence}\n*/\n{resource(_UPLOT, 'uPlot.iife.min.js')}\n{resource(_FILES, 'page.js')}",
    )
    parts = {
        "TITLE": escaped(page.title),
        "BODY": "\n".join(_body(page)),
        "DATA": json_data(_chart_data(page)),
    }
    return document(frame, parts)


def _body(page: RacePage) -> Iterator[str]:
    tone = _BADGES.get(page.badge, "wrong")
    yield f'<header><p class="badge {tone}">{escaped(page.badge)}</p>'
    yield f"<h1>{escaped(page.heading)}</h1><p class=quiet>{escaped(page.subtitle)}</p></header>"
    yield "<main>"
    if page.figures:
        yield f'<ul class=figures aria-label="Main figures">{"".join(map(_figure, page.figures))}</ul>'
    yield "<dl class=answers>"
    yield from map(_question, page.questions)
    yield "</dl>"
    links = (f"<a href=#{section.id}>{escaped(section.title)}</a>" for section in page.sections)
    yield f'<nav aria-label="Sections">{" ".join(links)}</nav>'
    for section in page.sections:
        yield from _section(section, page.axis)
    yield f"</main><footer><p>{escaped(page.footer)}</p></footer>"


def _figure(figure: KeyFigure) -> str:
    return (
        f"<li><span class=label>{escaped(figure.label)}</span> "
        f'<strong class="{figure.tone}">{escaped(figure.value)}</strong> '
        f"<span class=quiet>{escaped(figure.detail)}</span></li>"
    )


def _question(question: Question) -> str:
    blocks = "".join(html for block in question.blocks for html in _block(block))
    return f"<div><dt>{escaped(question.question)}</dt><dd>{blocks}</dd></div>"


def _section(section: Section, axis: TimeAxis | None) -> Iterator[str]:
    yield f"<section id={section.id}><h2>{escaped(section.title)}</h2>"
    has_charts = any(isinstance(block, Chart) for block in section.blocks)
    if has_charts and axis is not None:
        yield from _time_controls(axis)
    for block in section.blocks:
        yield from _block(block)
    yield "</section>"


def _time_controls(axis: TimeAxis) -> Iterator[str]:
    """Yields the selection of the time that is shown, and the strip of the tasks."""
    names = "".join(f"<option value={number}>{escaped(band.name)}" for number, band in enumerate(axis.bands))
    yield (
        '<div class=controls><label>Show <select id=zoom><option value="">the whole race'
        f"{names}</select></label> <output id=reading></output></div>"
    )
    count = len(axis.bands)
    yield (
        f'<div class="plot strip" id=strip role=img aria-label="When each of the {count} tasks ran">'
        "</div><p id=spoken class=hidden aria-live=polite></p>"
    )
    yield (
        "<p class='quiet js'>Drag over a chart to zoom in, double-click to zoom out. With the keyboard: Tab "
        "to a chart, arrow keys move the cursor. Stalls are shaded.</p>"
        "<noscript><p>The charts need JavaScript. The tables below have all their values.</p></noscript>"
    )


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        yield f'<p class="{block.tone}">{escaped(block.text)}</p>'
    elif isinstance(block, PageCommand):
        lines = "\n".join(map(escaped, block.text.split("\n")))
        yield f"<pre><code>{lines}</code></pre>"
    elif isinstance(block, FactList):
        facts = (
            f"<div><dt>{escaped(label)}</dt><dd>{escaped(text)}</dd></div>" for label, text in block.facts
        )
        yield f"<dl class=facts>{''.join(facts)}</dl>"
    elif isinstance(block, ItemList):
        yield from _items(block)
    elif isinstance(block, PageTable):
        yield from _table(block)
    else:
        yield _chart(block)


def _items(block: ItemList) -> Iterator[str]:
    items = "".join(map(_item, block.items))
    if block.is_folded:
        yield f"<details><summary>{escaped(block.title)}</summary>{items}</details>"
    else:
        yield f"<h3>{escaped(block.title)}</h3>{items}"


def _item(item: Item) -> str:
    details = "".join(
        f"<div><dt>{escaped(label)}</dt><dd>{escaped(text)}</dd></div>" for label, text in item.details
    )
    facts = f"<dl class=facts>{details}</dl>" if details else ""
    return f'<div class=item><p class="{item.tone}">{escaped(item.title)}</p>{facts}</div>'


def _chart(chart: Chart | HeatMap | CurveChart) -> str:
    title, summary = escaped(chart.title), escaped(chart.summary)
    return (
        f'<figure id="chart-{escaped(chart.id)}"><figcaption><h3>{title}</h3>'
        f'<p class=quiet>{summary} <a href="#{escaped(chart.table)}">Table</a></p></figcaption>'
        f"<div class=plot tabindex=0 role=application aria-roledescription=chart "
        f'aria-label="{title}. {summary}"></div><ul class=legend></ul></figure>'
    )


def _table(table: PageTable) -> Iterator[str]:
    caption = escaped(table.caption)
    if table.is_folded:
        yield f"<details id={table.id}-rows><summary>{caption}</summary>"
    else:
        yield f"<h3>{caption}</h3>"
    yield f'<div class=scroll tabindex=0 role=region aria-label="{caption}">'
    yield f"<table id={table.id}{' class=sortable' if table.is_sortable else ''}><thead><tr>"
    texts = [not column.is_number for column in table.columns]
    yield "".join(
        f"<th scope=col{' class=t' if is_text else ''}>{escaped(column.heading)}"
        for column, is_text in zip(table.columns, texts, strict=True)
    )
    for group in table.groups:
        yield "".join(_rows(group, texts))
    yield "</table></div>"
    if table.is_folded:
        yield "</details>"


def _rows(group: RowGroup, texts: list[bool]) -> Iterator[str]:
    """Yields the rows of a group; HTML needs no end of rows and cells."""
    end = "" if group.end is None else f" data-end={group.end:.6g}"
    yield f'<tbody data-kind="{escaped(group.kind)}" data-lane={group.lane}{end}>'
    if group.heading:
        kind = f" ({group.kind})" if group.kind else ""
        yield f"<tr><th colspan={len(texts)} scope=rowgroup class=t>{escaped(group.heading + kind)}"
    for row in group.rows:
        yield "<tr>"
        for cell, is_text in zip(row, texts, strict=True):
            yield _cell(cell, is_text=is_text)


def _cell(cell: PageCell | str, *, is_text: bool) -> str:
    if isinstance(cell, str):
        return f"<td class=t>{escaped(cell)}" if is_text else f"<td>{escaped(cell)}"
    classes = " ".join(name for name in ("t" if is_text else "", cell.tone) if name)
    shown_as = f' class="{classes}"' if classes else ""
    sort = "" if cell.sort is None else f" data-sort={cell.sort:.6g}"
    return f"<td{shown_as}{sort}>{escaped(cell.text)}"


def _chart_data(page: RacePage) -> dict[str, object]:
    """Returns what the script needs besides the tables."""
    blocks = [block for section in page.sections for block in section.blocks]
    axis = page.axis
    return {
        "axis": axis
        and {
            "end": axis.end_s,
            "bands": [
                [shown(band.name), band.from_s, band.to_s, band.measured_from_s, band.lane]
                for band in axis.bands
            ],
            "stalls": axis.stalls,
        },
        "charts": [_line_chart(block) for block in blocks if isinstance(block, Chart)],
        "heat": [
            {"id": block.id, "table": block.table, "levels": block.levels_ms, "length": block.length_s}
            for block in blocks
            if isinstance(block, HeatMap)
        ],
        "curves": [
            {
                "id": block.id,
                "table": block.table,
                "q": sorted({q for curve in block.curves for q, _ in curve.points}),
            }
            for block in blocks
            if isinstance(block, CurveChart)
        ],
    }


def _line_chart(chart: Chart) -> dict[str, object]:
    lines = [[line.label, line.column, line.style, line.to_column] for line in chart.lines]
    return {
        "id": shown(chart.id),
        "table": chart.table,
        "unit": shown(chart.unit),
        "kind": shown(chart.kind),
        "log": chart.is_logarithmic,
        "lines": lines,
    }
