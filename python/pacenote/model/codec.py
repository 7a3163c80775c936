"""Converts frozen dataclasses to JSON documents and back, strictly, with msgspec.

A document from the driver or from disk must match the types exactly; otherwise, the error names the
invalid field. A field with a default may be missing; `object` accepts any JSON value. This module adds three
rules that msgspec does not provide for dataclasses: unknown fields are errors, numbers are finite (at most
1e75) and fit into 64 bits, and messages have the form of those about tracks.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from pacenote.errors import PacenoteError

if TYPE_CHECKING:
    from msgspec import ValidationError

T = TypeVar("T")

_NEWER = "it was probably written by a newer version of Pacenote"
_MAX_SHOWN = 60
MAX_INTEGER = 2**64 - 1
"""The largest whole number of a document, and the negative one: the driver counts with 64 bits."""

MAX_NUMBER = 1e75
"""The largest number of a document, and the negative one: it can be raised to the fourth power."""

_FIELD_TYPES: dict[type, Mapping[str, Any]] = {}
"""The types of the fields of dataclasses whose fields are read one by one."""

_FIELD_NAMES: dict[type, frozenset[str] | None] = {}
"""The names of the fields of dataclasses that have been decoded, and None for other types."""

_EXPECTED = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "object": "an object",
    "str": "text",
}
"""The names of msgspec's types in messages."""


def field_types(kind: type) -> Mapping[str, Any]:
    """Returns the types of the fields of a dataclass, by name; evaluates its annotations only once."""
    if kind not in _FIELD_TYPES:
        _FIELD_TYPES[kind] = get_type_hints(kind)
    return _FIELD_TYPES[kind]


def encode(value: object) -> Any:
    """Returns the JSON-ready form of a dataclass, or of a container of dataclasses."""
    import msgspec  # Slow to import, and not needed for `--help`.

    return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)


def decode_quickly(kind: type[T], text: str) -> T:
    """Reads JSON as `kind` at a fraction of the cost of `decode`, for what this process has written itself:
    fields that are not known are ignored. Raises ValueError if it does not have the types of `kind`.
    """
    import msgspec

    return msgspec.json.decode(text, type=kind)


def decode(kind: type[T], document: object, path: str) -> T:
    """Reads a document as `kind`, a dataclass or any type of its fields; errors call the document `path`.

    Raises PacenoteError with the first field that is unknown, missing or of the wrong type.
    """
    import msgspec  # Slow to import, and not needed for `--help`.

    try:
        value = msgspec.convert(document, kind, dec_hook=_read_path)
    except msgspec.ValidationError as error:
        raise _invalid(error, document, path) from error
    if not _is_exact(value, document):
        for problem in _problems(value, document, path):
            raise problem
    return value


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not a JSON type")


def _read_path(kind: type, value: object) -> object:
    """Reads a path; msgspec leaves it and fields of type `object` to this function."""
    if kind is not Path:
        return value
    if isinstance(value, str):
        return Path(value)
    raise TypeError("Expected `str`")


def _is_exact(value: Any, document: Any) -> bool:
    """Returns whether `_problems` has nothing to yield, several times as fast."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is float:
        return bool(-MAX_NUMBER <= value <= MAX_NUMBER)
    if kind is int:
        return bool(-MAX_INTEGER <= value <= MAX_INTEGER)
    if isinstance(value, tuple):
        return all(map(_is_exact, value, document))
    names = _field_names(kind)
    if names is not None:
        return document.keys() <= names and all(
            _is_exact(getattr(value, name), item) for name, item in document.items()
        )
    if isinstance(value, Mapping):
        item = next(iter(value.values()), None)
        return not dataclasses.is_dataclass(item) or all(
            _is_exact(value[key], document[key]) for key in value
        )
    return True


def _field_names(kind: type) -> frozenset[str] | None:
    """Returns the names of the fields of a dataclass, or None for another type."""
    if kind not in _FIELD_NAMES:
        names = (
            frozenset(field.name for field in dataclasses.fields(kind))
            if dataclasses.is_dataclass(kind)
            else None
        )
        _FIELD_NAMES[kind] = names
    return _FIELD_NAMES[kind]


def _problems(value: object, document: Any, path: str) -> Iterator[PacenoteError]:
    """Yields what msgspec accepts in `document`, decoded as `value`, but this module rejects."""
    if dataclasses.is_dataclass(value):
        names = {field.name for field in dataclasses.fields(value)}
        for key in sorted(str(key) for key in document if key not in names):
            yield PacenoteError(f"{path} has the unknown field '{key}'", hint=_NEWER)
        for name in names & set(document):
            yield from _problems(getattr(value, name), document[name], f"{path}.{name}")
    elif isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _problems(item, document[index], f"{path}[{index}]")
    elif isinstance(value, Mapping):
        # All values have one type; others than dataclasses are of type `object`, or cannot be wrong.
        for key in value if dataclasses.is_dataclass(next(iter(value.values()), None)) else ():
            yield from _problems(value[key], document[key], f"{path}.{key}")
    elif isinstance(value, float) and not math.isfinite(value):
        yield _wrong(path, "a finite number", document)
    elif isinstance(value, float) and abs(value) > MAX_NUMBER:
        yield _wrong(path, f"a number of at most {MAX_NUMBER:g}", document)
    elif isinstance(value, int) and not -MAX_INTEGER <= value <= MAX_INTEGER:
        yield _wrong(path, "a number of at most 64 bits", document)


def _invalid(error: ValidationError, document: Any, path: str) -> PacenoteError:
    """Translates an error such as "Expected `int`, got `str` - at `$.tasks[0].clients`"."""
    text, _, at = str(error).partition(" - at `$")
    at = at.rstrip("`")
    where = f"{path}{at}"
    if match := re.fullmatch(r"Object missing required field `(\w+)`", text):
        return PacenoteError(f"{where} lacks the field '{match[1]}'")
    if text.startswith("Invalid enum value"):
        return PacenoteError(f"{where} has the unknown value {_shown(_value_at(document, at))}", hint=_NEWER)
    if match := re.match(r"Expected `(\w+)", text):
        return _wrong(where, _EXPECTED.get(match[1], match[1]), _value_at(document, at))
    return PacenoteError(f"{where} cannot be read: {text}")


def _value_at(document: Any, at: str) -> object:
    """Returns the value at a path in msgspec's notation, such as `.tasks[0].clients`."""
    for key, index in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", at):
        if index == "...":  # msgspec does not report the key within a mapping
            return document
        document = document[key or int(index)]
    return document


def _wrong(path: str, expected: str, value: object) -> PacenoteError:
    return PacenoteError(f"{path} must be {expected}, not {_shown(value)}")


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text[:_MAX_SHOWN]}…" if len(text) > _MAX_SHOWN else text
