"""What goes to terminals, CSV, Markdown and JSON, without characters that these would obey.

Names come from tracks, servers, recordings, logs, and races of others. A terminal obeys control characters
and marks of writing direction, a spreadsheet formulas, and Markdown its own characters and HTML. Only this
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

_FORMULA = (*"=+-@", *map(chr, (0xFF1D, 0xFF0B, 0xFF0D, 0xFF20)))
"""Beginnings of text that a spreadsheet takes for a formula, also in full width."""

_NUMBER = re.compile(
    r"[+-]?[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?(?: ?%| [^\W\d_]{1,12}(?:/(?:s|min|h|op|doc))?)?|[+-]+"
)
"""Text that begins like a formula, and is a number with or without a unit, or stands for none. After a number
alone, letters or a slash could be cells and functions: `-1/RAND`.
"""

_MARKDOWN = re.compile(r"[\\|<]|\](?=[(\[:])")
"""What ends a table cell, begins HTML, or makes text in brackets a link or an image."""


def terminal_text(text: str) -> str:
    """Returns text with spaces in place of characters that a terminal obeys, except tabs and line feeds."""
    return text if text.isascii() and text.isprintable() else _OBEYED.sub(" ", text)


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Returns rows as CSV. Numbers remain numbers, and no text is a formula."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_csv_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _csv_cell(value: object) -> object:
    if not isinstance(value, str):
        return json.dumps(value) if isinstance(value, bool) else value
    # In some countries, spreadsheets begin a new cell after a semicolon, whose quotes they remove.
    return ";".join(map(_csv_part, visible(value).split(";")))


def _csv_part(text: str) -> str:
    is_formula = text.lstrip(' "').startswith(_FORMULA) and not _NUMBER.fullmatch(text)
    # An apostrophe tells spreadsheets that it is text.
    return f"'{text}" if is_formula else text


def markdown_text(text: str) -> str:
    """Returns text in one line that can break no table cell or list item, and is neither HTML nor a link."""
    return _MARKDOWN.sub(r"\\\g<0>", printable(" ".join(text.splitlines())))


def json_text(value: object) -> str:
    """Returns indented JSON that ends in a newline."""
    return f"{json_escaped(json.dumps(value, ensure_ascii=False, indent=2))}\n"


def json_escaped(text: str) -> str:
    """Returns JSON with escapes in its strings in place of characters that a terminal obeys."""
    return _OBEYED.sub(lambda match: visible(match[0]), text)
