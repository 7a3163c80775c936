"""Reads files of JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from pacenote.store.atomic_files import read_regular_file


def read_json(path: Path) -> Any:
    """Returns the document in a regular file. Raises OSError, ValueError and RecursionError."""
    return parse_json(read_regular_file(path))


def parse_json(data: bytes) -> Any:
    """Returns a JSON document. Raises ValueError, also for numbers that are not finite, which Python accepts
    although JSON has none; and RecursionError.
    """
    return json.loads(data, parse_constant=_reject, parse_float=_finite)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _reject(text)


def _reject(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")
