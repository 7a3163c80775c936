"""The fields that the requests of a race map: those of its indices, templates and mappings.

They are counted as the engine counts them: objects and fields of fields are fields, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

from pacenote.model.decoding import parse_json

_MOST_FIELDS = 100_000
"""Largest number of fields of a body that are counted: engines accept a thousand by default."""

_MOST_LEVELS = 50
"""Largest number of objects in each other that are read: engines accept 20 by default."""

_MOST_NAMES = 1_000
"""Largest number of templates and patterns that are compared with the name of an index."""

_Fields = frozenset[str]
_NONE: _Fields = frozenset()


@dataclass(frozen=True, slots=True)
class CreatedIndices:
    """The indices that a race has created, as far as their names are known."""

    names: tuple[str, ...]
    """Their names; of a data stream, its own."""

    count: int
    """Number of all of them."""


def mapped_fields(plan: object, created: CreatedIndices) -> float:
    """Returns how many fields the requests of a plan document map in the indices that the race has created.
    Those without a known name have as many as the mean of the known ones that templates apply to.
    """
    requests = _Mappings()
    for request in _requests(plan):
        requests.add(request)
    fields = {name: len(requests.of_index(name)) for name in created.names}
    named = sum(count for name, count in fields.items() if name in requests.indices)
    others = [count for name, count in fields.items() if name not in requests.indices]
    unnamed = created.count - (len(fields) - len(others))
    return named + (sum(others) / len(others) * max(unnamed, len(others)) if others else 0.0)


@dataclass(frozen=True, slots=True)
class _Template:
    """A template of indices."""

    patterns: tuple[str, ...]
    priority: float
    fields: _Fields
    components: tuple[str, ...]

    def matches(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)


@dataclass(slots=True)
class _Mappings:
    """What requests map."""

    indices: dict[str, _Fields] = field(default_factory=dict)
    legacy: dict[str, _Template] = field(default_factory=dict)
    composable: dict[str, _Template] = field(default_factory=dict)
    components: dict[str, _Fields] = field(default_factory=dict)

    def add(self, request: Mapping[str, Any]) -> None:
        """Adds what a request maps, if it maps anything."""
        first, *rest = [unquote(part) for part in _path(request).split("/")]
        body = _body(request)
        if not rest and not first.startswith("_"):
            self._map(first, body.get("mappings"))
        elif len(rest) == 1 and rest[0] == "_mapping":
            self._map(first, body)
        elif len(rest) == 1 and first == "_component_template":
            self.components[rest[0]] = _fields(_mapping(body.get("template")).get("mappings"))
        elif len(rest) == 1 and first == "_index_template":
            mappings = _mapping(body.get("template")).get("mappings")
            self.composable[rest[0]] = _template(body, body.get("priority"), mappings)
        elif len(rest) == 1 and first == "_template":
            self.legacy[rest[0]] = _template(body, body.get("order"), body.get("mappings"))

    def _map(self, names: str, mappings: object) -> None:
        for name in names.split(","):
            self.indices[name] = self.indices.get(name, _NONE) | _fields(mappings)

    def of_index(self, name: str) -> _Fields:
        """Returns the fields of an index: its own, and those of the composable template with the highest
        priority or, without one, of all legacy templates that match.
        """
        own = self.indices.get(name, _NONE)
        matching = [each for each in list(self.composable.values())[:_MOST_NAMES] if each.matches(name)]
        if matching:
            template = max(matching, key=lambda each: each.priority)
            parts = (self.components.get(each, _NONE) for each in template.components)
            return own.union(template.fields, *parts)
        legacy = (each.fields for each in list(self.legacy.values())[:_MOST_NAMES] if each.matches(name))
        return own.union(*legacy)


def _requests(plan: object) -> Iterator[Mapping[str, Any]]:
    """Yields the requests of a plan that can map fields, wherever they are in the work of a task."""
    tasks = _mapping(plan).get("tasks")
    waiting = [_mapping(task).get("work") for task in reversed(tasks)] if isinstance(tasks, list) else []
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting += reversed(part)
        elif isinstance(part, Mapping):
            if part.get("kind") == "request" and part.get("method") in ("PUT", "POST"):
                yield part
            waiting += reversed(tuple(part.values()))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _path(request: Mapping[str, Any]) -> str:
    return str(request.get("path")).partition("?")[0].strip("/")


def _body(request: Mapping[str, Any]) -> Mapping[str, Any]:
    body = request.get("body")
    if not isinstance(body, str) or ('"properties"' not in body and '"composed_of"' not in body):
        return {}
    try:
        return _mapping(parse_json(body))
    except ValueError:
        return {}  # Such as the lines of a bulk.


def _template(body: Mapping[str, Any], priority: object, mappings: object) -> _Template:
    return _Template(
        _texts(body.get("index_patterns")),
        float(priority) if isinstance(priority, int | float) else 0.0,
        _fields(mappings),
        _texts(body.get("composed_of")),
    )


def _texts(value: object) -> tuple[str, ...]:
    found = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(text for text in found[:_MOST_NAMES] if isinstance(text, str))


def _fields(mappings: object) -> _Fields:
    """Returns the paths of the fields of mappings, which old versions have below the name of a type."""
    top = _mapping(mappings)
    if "properties" not in top:
        top = next((each for each in map(_mapping, top.values()) if "properties" in each), {})
    found = set[str]()
    waiting: list[tuple[str, int, Mapping[str, Any]]] = [("", 0, top)]
    while waiting and len(found) < _MOST_FIELDS:
        prefix, level, parent = waiting.pop()
        for name, value in _below(parent):
            path = f"{prefix}{name}"
            if "type" in value or "properties" in value:
                found.update(_with_objects(prefix, name))
            if level < _MOST_LEVELS:
                waiting.append((f"{path}.", level + 1, value))
    return frozenset(found)


def _below(parent: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for key in ("properties", "fields"):
        for name, value in _mapping(parent.get(key)).items():
            if isinstance(value, Mapping):
                yield name, value


def _with_objects(prefix: str, name: str) -> Iterator[str]:
    """Yields the path of a field, and of the objects that dots in its name stand for."""
    parts = name.split(".", _MOST_LEVELS)
    for number in range(1, len(parts) + 1):
        yield f"{prefix}{'.'.join(parts[:number])}"
