"""Details and assertions of responses: the Python mirror of a part of `crates/plan/src/call.rs`."""

from __future__ import annotations

import enum

from msgspec import Struct


class DetailsKind(enum.Enum):
    """What is kept of a response beside the measurements."""

    SEARCH = "search"
    ESQL = "esql"
    ESQL_PROFILE = "esql_profile"


class AssertionOperator(enum.Enum):
    """The comparison of a value in a response with the expected one."""

    LESS = "<"
    LESS_OR_EQUAL = "<="
    EQUAL = "=="
    GREATER_OR_EQUAL = ">="
    GREATER = ">"


class Assertion(Struct, frozen=True):
    """An assertion of the track about a response; a response that violates it ends the race."""

    property: str
    """The name of the property in the track, for messages."""
    paths: tuple[str, ...]
    """Paths, each of keys joined by dots; the first path with a value is used. Never empty."""
    condition: AssertionOperator
    """The comparison with the expected value."""
    value: str | int | float | bool
    """The expected value."""
    in_details: bool = False
    """Whether the paths are those of the details, where a path may also be a single key with dots."""
