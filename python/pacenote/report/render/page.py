"""A page as one HTML document without references to other files.

The tables of a page are its data: charts over time read their values from them, so that a browser without
scripts shows the same figures, and no value is stored twice. A page without such charts has no script to draw
them. Every text of a page is escaped here, and in the three modules that render charts.
"""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.report.page.drawing import Drawing
from pacenote.report.page.flame_drawing import FlameDrawing
from pacenote.report.page.page import (
    Block,
    FactList,
    Item,
    ItemList,
    KeyFigure,
    PageCell,
    PageCommand,
    PageTable,
    Question,
    ReportPage,
    RowGroup,
    Section,
    Text,
)
from pacenote.report.page.smaller import smaller_pages
from pacenote.report.page.time_charts import Chart, CurveChart, HeatMap, TimeAxis
from pacenote.report.render.drawing import drawing
from pacenote.report.render.flame_drawing import flame_graph_drawing
from pacenote.report.render.html import Frame, document, escaped, resource
from pacenote.report.render.time_charts import (
    chart_data,
    chart_script,
    chart_style,
    time_chart,
    time_controls,
)

MAX_BYTES = 300_000
"""The most bytes of a page."""

_LONG_FIGURE = 14
"""Number of letters from which on a main figure is smaller, because it is a text."""

_FILES = "page_files"
_OWN_CHARTS = (Chart, CurveChart, HeatMap)
"""Charts that the script of the page draws."""


def render_page(page: ReportPage) -> str:
    """Returns the document of a page."""
    style, script, data = resource(_FILES, "page.css"), resource(_FILES, "page.js"), ""
    if any(isinstance(block, _OWN_CHARTS) for section in page.sections for block in section.blocks):
        style, script, data = chart_style() + style, script + chart_script(), chart_data(page)
    frame = Frame(resource(_FILES, "page.html"), style, script)
    return document(frame, {"TITLE": escaped(page.title), "BODY": "\n".join((*_body(page), data))})


def render_small_page(page: ReportPage) -> str:
    """Returns the document of a page; one that would be too large has fewer marks and rows, and says so."""
    text = render_page(page)
    if len(text.encode()) <= MAX_BYTES:
        return text
    for smaller in smaller_pages(page):
        text = render_page(smaller)
        if len(text.encode()) <= MAX_BYTES:
            break
    return text


def _body(page: ReportPage) -> Iterator[str]:
    yield f'<header><p class="badge {page.tone}">{escaped(page.badge)}</p>'
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
    size = " long" if len(figure.value) > _LONG_FIGURE else ""
    return (
        f"<li><span class=label>{escaped(figure.label)}</span> "
        f'<strong class="{figure.tone}{size}">{escaped(figure.value)}</strong> '
        f"<span class=quiet>{escaped(figure.detail)}</span></li>"
    )


def _question(question: Question) -> str:
    blocks = "".join(html for block in question.blocks for html in _block(block))
    return f"<div><dt>{escaped(question.question)}</dt><dd>{blocks}</dd></div>"


def _section(section: Section, axis: TimeAxis | None) -> Iterator[str]:
    on_paper = "" if section.is_printed else " class=unprinted"
    yield f"<section id={section.id}{on_paper}><h2>{escaped(section.title)}</h2>"
    if axis is not None and any(isinstance(block, Chart) for block in section.blocks):
        yield from time_controls(axis)
    for block in section.blocks:
        yield from _block(block)
    yield "</section>"


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        yield f'<p class="{block.tone}">{escaped(block.text)}</p>'
    elif isinstance(block, PageCommand):
        lines = "\n".join(map(_command_line, block.text.split("\n")))
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
    elif isinstance(block, Drawing):
        yield from drawing(block)
    elif isinstance(block, FlameDrawing):
        yield from flame_graph_drawing(block)
    else:
        yield time_chart(block)


def _command_line(line: str) -> str:
    """Returns a line of a command; its options are only broken at hyphens if a line has no room for them."""
    return " ".join(f"<span>{escaped(word)}</span>" for word in line.split(" "))


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
    classes = [name for name in ("t" if is_text else "", cell.tone) if name]
    # One class needs no quotes.
    shown_as = (
        f' class="{" ".join(classes)}"' if len(classes) > 1 else f" class={classes[0]}" if classes else ""
    )
    sort = "" if cell.sort is None else f" data-sort={cell.sort:.6g}"
    return f"<td{shown_as}{sort}>{escaped(cell.text)}"
