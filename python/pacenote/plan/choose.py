"""Who carries out an operation: a built-in type, or what the track's plug-ins registered in Python."""

from __future__ import annotations

import math
from dataclasses import replace

from pacenote.errors import TrackError
from pacenote.model.names import near, quoted
from pacenote.model.plugin_names import PluginNames
from pacenote.model.track import Operation, Task, Track
from pacenote.model.work import Lane, Supplied
from pacenote.operations.base import Compiled, OperationType
from pacenote.operations.registry import resolve_type
from pacenote.units import OPS

_PARAM_SOURCE = "param-source"

FILE_READER = "file-reader"
"""The name under which the source of bulk operations can be chosen, too."""

_AHEAD = 64
"""Operations per client that a source may be ahead: enough for bursts, little to keep in memory."""

_AHEAD_BULK = 4
"""The same for bulks, whose bodies have megabytes."""

_AHEAD_S = 1.0
"""How long a source may be ahead of a rate: what it says of the present time should still be true then."""


class UnknownName(TrackError):
    """An operation names something that neither we nor the plug-ins know; `key` is where in the operation."""

    def __init__(self, message: str, key: tuple[str, ...] = (), *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.key = key


def choose(operation: Operation, plugins: PluginNames, track: Track) -> OperationType | Compiled:
    """The type that compiles an operation, or what it became if Python supplies or carries it out.

    Raises `UnknownName`.
    """
    source = _source_of(operation, plugins)
    if operation.type in plugins.runners:
        # It takes the place of a built-in type of that name.
        return Compiled(Lane(), weight=_weight(operation), finite=True)
    try:
        others = (*(other.name for other in track.operations), *plugins.runners)
        kind = resolve_type(operation.type, others)
    except TrackError as cause:
        raise UnknownName(cause.message, hint=cause.hint) from cause
    if not source:
        return kind
    if source == FILE_READER and source not in plugins.param_sources:
        if kind.name == "bulk":
            return kind
        text = f"is {quoted(FILE_READER)}, which reads documents for bulk operations, not for {kind.name}"
        raise UnknownName(text, (_PARAM_SOURCE,))
    if kind.run is not None:
        return Compiled(Lane(), finite=True)
    bulk = kind.name == "bulk"
    ahead = _AHEAD_BULK if bulk else _AHEAD
    return Compiled(Supplied(ahead), weight=_weight(operation) if bulk else 1, unit=kind.unit, finite=True)


def weighs_itself(task: Task, compiled: Compiled) -> bool:
    """Whether a rate is in work of which only Python knows, while it runs, how much an operation does."""
    rate = task.target_throughput
    if rate is None or rate.unit == OPS or rate.unit != compiled.unit:
        return False
    return isinstance(compiled.work, Lane | Supplied) and not _size(task.operation)


def paced(task: Task, compiled: Compiled) -> Compiled:
    """An operation of Python's in a task with a rate: in the unit of the rate, and no longer ahead of it than
    is of use.
    """
    compiled = _in_unit_of(task, compiled)
    interval_s = task.target_interval
    if task.target_throughput is not None:
        per_operation = compiled.weight if task.target_throughput.unit == compiled.unit else 1
        interval_s = per_operation / task.target_throughput.value
    if not interval_s or not isinstance(compiled.work, Supplied):
        return compiled
    ahead = min(compiled.work.ahead, 1 + math.ceil(_AHEAD_S / (interval_s * task.clients)))
    return replace(compiled, work=Supplied(ahead))


def _in_unit_of(task: Task, compiled: Compiled) -> Compiled:
    """What Python says only while it runs, taken from the target rate of the task: the unit of its work."""
    free = isinstance(compiled.work, Lane) or (
        isinstance(compiled.work, Supplied) and compiled.unit == "docs"
    )
    rate = task.target_throughput
    if not free or rate is None or rate.unit == OPS:
        return compiled
    return replace(compiled, unit=rate.unit)


def _source_of(operation: Operation, plugins: PluginNames) -> str:
    """The name of its parameter source, empty if the track's own parameters are used."""
    source = operation.params.get(_PARAM_SOURCE)
    if source is None:
        return ""
    if isinstance(source, str) and (source in plugins.param_sources or source == FILE_READER):
        return source
    known = (*plugins.param_sources, FILE_READER)
    name = str(source)
    raise UnknownName(
        f"is {quoted(name)}, which no plug-in of the track registers{near(name, known)}", (_PARAM_SOURCE,)
    )


def _weight(operation: Operation) -> int:
    """The documents of a bulk, as far as its parameters tell."""
    return _size(operation) or 1


def _size(operation: Operation) -> int:
    size = operation.params.get("bulk-size")
    return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else 0
