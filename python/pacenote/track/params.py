"""Parses lists (`a,b`) and dictionaries (`k:v,k2:v2`) on the command line, as Rally does.

Both may also be inline JSON, or the name of a `.json` file. In the short form, a value in single quotes is a
string, which may contain commas; any other value is a whole number, a number, true, false, none, or otherwise
a string. A key ends at the first colon, so a value may contain colons; so may the name of a file that exists.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
from collections.abc import Callable, Collection
from typing import Any

from pacenote.errors import UsageError
from pacenote.model.decoding import parse_json
from pacenote.units import format_bytes

MAX_CLIENTS = 1_000_000
"""Maximum number of clients, which is more connections than one host can open. Each client takes memory."""

_ITEM = re.compile(r"((?:[^,:]*:)?\s*'[^']*'\s*|[^,]*)(?:,|$)")
"""An item up to the next comma outside quotes."""

_QUOTED = re.compile(r"^([^':]*:|)'([^']*)'$")
"""A list item that is quoted, either as a whole or after its kind (`tag:'a,b'`)."""

_JSON_TYPES = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "a number",
    list: "a list",
    str: "text",
    type(None): "null",
}
"""The names of parsed values in messages."""

_WORDS = {"true": True, "false": False, "none": None}


_MAX_FILE_BYTES = 64 << 20
"""Size of the largest file that is read."""


def _read_file(name: str) -> str:
    """Returns the text of a file or of a pipe, which may be that of a shell's `<(…)`. Raises OSError."""
    with open(os.path.expanduser(name), "rb") as file:  # noqa: PTH111, PTH123  # unlike Path, it never fails
        data = file.read(_MAX_FILE_BYTES + 1)
    if len(data) > _MAX_FILE_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {format_bytes(_MAX_FILE_BYTES)}")
    return data.decode("utf-8")


def parse_list(text: str, option: str, read: Callable[[str], str] = _read_file) -> list[Any]:
    """Parses a list. `option` is its name in messages, such as `--include-tasks`.

    Raises `UsageError` if the text is not a list.
    """
    text = text.strip()
    if text.startswith("["):
        value = _json(text, option)
    elif text.endswith(".json"):
        value = _json_file(text, option, read)
    else:
        return [_QUOTED.sub(r"\1\2", item.strip()) for item in _ITEM.findall(text) if item.strip()]
    if not isinstance(value, list):
        raise UsageError(f"{option} is {_JSON_TYPES[type(value)]}, but must be a list")
    return value


def parse_dict(
    text: str, option: str, read: Callable[[str], str] = _read_file, texts: Collection[str] = ()
) -> dict[str, Any]:
    """Parses a dictionary. `option` is its name in messages, such as `--track-params`.

    Values of keys in `texts` are always strings: `007` can be a password.

    Raises `UsageError` if the text is not a dictionary.
    """
    text = text.strip()
    if text.startswith(("{", "[")):
        value = _json(text, option)
    elif text.endswith(".json") and _names_file(text, option):
        value = _json_file(text, option, read)
    else:
        items = enumerate(_ITEM.findall(text), start=1)
        pairs = dict(_pair(item, position, option) for position, item in items if item.strip())
        return {
            key: _unquoted(value) if key in texts else parse_scalar(value) for key, value in pairs.items()
        }
    if not isinstance(value, dict):
        # The value may be secret.
        raise UsageError(f"{option} is {_JSON_TYPES[type(value)]}, but must be an object")
    return value


def _names_file(text: str, option: str) -> bool:
    """Returns whether a text that ends with `.json` is the name of a file: keys contain no slashes, and names
    that contain colons have one. Raises UsageError for a pair that is also the name of a file: its author may
    have put it into the working folder.
    """
    key, colon, _ = text.partition(":")
    if not colon or "/" in key:
        return True
    if os.path.isfile(text):  # noqa: PTH113
        raise UsageError(
            f"{option} is a pair, and there is a file with this name",
            hint="write ./ before the name of the file, or quote the value of the pair: key:'value'",
        )
    return False


def _pair(item: str, position: int, option: str) -> tuple[str, str]:
    """Returns a key and the text of its value. Messages never contain the item, which may be secret."""
    key, colon, value = item.partition(":")
    if not colon or not key.strip():
        raise UsageError(
            f"{option}: item {position} is not a key:value pair",
            hint="put a value with a comma in single quotes: key:'a,b'",
        )
    return key.strip(), value.strip()


def _unquoted(text: str) -> str:
    if not text.startswith("'"):
        return text
    return text[1:-1] if len(text) > 1 and text.endswith("'") else text[1:]


def parse_scalar(text: str) -> Any:
    """Returns the value that a text represents."""
    if text.startswith("'"):
        return _unquoted(text)
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    return text


def _json_file(name: str, option: str, read: Callable[[str], str]) -> Any:
    try:
        text = read(name)
    except (OSError, UnicodeDecodeError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{option}: {name} cannot be read: {reason}") from cause
    return _json(text, f"{option}: {name}")


def _json(text: str, where: str) -> Any:
    try:
        return parse_json(text)
    except json.JSONDecodeError as cause:
        raise UsageError(
            f"{where} is not valid JSON: {cause.msg} at line {cause.lineno}, column {cause.colno}"
        ) from cause
    except ValueError as cause:
        raise UsageError(f"{where} is not valid JSON: {cause}") from cause
