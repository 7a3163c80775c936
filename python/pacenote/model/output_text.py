"""What goes to terminals, CSV, Markdown and JSON, without characters that these would obey.

Names come from tracks, servers, recordings, logs, and races of others. A terminal obeys control characters
and marks of writing direction, an agent of continuous integration commands in the output of a step, a
spreadsheet formulas, and Markdown its own characters and HTML. Only this
module knows which, and all output passes through it: `cli/console.py` uses it for terminals, renderers for
the other formats. Pages have `report/render/html.py`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence

from pacenote.model.printable import INVISIBLE_CHARACTERS, printable, visible

_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
    "\u00ad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    f"\U000e0000-\U000e00ff\U000e01f0-\U000e0fff{INVISIBLE_CHARACTERS}]"
)
"""Characters that a terminal obeys, apart from tabs and line feeds: controls of ISO 6429, separators of
lines, marks of writing direction, and surrogates, which it cannot show. And those that it does not show, in
which names that look equal differ, or text is hidden: what Unicode calls ignorable, characters without a
width or a shape, and controls of annotations. Joiners (U+200C, U+200D) and selectors of variants
(U+180B-180D, U+180F, U+FE00-FE0F, U+E0100-E01EF) stay: they change how others look.
"""

_FORMULA = "=+@\uff1d\uff0b\uff0d\uff20\u2011\u2013\u2014\u2212\u2500-"
"""Characters with which text begins that a spreadsheet takes for a formula, also in full width, and those
that become a minus sign in an encoding that does not have them.
"""

_NUMBER = re.compile(
    r"[+-]?[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?(?: ?%| [^\W\d_]{1,12}(?:/(?:s|min|h|op|doc))?)?|[+-]+"
)
"""Text that begins like a formula, and is a number with or without a unit, or stands for none. After a number
alone, letters or a slash could be cells and functions: `-1/RAND`.
"""

_WORDS = re.compile(r"[^\W\d_][\w ]*")
"""Text that makes no formula of the number before it."""

_HIDDEN_START = re.compile(f';(?= *(?:["{_FORMULA}]|\\Z))|,(?=[{_FORMULA}])')
"""The end of a part of a text after which a spreadsheet could begin a cell with a formula: where cells end at
semicolons, which quotes within a line do not prevent, or where it is told that quotes have no meaning. A
quotation mark after a semicolon, which may also be the end of a quoted cell, would begin a cell that contains
all up to the next one.
"""

_LOG_COMMAND = re.compile(r"#(?=#(?:vso|teamcity)?\[)|^[^\S\n]*:(?=:)", re.MULTILINE | re.IGNORECASE)
"""The beginning of a command that agents of continuous integration obey in the output of a step: anywhere in
a line (`##vso[…]` of Azure Pipelines, `##[…]` of it and of GitHub, `##teamcity[…]`), or where a line begins
(`::set-output …::` of GitHub, Gitea and Forgejo).
"""

_MARKDOWN = re.compile(r"[\\|<]|\](?=[(\[:])")
"""What ends a table cell, begins HTML, or makes text in brackets a link or an image."""


def terminal_text(text: str) -> str:
    """Returns text with spaces in place of characters that a terminal obeys, except tabs and line feeds."""
    return text if text.isascii() and text.isprintable() else _OBEYED.sub(" ", text)


def log_text(text: str) -> str:
    """Returns lines of a log with a space within what an agent of continuous integration takes for a command:
    `# #vso[…]`, `: :set-output …::`.
    """
    return _LOG_COMMAND.sub(r"\g<0> ", text) if "##" in text or "::" in text else text


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Returns rows as CSV. Numbers remain numbers, and no text is a formula, also where the program that
    reads it begins a new cell after each semicolon or tab instead of each comma.
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_csv_row, rows))
    return text.getvalue()


def _csv_row(row: Sequence[object]) -> list[object]:
    cells = [_csv_cell(value) for value in row]
    # Where cells do not end at commas, the first one goes on with the others: `-5,0+A1`.
    if cells and str(cells[0]).startswith(tuple(_FORMULA)) and not all(map(_continues_number, cells[1:])):
        cells[0] = f"'{cells[0]}"
    return cells


def _continues_number(cell: object) -> bool:
    """Returns whether a cell after a number leaves it a number, or makes it a text."""
    return not cell or not isinstance(cell, str) or any(form.fullmatch(cell) for form in (_NUMBER, _WORDS))


def _csv_cell(value: object) -> object:
    if not isinstance(value, str):
        return json.dumps(value) if isinstance(value, bool) else value
    text = visible(value)
    # An apostrophe tells spreadsheets that it is text.
    if text.lstrip(' "').startswith(tuple(_FORMULA)) and not _NUMBER.fullmatch(text):
        text = f"'{text}"
    return _HIDDEN_START.sub(r"\g<0>'", text)


def markdown_text(text: str) -> str:
    """Returns text in one line that can break no table cell or list item, and is neither HTML nor a link."""
    return _MARKDOWN.sub(r"\\\g<0>", printable(" ".join(text.splitlines())))


def json_text(value: object) -> str:
    """Returns indented JSON that ends in a newline."""
    return f"{json_escaped(json.dumps(value, ensure_ascii=False, indent=2))}\n"


def json_escaped(text: str) -> str:
    """Returns JSON with escapes in its strings in place of characters that a terminal, or an agent of
    continuous integration, obeys.
    """
    escaped = _OBEYED.sub(lambda match: visible(match[0]), text)
    # No line of JSON begins with a colon.
    return _LOG_COMMAND.sub(r"\\u0023", escaped) if "##" in escaped else escaped
