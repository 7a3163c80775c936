"""Tables in saved web pages."""

from __future__ import annotations

import pytest

from importers.samples import PUBLISHED
from pacenote.importers.files import has_tags, is_page, text_of_html
from pacenote.importers.table_races import races_in_text

PAGE = """<!DOCTYPE html>
<html><body><p>Some text &amp; more.</p>
<table class="a">
<thead><tr>
  <th>Metric</th><th>Task</th>
  <th>Value</th><th>Unit</th>
</tr></thead>
<tr><td align="right">Mean <b>Throughput</b></td><td>a|b &lt;c&gt;</td><td>1,234.5</td><td>docs/s</td></tr>
<TR><TD>error rate<TD>a|b &lt;c&gt;<TD>0<TD>%
</table><p>The end.</p></body></html>
"""


def test_tables_of_a_web_page_are_read():
    assert is_page(PAGE)
    (race,), problems = races_in_text(text_of_html(PAGE))
    assert [(value.metric, value.task, value.value) for value in race.values] == [
        ("Mean Throughput", "a|b <c>", 1234.5),
        ("error rate", "a|b <c>", 0.0),
    ]
    assert problems == ()


def test_a_printed_comparison_within_a_web_page_is_read():
    lines = "\n".join(f'<span class="l">{line}</span>' for line in PUBLISHED.split("\n"))
    page = f"<html><pre><code>{lines}</code></pre></html>"
    plain, _ = races_in_text(PUBLISHED)
    races, problems = races_in_text(text_of_html(page))
    assert (races, problems) == (plain, ())


def test_other_texts_are_not_html():
    assert not has_tags(PUBLISHED)
    assert not has_tags("a < b and <tr> alone")
    assert not is_page("<13>Jan 5 | <pre> |")
    assert not is_page("a log that mentions <table>")


@pytest.mark.parametrize("reference", ["&#" + "9" * 5_000 + ";", "&#x" + "f" * 5_000 + ";", "&#99999999"])
def test_a_reference_to_a_character_that_does_not_exist_is_one_that_cannot_be_shown(reference: str) -> None:
    page = f"<table><tr><td>a{reference}</td><td>&#x41;&#66;</td></tr></table>"
    assert "a\ufffd" in text_of_html(page)
    assert "AB" in text_of_html(page)
