"""Writes options of races as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pacenote.errors import UsageError
from pacenote.model.experiment import Options


def toml_value(value: object) -> str:
    """Returns a value as TOML, whose texts, numbers and lists are those of JSON. Raises UsageError."""
    if isinstance(value, Mapping):
        items = (f"{toml_value(str(key))} = {toml_value(item)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if value is None or not isinstance(value, str | int | float):
        raise UsageError(f"the option {value!r} cannot be written to the file of an experiment")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_table(name: str, options: Options) -> list[str]:
    """Returns the lines of a table with options, after an empty one. Raises UsageError."""
    return ["", f"[{name}]", *(f"{toml_value(key)} = {toml_value(value)}" for key, value in options.items())]
