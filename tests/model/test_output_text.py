"""What goes to terminals, CSV, Markdown and JSON."""

import csv
import itertools
import json
import random
import re

import pytest

from pacenote.model.output_text import (
    csv_text,
    json_escaped,
    json_text,
    log_text,
    markdown_text,
    terminal_text,
)
from pacenote.model.printable import printable


@pytest.mark.parametrize(
    "value",
    [
        1,
        -1.5,
        "-1.50",
        "+2.1 %",
        "-3",
        "1e-5",
        "+1,234.5 docs/s",
        "-5 ms",
        "-1.5 MB/s",
        "-5%",
        "-",
        "--",
        "a=b",
        "",
        None,
    ],
)
def test_numbers_and_plain_texts_stay_as_they_are(value):
    assert csv_text([(value, "x")]) in (f"{'' if value is None else value},x\n", f'"{value}",x\n')


@pytest.mark.parametrize(
    "text",
    [
        *(
            "=1+1",
            "+1+1",
            "-1+1",
            "@SUM(A1)",
            "-5+cmd|' /C calc'!A0",
            " =1",
            "-A1",
            "+(1)",
            "=",
            "-=1",
            "+x y",
            *("-2/A1", "+1/B2C3", "-1/RAND", "-1 A1", "-1 x/RAND", "-5A1", "-1/s", "-\u0661"),
            '"=1',
        ),
        *("\uff1d1", "\uff0b1", "\uff0d1", "\uff201"),
        *("\u2011A1", "\u2013A1", "\u2014A1", "\u2212A1", "\u2500A1"),
    ],
)
def test_no_text_is_a_formula(text):
    assert csv_text([(text,)]).strip().strip('"').startswith("'")


def test_no_part_between_semicolons_is_a_formula():
    assert csv_text([("a;=1", "b; -A1;c", 'd;"=1', "e;-1;- ")]) == (
        "a;'=1,b;' -A1;c,\"d;'\"\"=1\",e;'-1;'- \n"
    )


def test_lists_of_negative_numbers_and_semicolons_at_the_end_are_guarded():
    """As docs/reference/export.md says, for those who read the texts again."""
    assert csv_text([("x;", "-1,-2", "1,-2", "-1, -2", "[-1, -2]")]) == (
        'x;\',"\'-1,\'-2","1,\'-2","\'-1, -2","[-1, -2]"\n'
    )


def test_a_number_is_not_continued_by_the_text_after_it():
    """Where cells end at semicolons, `-5,0+A1` and `+1,5+A1` are one cell each."""
    assert csv_text([("x;+1", "5+A1;y"), (-5, "0+A1")]) == "x;'+1,5+A1;y\n'-5,0+A1\n"
    assert csv_text([(-5, "docs", -1.5, "+2 %", None, "")]) == "-5,docs,-1.5,+2 %,,\n"


_CELLS = (
    *("-5", "+1", "-", "+2.1 %", "-1.5 MB/s", "+1,234.5 docs/s", "7", "-1e-5", "", " ", '"', ";", ",", "'"),
    *("x;+1", "5+cmd|'/C calc'!A0;y", "0+cmd|' /C calc'!A0", "=1+1", "@SUM(A1)", "x;=1", "x, -1", "x,=1"),
    *(
        "x;",
        'x;"',
        'x;""',
        'x;"""',
        'x; "',
        "a,b;",
        'a"b;',
        'a"b; ',
        ';"',
        '";',
        '";"',
        '";=1',
        '"=1',
        '",=1',
    ),
    *(
        "x\t=1",
        "x;\uff0b1",
        "1,-2",
        "1;-2",
        "-1;2",
        "+1;",
        "notes",
        "index-append",
        "{'a': -1}",
        "\ufe0f=1",
        ";;=1",
    ),
)
"""Texts that are formulas, or become one together with others, and those that tables contain."""

_SIGNS = tuple("=+-@\uff1d\uff0b\uff0d\uff20")

_HARMLESS = re.compile(
    r"(?:[+-]?\d[\d.]*(?:[eE][+-]?\d+)?(?: ?%| [A-Za-z]+(?:/(?:s|op))?)?|[+-]+|[^\W\d]\w*| *)"
)
"""A number with a unit, what stands for none, or a word."""


def _cells(text, separators, quote):
    """Returns the cells as a spreadsheet has them: quotation marks count at the beginning of a cell, and
    after the second one the rest of the cell is as it is.
    """
    cells, cell, quoted, at = [], "", False, 0
    while at < len(text):
        character = text[at]
        if quoted and character == '"' and text[at + 1 : at + 2] == '"':
            cell, at = cell + '"', at + 1
        elif character == '"' and quote and (quoted or not cell):
            quoted = not quoted
        elif not quoted and character in f"{separators}\n":
            cells.append(cell)
            cell = ""
        else:
            cell += character
        at += 1
    return [*cells, cell]


def _rows():
    values = (*_CELLS, -5, -1.5, 3)
    yield from itertools.product(values, repeat=2)
    chosen = random.Random(7)
    yield from (chosen.choices(values, k=chosen.randint(1, 6)) for _ in range(2_000))


@pytest.mark.parametrize("separators", [",", ";", "\t", ",;", ";\t", ",;\t"])
@pytest.mark.parametrize("quote", [True, False])
def test_no_cell_is_a_formula_whatever_ends_it(separators, quote):
    rows = list(_rows())
    for row, after in itertools.pairwise(rows):
        for cell in _cells(csv_text([row, after]), separators, quote):
            start = cell.lstrip(' \n"') if quote else cell
            assert not start.startswith(_SIGNS) or _is_harmless(start), (row, after, cell)


def _is_harmless(cell):
    """Returns whether a cell with a sign is a number, or several and words, as in a line of one cell."""
    return all(_HARMLESS.fullmatch(part.strip('"')) for part in re.split("[,\n]", cell))


@pytest.mark.parametrize("number", [-5, -1.5, "-5", "+2.1 %", "-1.5 MB/s", "+1,234.5 docs/s", "-1e-5", "-"])
def test_a_number_beside_any_text_stays_a_number(number):
    for text in _CELLS:
        _, _, cell = next(csv.reader([csv_text([("Metric", text, number)])]))
        assert cell == str(number)


def test_a_tab_or_a_line_break_hides_no_formula():
    assert csv_text([("\t=1", "\r=1", "\n=1")]) == "\\u0009=1,\\u000d=1,\\u000a=1\n"


def test_booleans_are_those_of_json():
    assert csv_text([(True, False)]) == "true,false\n"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a|b", "a\\|b"),
        ("<b>", "\\<b>"),
        ("![a](http://x)", "![a\\](http://x)"),
        ("[a]: http://x", "[a\\]: http://x"),
        ("[a][b]", "[a\\][b]"),
        ("byte[]", "byte[]"),
        ("a\r\n# b", "a # b"),
        ("a\x1b[1m\u202eb", "a [1m b"),
    ],
)
def test_markdown_is_text(text, escaped):
    assert markdown_text(text) == escaped


def test_a_terminal_gets_no_commands():
    text = "a\x1b[1m\x9b1m\u202e\u2028\r\ud800b\tc\nd\u00e9\u200d"
    assert terminal_text(text) == "a [1m 1m    b\tc\nd\u00e9\u200d"
    assert terminal_text("plain") == "plain"


INVISIBLE = (
    *("\u115f", "\u1160", "\u200b", "\u2060", "\u2064", "\u206a", "\u206f", "\u3164", "\ufeff", "\uffa0"),
    *("\ufff9", "\ufffa", "\ufffb", "\U000e0000", "\U000e0001", "\U000e0041", "\U000e007f"),
    *("\u00ad", "\u034f", "\u17b4", "\u17b5", "\u180e", "\u2800", "\ufff0", "\ufff8"),
    *("\U0001bca0", "\U0001d159", "\U0001d173", "\U0001d17a", "\U000e0080", "\U000e01f0", "\U000e0fff"),
)


@pytest.mark.parametrize("character", INVISIBLE)
def test_no_output_hides_text_in_characters_that_are_not_shown(character):
    text = f"a{character}b"
    assert terminal_text(text) == markdown_text(text) == printable(text) == "a b"
    for escaped in (json_text(text), csv_text([(text,)])):
        assert character not in escaped
        assert "\\u" in escaped
    assert json.loads(json_text(text)) == text


def test_characters_that_change_how_others_look_are_shown():
    for text in ("\u0645\u06cc\u200c\u062e", "\U0001f469\u200d\U0001f4bb", "\u2764\ufe0f", "\ud55c\uae00"):
        assert terminal_text(text) == text
    for selector in "\u180b\u180d\u180f\ufe00\ufe0f\U000e0100\U000e01ef":
        text = f"a{selector}"
        assert terminal_text(text) == markdown_text(text) == json.loads(json_text(text)) == text


def test_json_keeps_its_meaning():
    value = {"a\u202e\x9b": ["\x1b", "\u2028", "\u00e9"]}
    assert json.loads(json_text(value)) == value
    assert "\\u202e\\u009b" in json_text(value)
    assert "\u00e9" in json_text(value)
    assert json_escaped('"a"') == '"a"'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x: ##vso[task.setvariable variable=A]b", "x: # #vso[task.setvariable variable=A]b"),
        ("###VSO[a]", "## #VSO[a]"),
        ("##[error]a", "# #[error]a"),
        ("##teamcity[setParameter name='a']", "# #teamcity[setParameter name='a']"),
        ("a\n  ::set-output name=a::b", "a\n  : :set-output name=a::b"),
        ("\u2003::stop-commands::a", "\u2003: :stop-commands::a"),
        ("## Results\na::b ##", "## Results\na::b ##"),
    ],
)
def test_no_line_of_a_log_is_a_command(text, shown):
    assert log_text(text) == shown
    assert "##[" not in json_text(text).lower().replace("vso", "").replace("teamcity", "")
    assert json.loads(json_text(text)) == text
