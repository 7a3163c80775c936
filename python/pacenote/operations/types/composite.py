"""`composite`: runs operations within an operation, in sequence or in concurrent streams.

An operation waits for the streams before it. Each inner operation is also recorded under its own name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

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
from pacenote.operations.registry import resolve_type

_INNER_TYPES = (
    "composite",
    "open-point-in-time",
    "close-point-in-time",
    "search",
    "paginated-search",
    "composite-agg",
    "raw-request",
    "sleep",
    "submit-async-search",
    "get-async-search",
    "delete-async-search",
    "field-caps",
)

_CAPTURING_TYPES = ("open-point-in-time", "submit-async-search")


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
    kind = item.data.get("operation-type")
    name = item.text("name") or str(kind)
    if kind not in _INNER_TYPES:
        text = "is missing, and there is no stream" if kind is None else f"is {quoted(str(kind))}"
        known = f", but must be one of {quoted_list(_INNER_TYPES)}{did_you_mean(str(kind), _INNER_TYPES)}"
        item.problem("operation-type", text if kind is None else text + known)
        return SubOperation(name, str(kind), ())
    work = compile_params(resolve_type(kind), item, context).work
    if isinstance(work, Sleep):
        waits: tuple[Call, ...] = (Wait(work.seconds),)
        return SubOperation(name, kind, waits)
    assert isinstance(work, CallSequence), "no inner type runs in Python"
    return SubOperation(name, kind, work.calls, work.retry)


def _captured_names(items: Any) -> Iterator[str]:
    """Yields the names of all values that inner operations capture, at any depth."""
    for item in items if isinstance(items, list | tuple) else ():
        if not isinstance(item, Mapping):
            continue
        if item.get("operation-type") in _CAPTURING_TYPES:
            yield str(item.get("name"))
        yield from _captured_names(item.get("stream"))
        yield from _captured_names(item.get("requests"))


OPERATION = OperationType(name="composite", compile=_compile)
