"""The `assertions` of an operation: conditions that its response must meet. A failed assertion ends the
race.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import did_you_mean, quoted, quoted_list
from pacenote.model.problems import preview
from pacenote.model.work import Assertion, Call, CallSequence, Comparison, PagedRequest, Request, TaskWork

PropertyPaths = Mapping[str, tuple[str, ...]]
"""Name of a property, or its prefix up to a dot → the paths to look up in a response."""

SEARCH_PROPERTIES: PropertyPaths = {
    "hits": ("hits.total.value", "hits.total"),
    "hits_relation": ("hits.total.relation",),
    "timed_out": ("timed_out",),
    "took": ("took",),
    "shards.": ("_shards.",),
    "num_reduce_phases": ("num_reduce_phases",),
    "clusters.": ("_clusters.",),
}
"""Properties of a search; if it fetches pages, they refer to the first response."""

_CONDITIONS = tuple(comparison.value for comparison in Comparison)


def read_assertions(params: FieldReader, type_name: str, properties: PropertyPaths) -> tuple[Assertion, ...]:
    """Reads the assertions of an operation of type `type_name`."""
    if not properties:
        params.problem("assertions", f"cannot be checked: {type_name} does not report any properties")
        return ()
    read = (_assertion(item, type_name, properties) for item in params.children("assertions"))
    return tuple(assertion for assertion in read if assertion is not None)


def with_assertions(work: TaskWork, assertions: tuple[Assertion, ...]) -> TaskWork:
    """Returns the work with assertions about its first response."""
    if not assertions or not isinstance(work, CallSequence):
        return work
    return replace(work, calls=(_call_with_assertions(work.calls[0], assertions), *work.calls[1:]))


def _call_with_assertions(call: Call, assertions: tuple[Assertion, ...]) -> Call:
    if isinstance(call, Request):
        return replace(call, assertions=assertions)
    if isinstance(call, PagedRequest):
        return replace(call, first=replace(call.first, assertions=assertions))
    return call


def _assertion(item: FieldReader, type_name: str, properties: PropertyPaths) -> Assertion | None:
    name = item.required_text("property")
    condition = item.required_text("condition")
    value = item.data.get("value")
    if condition and condition not in _CONDITIONS:
        item.problem("condition", f"is {preview(condition)}, but must be one of {', '.join(_CONDITIONS)}")
    if "value" not in item.data:
        item.problem("value", "is missing")
    elif not isinstance(value, str | int | float):
        item.problem("value", f"is {preview(value)}, but must be a number, a string, true or false")
    paths = _paths(name, properties)
    if name and not paths:
        known = [property_name.rstrip(".") for property_name in properties]
        text = f"is {quoted(name)}, which {type_name} does not report{did_you_mean(name, known)}"
        text += f"; it reports {quoted_list(known)}"
        item.problem("property", text)
    if not paths or condition not in _CONDITIONS or not isinstance(value, str | int | float):
        return None
    return Assertion(name, paths, Comparison(condition), value)


def _paths(name: str, properties: PropertyPaths) -> tuple[str, ...]:
    if name in properties:
        return properties[name]
    head, dot, rest = name.partition(".")
    return tuple(path + rest for path in properties.get(head + dot, ())) if dot and rest else ()
