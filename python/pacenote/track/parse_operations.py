"""Operations of a track, named ones and those written into a task: the same rules for both."""

from __future__ import annotations

from collections.abc import Mapping

from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import quoted
from pacenote.model.track import Operation

_OWN_KEYS = frozenset({"name", "operation-type"})
_SEARCHES = frozenset({"search", "paginated-search", "scroll-search", "composite-agg"})


def parse_operations(root: FieldReader) -> dict[str, Operation]:
    """The named operations by name; the names are unique."""
    operations: dict[str, Operation] = {}
    for item in root.children("operations"):
        name = item.required_text("name")
        if name in operations:
            item.problem("name", f"is {quoted(name)} for the second time, names of operations are unique")
        operations[name] = parse_operation(item, name)
    return operations


def parse_operation(item: FieldReader, name: str = "") -> Operation:
    """One operation; without a name it is called by its type."""
    kind = item.required_text("operation-type")
    if kind in _SEARCHES and "type" in item.data:
        item.problem("type", "is not supported: no engine has mapping types any more")
    item.flag("run-on-serverless", False)
    item.flag("include-in-reporting", True)
    return Operation(
        name=name or item.text("name") or kind,
        type=kind,
        params={key: value for key, value in item.data.items() if key not in _OWN_KEYS},
        meta=item.mapping("meta"),
        key_path=item.path,
    )


def parse_task_operation(task: FieldReader, operations: Mapping[str, Operation]) -> Operation:
    """The operation of a task: one of the track by name, one written out, or a bare type without
    parameters.
    """
    value = task.required("operation")
    if isinstance(value, dict):
        return parse_operation(task.child("operation"))
    name = task.text("operation")
    place = (*task.path, "operation")
    return operations.get(name) or Operation(name=name, type=name, key_path=place)
