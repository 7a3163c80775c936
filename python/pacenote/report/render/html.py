"""What the pages have in common: the frame of a document, its content security policy, and escaping.

A page has its style and its script in it, and its policy allows exactly these, so that it loads nothing, and
nothing that a track, an engine or a recording contains can become markup or code.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib.resources import files

from msgspec import Struct

from pacenote.model.output_text import json_escaped
from pacenote.model.printable import encodable, printable


class Frame(Struct, frozen=True):
    """A document without its contents."""

    template: str
    """The document, with marks such as `@@BODY@@` where parts belong."""

    style: str
    """The text of its style element."""

    script: str
    """The text of its script element."""


def resource(folder: str, name: str) -> str:
    """Returns the text of a file of this package."""
    return (files("pacenote.report.render") / folder / name).read_text("utf-8")


def document(frame: Frame, parts: dict[str, str]) -> str:
    """Returns the document with its parts by mark; they are inserted as they are."""
    policy = (
        f"default-src 'none'; style-src {source_hash(frame.style)}; script-src {source_hash(frame.script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {**parts, "POLICY": policy, "STYLE": frame.style, "SCRIPT": frame.script}
    return re.sub(r"@@([A-Z]+)@@", lambda mark: parts[mark[1]], frame.template)


def source_hash(text: str) -> str:
    """Returns the source expression of a content security policy that allows exactly this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def shown(text: str) -> str:
    """Returns a text without unprintable characters, not escaped."""
    return printable(encodable(text))


def escaped(text: str) -> str:
    """Returns a text as the content or a quoted attribute of an element. Percentages are not broken."""
    return html.escape(shown(text)).replace(" %", "&nbsp;%")


def json_data(value: object) -> str:
    """Returns a value as the content of a script element with JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # `<` would end the element, or begin a comment in it.
    return json_escaped(text).replace("<", "\\u003c")
