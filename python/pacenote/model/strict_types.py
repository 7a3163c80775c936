"""Types with which msgspec, while it reads JSON, rejects all that `codec.decode` rejects.

They are for documents of which only a part is needed, but which must be correct.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pacenote.model.codec import MAX_NUMBER

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
"""The integers that msgspec can limit."""


def strict_fields(kind: type) -> list[tuple[str, Any] | tuple[str, Any, None]]:
    """Returns the fields of a dataclass for `msgspec.defstruct`: names, strict types, and None as the default
    of those that have one.
    """
    types = get_type_hints(kind)
    return [
        (field.name, strict_type(types[field.name]), None)
        if _is_optional(field)
        else (field.name, strict_type(types[field.name]))
        for field in dataclasses.fields(kind)
    ]


def strict_type(kind: Any) -> Any:
    """Returns the type of the same JSON as `kind`, a dataclass or any type of its fields.

    It has structs instead of dataclasses, which reject unknown fields. It also rejects integers above
    2**63 - 1, of which `codec.decode` accepts some. Raises TypeError for containers that records do not have.
    """
    from msgspec import Meta  # Slow to import, and not needed for `--help`.

    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _strict_struct(kind)
    if kind is int:
        return Annotated[int, Meta(ge=_SMALLEST, le=_LARGEST)]
    if kind is float:
        return Annotated[float, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER)]
    if kind is Path:
        return str
    if kind is object:
        return Any
    arguments = get_args(kind)
    if get_origin(kind) in (Union, UnionType):
        return Union[tuple(map(strict_type, arguments))]  # noqa: UP007  # of a tuple
    if get_origin(kind) is tuple:
        return tuple[tuple(item if item is ... else strict_type(item) for item in arguments)]  # type: ignore[misc]
    if get_origin(kind) is Mapping:
        return dict[tuple(map(strict_type, arguments))]  # type: ignore[misc]
    if get_origin(kind) not in (None, Literal):
        raise TypeError(f"no strict type is known for {kind}")
    return kind


@functools.cache
def _strict_struct(kind: type) -> type:
    from msgspec import defstruct

    return defstruct(kind.__name__, strict_fields(kind), kw_only=True, forbid_unknown_fields=True)


def _is_optional(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
