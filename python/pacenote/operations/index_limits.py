"""Names and settings of indices that every engine refuses, so that a race is refused before it begins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import quoted
from pacenote.model.problems import preview

_LEAST = {"number_of_shards": 1, "number_of_routing_shards": 1, "number_of_replicas": 0}
"""Smallest value of each setting that is a whole number."""

_MAX_NAME_BYTES = 255
_FORBIDDEN = re.compile(r'[\\/*?"<>| ,#:]')
_WHOLE = re.compile(r"[+-]?\d{1,18}")


def check_index(params: FieldReader, name: str, body: Any) -> None:
    """Records a problem for the name of an index, and for each of its settings, that every engine refuses."""
    if problem := _name_problem(name):
        params.problem(None, f"creates index {quoted(name)}, but {problem}")
    check_settings(params, name, body, ("settings",))


def check_settings(params: FieldReader, name: str, body: Any, settings_in: tuple[str, ...]) -> None:
    """Records a problem for each setting that every engine refuses; `body` contains settings at this path."""
    for key in settings_in:
        body = body.get(key) if isinstance(body, Mapping) else None
    for setting, value in _flat(body):
        if problem := _value_problem(setting, value):
            text = f"sets {setting} of {quoted(name)} to {preview(value)}"
            params.problem(None, f"{text}, but it must be {problem}")


def _name_problem(name: str) -> str:
    if name.startswith("<") and name.endswith(">"):
        return ""  # The engine computes the name from a date.
    if name != name.lower():
        return "names of indices are in lower case"
    if match := _FORBIDDEN.search(name):
        return f"names of indices do not contain {quoted(match[0])}"
    if name.startswith(("-", "_", "+")) or name in ("", ".", ".."):
        return "names of indices do not begin with -, _ or +, and are not empty, . or .."
    return "" if len(name.encode()) <= _MAX_NAME_BYTES else f"names have at most {_MAX_NAME_BYTES} bytes"


def _flat(settings: Any) -> Iterator[tuple[str, Any]]:
    """Yields the settings of `_LEAST`, which may be below `index` or have it as prefix."""
    if not isinstance(settings, Mapping):
        return
    for key, value in settings.items():
        name = str(key).removeprefix("index.")
        if name in _LEAST:
            yield name, value
        elif key == "index":
            yield from _flat(value)


def _value_problem(setting: str, value: Any) -> str:
    """Returns what the value must be, or an empty string if the engine may accept it."""
    if value is None:
        return ""  # The engine uses its default.
    text = str(value).strip()
    if isinstance(value, bool | float) or not _WHOLE.fullmatch(text):
        return "a whole number"
    return "" if int(text) >= _LEAST[setting] else f"at least {_LEAST[setting]}"
