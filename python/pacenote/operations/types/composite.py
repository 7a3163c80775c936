"""`composite`: runs operations within an operation, in sequence or in concurrent streams.

An operation waits for the streams before it. Each inner operation is also recorded under its own name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import did_you_mean, quoted, quoted_list
from pacenote.model.work import (
    Call,
    CallSequence,
    Composite,
    CompositeItem,
    OperationStream,
    Sleep,
    SubOperation,
    Wait,
)
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.compile import compile_params
from pacenote.operations.registry import find_type, known_types


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    params.required("requests")
    if context.captures is None:
        context = replace(context, captures=frozenset(_captured_names(params.data.get("requests"))))
    items = _items(params, "requests", context)
    connections = params.integer("max-connections", 1)
    return CompiledOperation(CallSequence((Composite(items, max_connections=connections),)))


def _items(params: FieldReader, key: str, context: CompileContext) -> tuple[CompositeItem, ...]:
    return tuple(_item(item, context) for item in params.children(key))


def _item(item: FieldReader, context: CompileContext) -> CompositeItem:
    if "stream" in item.data:
        return OperationStream(_items(item, "stream", context))
    value = item.data.get("operation-type")
    type_name = str(value)
    name = item.name("name") or type_name
    operation_type = find_type(type_name)
    if operation_type is None or not operation_type.composable:
        item.problem("operation-type", _not_composable(value))
        return SubOperation(name, type_name, ())
    work = compile_params(operation_type, item, context).work
    if isinstance(work, Sleep):
        waits: tuple[Call, ...] = (Wait(work.seconds),)
        return SubOperation(name, type_name, waits)
    assert isinstance(work, CallSequence), "no inner type runs in Python"
    return SubOperation(name, type_name, work.calls, work.retry)


def _not_composable(value: Any) -> str:
    if value is None:
        return "is missing, and there is no stream"
    types = (name for name in known_types() if (kind := find_type(name)) is not None and kind.composable)
    known = tuple(types)
    text = f"is {quoted(str(value))}, but must be one of {quoted_list(known)}"
    return text + did_you_mean(str(value), known)


def _captured_names(items: Any) -> Iterator[str]:
    """Yields the names of all values that inner operations capture, at any depth."""
    for item in items if isinstance(items, list | tuple) else ():
        if not isinstance(item, Mapping):
            continue
        operation_type = find_type(str(item.get("operation-type")))
        if operation_type is not None and operation_type.captures:
            yield str(item.get("name"))
        yield from _captured_names(item.get("stream"))
        yield from _captured_names(item.get("requests"))


OPERATION = OperationType(
    name="composite", compile=_compile, may_create_indices=True, may_change_documents=True, composable=True
)
