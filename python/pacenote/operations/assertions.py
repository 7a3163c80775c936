"""The `assertions` of an operation: conditions that its response, or its details, must meet. A failed
assertion ends the race.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.model.assertion import Assertion, AssertionOperator
from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import did_you_mean, quoted, quoted_list
from pacenote.model.problems import preview
from pacenote.model.work import BulkWork, Call, CallSequence, PagedRequest, Request, TaskWork

PropertyPaths = Mapping[str, tuple[str, ...]]
"""Name of a property, or its prefix up to a dot → the paths to look up in a response."""


class AssertableProperties(Struct, frozen=True):
    """The properties of an operation that tracks can assert. A name that ends with a dot means all names that
    begin with it.
    """

    in_response: PropertyPaths = field(default_factory=dict)
    """Properties whose values are in the response."""

    in_details: tuple[str, ...] = ()
    """Properties whose values are in the details; an empty name means all names."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names for messages."""
        return tuple(name.rstrip(".") for name in (*self.in_response, *self.in_details) if name)

    def paths(self, name: str) -> tuple[str, ...]:
        """Returns the paths of a property in the response, or none if it is not in the response."""
        if name in self.in_response:
            return self.in_response[name]
        head, dot, rest = name.partition(".")
        return tuple(path + rest for path in self.in_response.get(head + dot, ())) if dot and rest else ()

    def has_detail(self, name: str) -> bool:
        """Returns whether a property is in the details."""
        return any(
            name == known or (name.startswith(known) and (not known or known.endswith(".")))
            for known in self.in_details
        )


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

_CONDITIONS = tuple(comparison.value for comparison in AssertionOperator)


def read_assertions(
    params: FieldReader, type_name: str, properties: AssertableProperties
) -> tuple[Assertion, ...]:
    """Reads the assertions of an operation of type `type_name`."""
    if not properties.in_response and not properties.in_details:
        params.problem("assertions", f"cannot be checked: {type_name} does not report any properties")
        return ()
    read = (_assertion(item, type_name, properties) for item in params.children("assertions"))
    return tuple(assertion for assertion in read if assertion is not None)


def with_assertions(work: TaskWork, assertions: tuple[Assertion, ...]) -> TaskWork:
    """Returns the work with assertions about its first response, or about the details of a bulk.

    Work in Python checks the parameters itself.
    """
    if isinstance(work, BulkWork) and assertions:
        return replace(work, assertions=assertions)
    if not assertions or not isinstance(work, CallSequence):
        return work
    return replace(work, calls=(_call_with_assertions(work.calls[0], assertions), *work.calls[1:]))


def _call_with_assertions(call: Call, assertions: tuple[Assertion, ...]) -> Call:
    if isinstance(call, Request):
        return replace(call, assertions=assertions)
    if isinstance(call, PagedRequest):
        return replace(call, first=replace(call.first, assertions=assertions))
    return call


def _assertion(item: FieldReader, type_name: str, properties: AssertableProperties) -> Assertion | None:
    name = item.required_text("property")
    condition = item.required_text("condition")
    value = item.data.get("value")
    if condition and condition not in _CONDITIONS:
        item.problem("condition", f"is {preview(condition)}, but must be one of {', '.join(_CONDITIONS)}")
    if "value" not in item.data:
        item.problem("value", "is missing")
    elif not isinstance(value, str | int | float):
        item.problem("value", f"is {preview(value)}, but must be a number, a string, true or false")
    in_details = bool(name) and properties.has_detail(name)
    paths = (name,) if in_details else properties.paths(name)
    if name and not paths:
        known = properties.names
        text = f"is {quoted(name)}, which {type_name} does not report{did_you_mean(name, known)}"
        text += f"; it reports {quoted_list(known)}"
        item.problem("property", text)
    if not paths or condition not in _CONDITIONS or not isinstance(value, str | int | float):
        return None
    return Assertion(name, paths, AssertionOperator(condition), value, in_details)
