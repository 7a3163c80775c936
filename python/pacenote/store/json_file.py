"""Reads files of JSON."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pacenote.model.decoding import parse_json
from pacenote.model.printable import encodable_value
from pacenote.system.regular_files import read_stored_file

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
"""A JSON escape of a surrogate, which may lack its pair."""


def read_json(path: Path) -> Any:
    """Returns the document in a regular file. Raises OSError, and ValueError as `parse_json` does."""
    return parse_stored(read_stored_file(path))


def parse_stored(data: bytes) -> Any:
    """Returns a JSON document as `parse_json` does, without halves of surrogate pairs: they are replaced,
    because neither files nor databases nor terminals accept them.
    """
    document = parse_json(data)
    return encodable_value(document) if _SURROGATE_ESCAPE.search(data) else document
