"""Charts that the script of a page draws with uPlot: their places on the page, and what the script needs."""

from __future__ import annotations

from collections.abc import Iterator

from pacenote.report.page.page import ReportPage
from pacenote.report.page.time_charts import Chart, CurveChart, HeatMap, TimeAxis
from pacenote.report.render.html import escaped, json_data, resource, shown

_FILES, _UPLOT = "page_files", "uplot"


def chart_style() -> str:
    """Returns the style of the charts."""
    return resource(_UPLOT, "uPlot.min.css") + resource(_FILES, "time_charts.css")


def chart_script() -> str:
    """Returns uPlot with its licence, and the script that draws the charts."""
    licence = resource(_UPLOT, "LICENSE").strip()
    return f"/*\n{licence}\n*/\n{resource(_UPLOT, 'uPlot.iife.min.js')}\n{resource(_FILES, 'time_charts.js')}"


def time_controls(axis: TimeAxis) -> Iterator[str]:
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
    lanes = len({band.lane for band in axis.bands})
    colours = " Lines have the colours of the tasks above." if lanes > 1 else ""
    yield (
        "<p class='quiet js'>Drag over a chart to zoom in, double-click to zoom out. With the keyboard: Tab "
        f"to a chart, arrow keys move the cursor. Stalls are shaded.{colours}</p>"
        "<noscript><p>The charts need JavaScript. The tables below have all their values.</p></noscript>"
    )


def time_chart(chart: Chart | HeatMap | CurveChart) -> str:
    """Returns the place of a chart."""
    title, summary = escaped(chart.title), escaped(chart.summary)
    return (
        f'<figure id="chart-{escaped(chart.id)}"><figcaption><h3>{title}</h3>'
        f'<p class=quiet>{summary} <a href="#{escaped(chart.table)}">Table</a></p></figcaption>'
        f"<div class=plot tabindex=0 role=application aria-roledescription=chart "
        f'aria-label="{title}. {summary}"></div><ul class=legend></ul></figure>'
    )


def chart_data(page: ReportPage) -> str:
    """Returns the element with what the script needs besides the tables."""
    return f'<script id="charts" type="application/json">{json_data(_chart_data(page))}</script>'


def _chart_data(page: ReportPage) -> dict[str, object]:
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
