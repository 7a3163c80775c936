"""Resolves operations to a built-in type, or to code that the plug-ins of the track registered."""

from __future__ import annotations

from pacenote.errors import TrackError
from pacenote.model.messages import did_you_mean, quoted
from pacenote.model.plugin_names import PluginNames
from pacenote.model.problems import KeyPath
from pacenote.model.track import Operation, Track
from pacenote.model.work import PythonRunner, PythonSource
from pacenote.operations.base import CompiledOperation, OperationType
from pacenote.operations.registry import resolve_type
from pacenote.plan.pacing import declared_bulk_size

_PARAM_SOURCE = "param-source"

FILE_READER = "file-reader"
"""Rally's name for the built-in source of bulk operations."""

_QUEUE_DEPTH = 64
"""Operations per client that a source may run ahead: enough for bursts at a low cost of memory."""

_BULK_QUEUE_DEPTH = 4
"""Operations per client that a source of bulks may run ahead: their bodies may be megabytes long."""


class UnknownOperation(TrackError):
    """An operation names a type or parameter source that neither Pacenote nor the plug-ins of the track have.

    `key_path` is the path of the key within the operation, or empty for the operation as a whole.
    """

    def __init__(self, message: str, key_path: KeyPath = (), *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.key_path = key_path


def resolve_operation(
    operation: Operation, plugins: PluginNames, track: Track
) -> OperationType | CompiledOperation:
    """Returns the type that compiles an operation, or the compiled operation if Python supplies or runs it.

    Raises `UnknownOperation`.
    """
    source = _param_source(operation, plugins)
    if operation.type in plugins.runners:
        # A runner of a plug-in replaces the built-in type of the same name.
        return CompiledOperation(PythonRunner(), weight=_weight(operation), until_exhausted=True)
    try:
        others = (*(other.name for other in track.operations), *plugins.runners)
        operation_type = resolve_type(operation.type, others)
    except TrackError as cause:
        raise UnknownOperation(cause.message, hint=cause.hint) from cause
    if not source:
        return operation_type
    if source == FILE_READER and source not in plugins.param_sources:
        if operation_type.indexes_documents:
            return operation_type
        name = operation_type.name
        text = f"is {quoted(FILE_READER)}, which reads documents for bulk operations, not for {name}"
        raise UnknownOperation(text, (_PARAM_SOURCE,))
    if operation_type.run is not None:
        return CompiledOperation(PythonRunner(), unit=operation_type.unit, until_exhausted=True)
    if operation_type.indexes_documents:
        work = PythonSource(_BULK_QUEUE_DEPTH)
        return CompiledOperation(
            work, weight=_weight(operation), unit=operation_type.unit, until_exhausted=True
        )
    return CompiledOperation(PythonSource(_QUEUE_DEPTH), unit=operation_type.unit, until_exhausted=True)


def _param_source(operation: Operation, plugins: PluginNames) -> str:
    """Returns the name of the parameter source, or an empty string if the parameters of the track are
    used.
    """
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
    """Returns the number of documents of a bulk if its parameters specify it, else 1."""
    return declared_bulk_size(operation) or 1
