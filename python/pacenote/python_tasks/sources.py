"""Parameter sources: built when their step begins, partitioned for each client, called for each operation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pacenote.errors import TrackError
from pacenote.model.messages import quoted
from pacenote.model.problems import describe_value
from pacenote.plugins.plugin_registry import PluginRegistry
from pacenote.plugins.rally_api import track as rally
from pacenote.plugins.rally_api.request_sources import DelegatingParamSource
from pacenote.plugins.rally_api.type_sources import ConstantParamSource, source_of_type


def build_source(registry: PluginRegistry, track: rally.Track, task: rally.Task) -> Any:
    """Returns the source of a task, before it is partitioned. Raises any error of the plug-in."""
    operation = task.operation
    params = operation.params if operation.params is not None else {}
    name = operation.param_source
    if not name or name not in registry.param_sources:
        replaced = operation.type in registry.runners
        source_class = source_of_type(operation.type) if replaced else ConstantParamSource
        return source_class(track, params, operation_name=task.name)
    source = registry.param_sources[name]
    named = _accepted_arguments(source, {"operation_name": task.name})
    if inspect.isfunction(source):
        return DelegatingParamSource(track, params, source, **named)
    return source(track, params, **named)


def partition(source: Any, client: int, clients: int) -> Any:
    """Returns the source of one client.

    Raises `TrackError` if it is not a source, and any error of the plug-in.
    """
    split = getattr(source, "partition", None)
    if not callable(split):
        return source
    part = split(client, clients)
    if not callable(getattr(part, "params", None)):
        raise TrackError(
            f"returned {describe_value(part)} from partition(), but must return a source with params()"
        )
    return part


def is_endless(source: Any) -> bool:
    """Returns whether a source is endless, according to its `infinite`, or to the `size` of older sources."""
    infinite = getattr(source, "infinite", None)
    if infinite is not None:
        return bool(infinite)
    size = getattr(source, "size", None)
    return not callable(size) or size() is None


def next_params(source: Any) -> Mapping[str, Any] | None:
    """Returns the parameters of the next operation, None at the end.

    Raises `TrackError` if the source does not return a dictionary, and any error of the plug-in.
    """
    try:
        params = source.params()
    except StopIteration:
        return None
    if not isinstance(params, Mapping):
        raise TrackError(f"returned {describe_value(params)}, but must return a dictionary of parameters")
    return params


def source_name(task: rally.Task) -> str:
    """Returns the name of a task's source for messages."""
    name = task.operation.param_source
    return f"parameter source {quoted(name)}" if name else f"parameters of {quoted(task.operation.name)}"


def _accepted_arguments(source: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Returns the named arguments that the source accepts."""
    try:
        parameters = inspect.signature(source).parameters
    except (TypeError, ValueError):
        return {}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return named
    return {name: value for name, value in named.items() if name in parameters}
