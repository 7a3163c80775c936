"""The fields that the requests of a race map: those of its indices, templates and mappings.

They are counted as the engine counts them: objects and fields of fields are fields, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from urllib.parse import unquote

from msgspec import Struct, field

from pacenote.model.decoding import parse_json

_MOST_FIELDS = 100_000
"""Largest number of fields of a body that are counted: engines accept a thousand by default."""

_MOST_LEVELS = 50
"""Largest number of objects in each other that are read: engines accept 20 by default."""

_MOST_PATTERNS = 1_000
"""Largest number of patterns that are compared with the name of an index: those of all requests together,
because another user may have written the plan.
"""

_MOST_INDICES = 100
"""Largest number of indices whose fields are counted; the others are taken to be like them."""

_MOST_NAMES = 1_000
"""Largest number of names in a list of a request."""

_KEYS = ("properties", "composed_of", "index_patterns")
"""Keys of the bodies that map fields: even a template without any takes the place of others."""

_Fields = frozenset[str]
_NONE: _Fields = frozenset()


class CreatedIndices(Struct, frozen=True):
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
    fields = {name: len(requests.of_index(name)) for name in created.names[:_MOST_INDICES]}
    named = sum(count for name, count in fields.items() if name in requests.indices)
    others = [count for name, count in fields.items() if name not in requests.indices]
    unnamed = created.count - (len(fields) - len(others))
    return named + (sum(others) / len(others) * max(unnamed, len(others)) if others else 0.0)


class _Pattern:
    """A pattern of names of indices, in which only `*` has a meaning."""

    def __init__(self, text: str) -> None:
        self._first, *rest = text.split("*")
        self._last = rest.pop() if rest else None
        self._middle = [part for part in rest if part]

    def matches(self, name: str) -> bool:
        if self._last is None or not name.startswith(self._first):
            return name == self._first
        at = len(self._first)
        for part in self._middle:
            place = name.find(part, at)
            if place < 0:
                return False
            at = place + len(part)
        return name.endswith(self._last) and len(name) - len(self._last) >= at


class _Template(Struct, frozen=True):
    """A template of indices."""

    patterns: tuple[_Pattern, ...]
    priority: float
    fields: _Fields
    components: tuple[str, ...]

    def matches(self, name: str) -> bool:
        return any(pattern.matches(name) for pattern in self.patterns)


class _Targets(Struct, frozen=True):
    """The existing indices in which a request maps fields: `-` leaves out some that earlier parts name."""

    parts: tuple[tuple[bool, _Pattern], ...]
    fields: _Fields

    def matches(self, name: str) -> bool:
        matching = (is_included for is_included, pattern in reversed(self.parts) if pattern.matches(name))
        return next(matching, False)


class _Mappings(Struct):
    """What requests map."""

    indices: dict[str, list[_Fields]] = field(default_factory=dict)
    targets: list[_Targets] = field(default_factory=list)
    legacy: dict[str, _Template] = field(default_factory=dict)
    composable: dict[str, _Template] = field(default_factory=dict)
    components: dict[str, _Fields] = field(default_factory=dict)
    patterns_left: int = _MOST_PATTERNS

    def add(self, request: Mapping[str, Any]) -> None:
        """Adds what a request maps, if it maps anything."""
        first, *rest = [unquote(part) for part in _path(request).split("/")]
        body = _body(request)
        if not body:
            return
        if not rest and not first.startswith("_"):
            self.indices.setdefault(first, []).append(_fields(body.get("mappings")))
        elif rest and rest[0] in ("_mapping", "_mappings"):
            self._map(first.split(",", _MOST_NAMES)[:_MOST_NAMES], _fields(body))
        elif len(rest) == 1 and first == "_component_template":
            self.components[rest[0]] = _fields(_mapping(body.get("template")).get("mappings"))
        elif len(rest) == 1 and first == "_index_template":
            mappings = _mapping(body.get("template")).get("mappings")
            self.composable[rest[0]] = self._template(body, body.get("priority"), mappings)
        elif len(rest) == 1 and first == "_template":
            self.legacy[rest[0]] = self._template(body, body.get("order"), body.get("mappings"))

    def _map(self, names: Sequence[str], fields: _Fields) -> None:
        """Adds what a request maps in existing indices, by their names or by patterns."""
        if "_all" not in names and not any("*" in name for name in names):
            for name in names:
                self.indices.setdefault(name, []).append(fields)
            return
        patterns = self._patterns("*" if name == "_all" else name.removeprefix("-") for name in names)
        is_included = [not name.startswith("-") for name in names]
        self.targets.append(_Targets(tuple(zip(is_included, patterns, strict=False)), fields))

    def _template(self, body: Mapping[str, Any], priority: object, mappings: object) -> _Template:
        return _Template(
            self._patterns(_texts(body.get("index_patterns"))),
            priority if isinstance(priority, int | float) else 0,
            _fields(mappings),
            tuple(dict.fromkeys(_texts(body.get("composed_of")))),
        )

    def _patterns(self, texts: Iterable[str]) -> tuple[_Pattern, ...]:
        patterns = tuple(map(_Pattern, islice(texts, self.patterns_left)))
        self.patterns_left -= len(patterns)
        return patterns

    def of_index(self, name: str) -> _Fields:
        """Returns the fields of an index: its own, and those of the composable template with the highest
        priority or, without one, of all legacy templates that match.
        """
        own = self.indices.get(name, [])
        later = [request.fields for request in self.targets if request.matches(name)]
        matching = [template for template in self.composable.values() if template.matches(name)]
        if matching:
            template = max(matching, key=lambda template: template.priority)
            parts = [self.components.get(component, _NONE) for component in template.components]
            return _union((*own, *later, template.fields, *parts))
        legacy = [template.fields for template in self.legacy.values() if template.matches(name)]
        return _union((*own, *later, *legacy))


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
    if not isinstance(body, str) or not any(f'"{key}"' in body for key in _KEYS):
        return {}
    try:
        return _mapping(parse_json(body))
    except ValueError:
        return {}  # Such as the lines of a bulk.


def _texts(value: object) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(text for text in values[:_MOST_NAMES] if isinstance(text, str))


def _union(parts: Iterable[_Fields]) -> _Fields:
    union = set[str]()
    for part in parts:
        if len(union) >= _MOST_FIELDS:
            break
        union |= part
    return frozenset(union)


def _fields(mappings: object) -> _Fields:
    """Returns the paths of the fields of mappings, which old versions have below the name of a type."""
    top = _mapping(mappings)
    if "properties" not in top:
        top = next((each for each in map(_mapping, top.values()) if "properties" in each), {})
    paths = set[str]()
    waiting: list[tuple[str, int, Mapping[str, Any]]] = [("", 0, top)]
    while waiting and len(paths) < _MOST_FIELDS:
        prefix, level, parent = waiting.pop()
        for name, value in _below(parent):
            path = f"{prefix}{name}"
            if "type" in value or "properties" in value:
                paths.update(_with_objects(prefix, name))
            if level < _MOST_LEVELS:
                waiting.append((f"{path}.", level + 1, value))
    return frozenset(paths)


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
