"""Turns the HTML of a web page into text whose tables can be found."""

from __future__ import annotations

import html
import re

_BEGINS_WITH_TAG = re.compile(r"\s*<[!?a-z]", re.IGNORECASE)
_TAGS = re.compile(r"<(?:!doctype html|html|body|table|pre)\b", re.IGNORECASE)

_ROW = re.compile(r"<tr\b[^<>]*>", re.IGNORECASE)
_ROW_END = re.compile(r"</tr\s*>|</table\s*>", re.IGNORECASE)
_CELL = re.compile(r"<t[dh]\b[^<>]*>", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>|</(?:p|div|li|h\d)\s*>", re.IGNORECASE)
_TAG = re.compile(r"<[/!]?[a-zA-Z][^<>]*>")


def is_page(text: str) -> bool:
    """Returns whether a text is a web page or a part of one: it has its tags, and begins with one."""
    return _BEGINS_WITH_TAG.match(text) is not None and has_tags(text)


def has_tags(text: str) -> bool:
    """Returns whether a text has tags of a web page, or of a table."""
    return _TAGS.search(text) is not None


def text_of_html(text: str) -> str:
    """Returns the text of a web page, with each row of a table as a line with bars."""
    before, *rows = _ROW.split(text)
    parts = [_plain(before)]
    for row in rows:
        end = _ROW_END.search(row)
        cells = _CELL.split(row[: end.start()] if end else row)[1:]
        line = " | ".join(" ".join(_plain(cell).split()).replace("|", "\\|") for cell in cells)
        parts += [f"| {line} |" if cells else "", _plain(row[end.end() :]).strip() if end else ""]
    # A blank line would end a table.
    return "\n".join(part for part in parts if part)


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", _BREAK.sub("\n", text)))
