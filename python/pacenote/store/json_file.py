"""Reads files of JSON."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pacenote.model.codec import MIN_NUMBER
from pacenote.model.decoding import parse_json
from pacenote.model.printable import encodable_value
from pacenote.system.regular_files import read_stored_file

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
"""A JSON escape of a surrogate, which may lack its pair."""


_SMALL_NUMBER = re.compile(rb"[eE]-0*[1-9][0-9]|\.0{10}")
"""Part of the text of every number below 10^-20."""


def read_json(path: Path) -> Any:
    """Returns the document in a regular file. Raises OSError, and ValueError as `parse_json` does."""
    return parse_stored(read_stored_file(path))


def parse_stored(data: bytes) -> Any:
    """Returns a JSON document as `parse_json` does, without halves of surrogate pairs: they are replaced,
    because neither files nor databases nor terminals accept them. Numbers closer to 0 than `MIN_NUMBER` are
    0: what is computed with them may not be a number.
    """
    document = parse_json(data)
    if _SMALL_NUMBER.search(data):
        document = _without_tiny_numbers(document)
    return encodable_value(document) if _SURROGATE_ESCAPE.search(data) else document


def _without_tiny_numbers(document: Any) -> Any:
    """Returns a document whose numbers that are too close to 0 are 0; its lists and objects are changed in
    place.
    """
    if isinstance(document, float):
        return document if abs(document) >= MIN_NUMBER else 0.0
    if isinstance(document, list):
        for index, value in enumerate(document):
            document[index] = _without_tiny_numbers(value)
    elif isinstance(document, dict):
        for key, value in document.items():
            document[key] = _without_tiny_numbers(value)
    return document
