"""Which operation types there are: every module of this package that holds an `OPERATION`.

A type is looked up by its name, which is the name of its module; modules of types that no scheduled task
needs are never imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Iterable
from functools import cache

import pacenote.operations
from pacenote.errors import TrackError
from pacenote.model.names import near, quoted
from pacenote.operations.base import OperationType

_PACKAGE = "pacenote.operations"

# fmt: off
RALLY_TYPES = frozenset({
    "bulk", "index-stats", "node-stats", "search", "paginated-search", "scroll-search", "composite-agg",
    "raw-request", "composite", "submit-async-search", "get-async-search", "delete-async-search",
    "open-point-in-time", "close-point-in-time", "sql", "field-caps", "esql", "esql-profile", "downsample",
    "wait-for-recovery", "wait-for-snapshot-create", "wait-for-current-snapshots-create", "run-until",
    "force-merge", "cluster-health", "put-pipeline", "refresh", "create-index", "delete-index",
    "create-index-template", "create-composable-template", "create-component-template",
    "delete-index-template", "delete-composable-template", "delete-component-template", "create-data-stream",
    "delete-data-stream", "shrink-index", "create-ml-datafeed", "delete-ml-datafeed", "start-ml-datafeed",
    "stop-ml-datafeed", "create-ml-job", "delete-ml-job", "open-ml-job", "close-ml-job", "sleep",
    "create-snapshot-repository", "delete-snapshot-repository", "create-snapshot", "restore-snapshot",
    "put-settings", "create-transform", "start-transform", "wait-for-transform", "delete-transform",
    "transform-stats", "create-ilm-policy", "delete-ilm-policy", "enrich-policy",
})
# fmt: on
"""Every operation type that Rally has, so that one we do not run yet is told apart from a slip of the pen."""


@cache
def known_types() -> tuple[str, ...]:
    """Names of all operation types that can be run, sorted."""
    modules = (module.name for module in pkgutil.iter_modules(pacenote.operations.__path__))
    found = (_load(module) for module in modules)
    return tuple(sorted(kind.name for kind in found if kind is not None))


def find_type(name: str) -> OperationType | None:
    """The operation type of that name, None if there is none."""
    module = name.replace("-", "_")
    if not module.isidentifier() or importlib.util.find_spec(f"{_PACKAGE}.{module}") is None:
        return None
    kind = _load(module)
    return kind if kind is not None and kind.name == name else None


def resolve_type(name: str, other_names: Iterable[str] = ()) -> OperationType:
    """The operation type of that name.

    `other_names` are names of operations of the track, suggested beside types when nothing is known by that
    name. Raises `TrackError` when there is no such type, with a plain word where Rally has it and we do not
    yet.
    """
    kind = find_type(name)
    if kind is not None:
        return kind
    if name in RALLY_TYPES:
        raise TrackError(
            f"operation type {quoted(name)} is known to Rally but cannot be run by Pacenote yet",
            hint="choose a challenge that does not need it, or leave the task out",
        )
    known = (*known_types(), *other_names)
    raise TrackError(
        f"{quoted(name)} is neither an operation of the track nor an operation type{near(name, known)}",
        hint="operation types written in Python come later",
    )


def _load(module: str) -> OperationType | None:
    kind = getattr(importlib.import_module(f"{_PACKAGE}.{module}"), "OPERATION", None)
    return kind if isinstance(kind, OperationType) else None
