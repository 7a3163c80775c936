"""The registry of operation types: every module of `operations/types` with an `OPERATION`.

The name of a type is that of its module. Modules of types that no scheduled task needs are not imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable
from functools import cache, lru_cache

import pacenote.operations.types
from pacenote.errors import TrackError
from pacenote.model.messages import did_you_mean, quoted
from pacenote.operations.base import OperationType

_PACKAGE = "pacenote.operations.types"


@cache
def known_types() -> tuple[str, ...]:
    """Returns the names of all built-in operation types, sorted."""
    modules = (module.name for module in pkgutil.iter_modules(pacenote.operations.types.__path__))
    types = (_load(module) for module in modules)
    return tuple(sorted(kind.name for kind in types if kind is not None))


@lru_cache(maxsize=256)
def find_type(name: str) -> OperationType | None:
    """Returns the operation type with this name, or None if there is none."""
    module = name.replace("-", "_")
    if not module.isidentifier() or importlib.util.find_spec(f"{_PACKAGE}.{module}") is None:
        return None
    operation_type = _load(module)
    return operation_type if operation_type is not None and operation_type.name == name else None


def resolve_type(name: str, other_names: Iterable[str] = ()) -> OperationType:
    """Returns the operation type with this name.

    Raises `TrackError` if there is no such type; the message suggests similar types and `other_names`, the
    names of operations of the track.
    """
    operation_type = find_type(name)
    if operation_type is not None:
        return operation_type
    known = (*known_types(), *other_names)
    raise TrackError(
        f"{quoted(name)} is neither an operation of the track nor an operation type"
        f"{did_you_mean(name, known)}",
        hint='define it in "operations", or register the type in the track\'s plug-in, track.py',
    )


def _load(module: str) -> OperationType | None:
    operation = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), "OPERATION", None)
    return operation if isinstance(operation, OperationType) else None
