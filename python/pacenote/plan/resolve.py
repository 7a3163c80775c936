"""Who carries out an operation: a built-in type, or what the track's plug-ins registered in Python."""

from __future__ import annotations

from pacenote.errors import TrackError
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.plugin_names import PluginNames
from pacenote.model.track import Operation, Track
from pacenote.model.work import PythonRunner, PythonSource
from pacenote.operations.base import CompiledOperation, OperationType
from pacenote.operations.registry import resolve_type
from pacenote.plan.pacing import declared_bulk_size

_PARAM_SOURCE = "param-source"

FILE_READER = "file-reader"
"""The name under which the source of bulk operations can be chosen, too."""

_AHEAD = 64
"""Operations per client that a source may be ahead: enough for bursts, little to keep in memory."""

_AHEAD_BULK = 4
"""The same for bulks, whose bodies have megabytes."""


class UnknownOperation(TrackError):
    """An operation names something that neither we nor the plug-ins know; `key` is where in the operation."""

    def __init__(self, message: str, key: tuple[str, ...] = (), *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.key = key


def resolve_operation(
    operation: Operation, plugins: PluginNames, track: Track
) -> OperationType | CompiledOperation:
    """The type that compiles an operation, or what it became if Python supplies or carries it out.

    Raises `UnknownOperation`.
    """
    source = _source_of(operation, plugins)
    if operation.type in plugins.runners:
        # It takes the place of a built-in type of that name.
        return CompiledOperation(PythonRunner(), weight=_weight(operation), finite=True)
    try:
        others = (*(other.name for other in track.operations), *plugins.runners)
        kind = resolve_type(operation.type, others)
    except TrackError as cause:
        raise UnknownOperation(cause.message, hint=cause.hint) from cause
    if not source:
        return kind
    if source == FILE_READER and source not in plugins.param_sources:
        if kind.name == "bulk":
            return kind
        text = f"is {quoted(FILE_READER)}, which reads documents for bulk operations, not for {kind.name}"
        raise UnknownOperation(text, (_PARAM_SOURCE,))
    if kind.run is not None:
        return CompiledOperation(PythonRunner(), finite=True)
    bulk = kind.name == "bulk"
    ahead = _AHEAD_BULK if bulk else _AHEAD
    return CompiledOperation(
        PythonSource(ahead), weight=_weight(operation) if bulk else 1, unit=kind.unit, finite=True
    )


def _source_of(operation: Operation, plugins: PluginNames) -> str:
    """The name of its parameter source, empty if the track's own parameters are used."""
    source = operation.params.get(_PARAM_SOURCE)
    if source is None:
        return ""
    if isinstance(source, str) and (source in plugins.param_sources or source == FILE_READER):
        return source
    known = (*plugins.param_sources, FILE_READER)
    name = str(source)
    raise UnknownOperation(
        f"is {quoted(name)}, which no plug-in of the track registers{did_you_mean(name, known)}",
        (_PARAM_SOURCE,),
    )


def _weight(operation: Operation) -> int:
    """The documents of a bulk, as far as its parameters tell."""
    return declared_bulk_size(operation) or 1
