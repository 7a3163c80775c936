"""Reads files of JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pacenote.model.decoding import parse_json
from pacenote.store.atomic_files import read_regular_file


def read_json(path: Path) -> Any:
    """Returns the document in a regular file. Raises OSError, and ValueError as `parse_json` does."""
    return parse_json(read_regular_file(path))
