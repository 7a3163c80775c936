"""Parses the operations of a track, named or inline in a task: the same rules apply to both."""

from __future__ import annotations

from collections.abc import Mapping

from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import quoted
from pacenote.model.track import Operation
from pacenote.operations.registry import find_type

_NOT_PARAMS = frozenset({"name", "operation-type"})


def parse_operations(root: FieldReader) -> dict[str, Operation]:
    """Returns the named operations by name; the names are unique."""
    operations: dict[str, Operation] = {}
    for item in root.children("operations"):
        name = item.name("name", is_required=True)
        if name in operations:
            item.problem("name", f"is {quoted(name)}, which is not unique among the operations")
        operations[name] = parse_operation(item, name)
    return operations


def parse_operation(item: FieldReader, name: str = "") -> Operation:
    """Returns one operation; without a name, its name is its type."""
    kind = item.name("operation-type", is_required=True)
    if "type" in item.data and (operation_type := find_type(kind)) is not None and operation_type.searches:
        item.problem("type", "is not supported: engines no longer have mapping types")
    item.flag("run-on-serverless", False)
    item.flag("include-in-reporting", True)
    return Operation(
        name=name or item.name("name") or kind,
        type=kind,
        params={key: value for key, value in item.data.items() if key not in _NOT_PARAMS},
        meta=item.mapping("meta"),
        key_path=item.path,
    )


def parse_task_operation(task: FieldReader, operations: Mapping[str, Operation]) -> Operation:
    """Returns the operation of a task: a named one, an inline one, or a type without parameters."""
    value = task.required("operation")
    if isinstance(value, dict):
        return parse_operation(task.child("operation"))
    name = task.name("operation")
    key_path = (*task.path, "operation")
    return operations.get(name) or Operation(name=name, type=name, key_path=key_path)
