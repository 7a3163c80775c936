"""Frozen dataclasses to JSON documents and back, strictly.

A document that crosses a door (driver to Python, disk to Python) is either exactly what the types say or an
error that names the place: unknown fields, missing fields and wrong types are refused. Understood types:
`str`, `int`, `float`, `bool`, `T | None`, `Literal`, `tuple[T, ...]`, `Mapping[str, T]`, `object` (taken as
it is) and frozen dataclasses of these. A field with a default may be missing.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pacenote.errors import PacenoteError

T = TypeVar("T")


def encode(value: object) -> Any:
    """The JSON-ready form of a dataclass, or of a container of them."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    return value


def decode(kind: type[T], document: object, place: str) -> T:
    """Reads a document as dataclass `kind`; `place` is how an error calls it.

    Raises PacenoteError naming the first field that is unknown, missing or of the wrong type.
    """
    if not isinstance(document, Mapping):
        raise _wrong(place, "an object", document)
    fields = dataclasses.fields(cast(Any, kind))
    unknown = sorted(str(key) for key in document if key not in {field.name for field in fields})
    if unknown:
        raise PacenoteError(
            f"{place} has the unknown field '{unknown[0]}'",
            hint="it was probably written by a newer Pacenote",
        )
    types_of = hints(cast(Any, kind))
    values: dict[str, Any] = {}
    for field in fields:
        if field.name in document:
            values[field.name] = decode_value(
                types_of[field.name], document[field.name], f"{place}.{field.name}"
            )
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise PacenoteError(f"{place} lacks the field '{field.name}'")
    return kind(**values)


def decode_value(hint: Any, value: object, place: str) -> Any:
    """Reads one value as the type `hint`; see `decode`."""
    if hint is object:
        return value
    if dataclasses.is_dataclass(hint):
        return decode(cast(type[Any], hint), value, place)
    origin = get_origin(hint)
    if origin is None:
        return _scalar(hint, value, place)
    return _generic(origin, get_args(hint), value, place)


@functools.cache
def hints(kind: type[Any]) -> dict[str, Any]:
    """The resolved type of every field; kept, because resolving strings is slow."""
    return get_type_hints(kind)


def _generic(origin: Any, arguments: tuple[Any, ...], value: object, place: str) -> Any:
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        return decode_value(next(hint for hint in arguments if hint is not type(None)), value, place)
    if origin is Literal:
        if value not in arguments:
            raise _wrong(place, " or ".join(repr(choice) for choice in arguments), value)
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise _wrong(place, "a list", value)
        return tuple(decode_value(arguments[0], item, f"{place}[{at}]") for at, item in enumerate(value))
    if not isinstance(value, Mapping):
        raise _wrong(place, "an object", value)
    return {str(key): decode_value(arguments[1], item, f"{place}.{key}") for key, item in value.items()}


def _scalar(hint: Any, value: object, place: str) -> Any:
    # JSON has one number type and `bool` is an `int` in Python: both need a word said explicitly.
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value):
            raise _wrong(place, "a finite number", value)
        return float(value)
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    if hint in (str, bool) and isinstance(value, hint):
        return value
    raise _wrong(
        place, {float: "a number", int: "a whole number", str: "text", bool: "true or false"}[hint], value
    )


def _wrong(place: str, expected: str, value: object) -> PacenoteError:
    shown = repr(value)
    return PacenoteError(f"{place} must be {expected}, not {shown[:60] + '…' if len(shown) > 60 else shown}")
