"""Any page as HTML: what the text of a report becomes, and that a page has only the scripts that it needs."""

from __future__ import annotations

import base64
import hashlib

from msgspec.structs import replace

from pacenote.report.page.drawing import (
    Bar,
    Caption,
    Dot,
    Drawing,
    DrawingRow,
    KeyEntry,
    Stroke,
    Tick,
    Trace,
)
from pacenote.report.page.page import (
    FactList,
    Item,
    ItemList,
    KeyFigure,
    PageCell,
    PageColumn,
    PageCommand,
    PageTable,
    Question,
    ReportPage,
    RowGroup,
    Section,
    Text,
)
from pacenote.report.render.page import render_page
from report.render.test_flame_graph import HOSTILE, Page


def page(text: str = "text") -> ReportPage:
    """Returns a page with each kind of block but charts over time, all with one text."""
    table = PageTable(
        "data-values",
        text,
        (PageColumn(text, is_number=False), PageColumn("Value")),
        (RowGroup(text, ((PageCell(text, tone="wrong"), PageCell("1", 1.0)),)),),
        is_sortable=True,
        is_folded=True,
    )
    marks = (
        Bar(0.1, 0.4, title=text),
        Stroke(0.0, 0.5, 1.0, 0.5, is_dashed=True, title=text),
        Trace(((0.0, 0.1), (1.0, 0.9))),
        Trace(((0.0, 0.1), (1.0, 0.9), (1.0, 0.1)), is_area=True),
        Dot(0.25, title=text),
        Dot(0.5, form="ring"),
        Dot(0.75, form="cross", title=text),
        Caption(0.9, 0.5, text),
    )
    drawing = Drawing(
        "drawn",
        text,
        text,
        table.id,
        (DrawingRow(text, marks, text, "good"),),
        (Tick(0.0, text), Tick(0.5, "0 %", is_strong=True), Tick(1.0, text)),
        text,
        (KeyEntry("good", text), KeyEntry("quiet", text, "dashed")),
    )
    blocks = (
        drawing,
        table,
        FactList(((text, text),)),
        ItemList(text, (Item(text, ((text, text),)),), is_folded=True),
    )
    return ReportPage(
        title=text,
        badge=text,
        tone="good",
        heading=text,
        subtitle=text,
        figures=(KeyFigure(text, text, text),),
        questions=(Question(text, (Text(text), PageCommand(text))),),
        sections=(Section("one", text, blocks, is_printed=False),),
        footer=text,
    )


def test_a_page_without_charts_over_time_has_no_script_for_them():
    text = render_page(page())
    parsed = Page(text)
    assert [tag for tag, _ in parsed.elements].count("script") == 1
    assert "uPlot" not in text
    assert len(text.encode()) < 20_000
    (policy,) = [each["content"] for _, each in parsed.elements if "http-equiv" in each]
    digest = base64.b64encode(hashlib.sha256(parsed.texts["script"][0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_no_text_becomes_markup():
    text = render_page(page(HOSTILE))
    assert [tag for tag, _ in Page(text).elements] == [tag for tag, _ in Page(render_page(page())).elements]
    assert "\x1b" not in text
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;alert(1)") > 20
    text.encode()


def test_no_element_has_a_style_of_its_own():
    elements = Page(render_page(page())).elements
    assert not any(
        {"style", "src", "onclick", "fill", "href"} & each.keys() - {"href"} for _, each in elements
    )


def test_marks_keep_their_places_at_any_width():
    elements = Page(render_page(page())).elements
    circle, ring, _of_the_key = [each for tag, each in elements if tag == "circle"]
    assert (circle["cx"], circle["cy"], circle["class"]) == ("25.00%", "14.0", "dot accent")
    assert ring["class"] == "dot accent ring"
    (bar,) = [each for tag, each in elements if tag == "rect"]
    assert (bar["x"], bar["width"], bar["height"]) == ("10.00%", "30.00%", "28.0")
    (line,) = [each for tag, each in elements if tag == "polyline"]
    assert line["points"] == "0.00,10.00 100.00,90.00"
    # The labels at the edges of the axis stay within the drawing.
    labels = [each["class"] for tag, each in elements if tag == "text" and each.get("y") == "16"]
    assert labels == ["tick start", "tick middle", "tick end"]


def test_a_drawing_has_its_values_as_a_table_and_a_description():
    elements = Page(render_page(page())).elements
    ids = {each["id"] for _, each in elements if "id" in each}
    links = {each["href"] for _, each in elements if "href" in each}
    assert links == {"#data-values", "#one"}
    assert {link[1:] for link in links} <= ids
    (drawn,) = [each for _, each in elements if each.get("class") == "drawing"]
    assert (drawn["role"], drawn["aria-label"]) == ("img", "text. text")


def test_sections_may_be_left_out_on_paper():
    assert "<section id=one class=unprinted>" in render_page(page())
    printed = replace(page(), sections=(Section("one", "One", (Text("text"),)),))
    assert "<section id=one>" in render_page(printed)
