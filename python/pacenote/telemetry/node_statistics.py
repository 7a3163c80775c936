"""Values in the engine's node statistics: which are read, and their names, units and kinds.

Names are those of the engine without the unit: `indices.merges.total_throttled_time` in ms. Both devices that
sample the nodes use it: one request reads all nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from pacenote.model.codec import as_text
from pacenote.model.node_names import NodeNames
from pacenote.model.telemetry_sample import SampleKind
from pacenote.net.reply import FailedStatus
from pacenote.telemetry.device import ControlConnection, expected_form
from pacenote.telemetry.flattening import number, split_unit
from pacenote.telemetry.sampler import MAX_NAME, SampledValue

_BAD_REQUEST = 400

_MAX_PATHS = 10_000
"""Paths of objects whose values keep their names, at most."""

POOLS = (
    *("write", "search", "get", "refresh", "flush", "merge", "force_merge", "management", "generic"),
    *("system_write", "system_read", "write_coordination", "search_coordination", "search_worker"),
    *("index_searcher", "snapshot", "transport_worker", "http_server_worker"),
)
"""Thread pools that the load of a race may keep busy."""

_NOT_IN_NAMES = re.compile("[^a-z0-9]+")
"""What is not in the names of values, unlike in those of collectors and pools."""


class ValueGroup(Struct, frozen=True):
    """Values in one object of a node's statistics, or in each object of a list."""

    path: str
    """The keys on the way to it, joined by dots; `*` stands for any key."""

    counters: str = ""
    """Keys of values that only grow while the node runs, separated by blanks."""

    gauges: str = ""
    """Keys of values at one instant."""

    label: str = ""
    """The key of the label of each object, if it is a list; its value is that of the key with `_name`."""

    units: Mapping[str, str] | None = None
    """Units of values whose names do not state them, by key."""


class _Value(NamedTuple):
    """A value of a group."""

    key: str
    name: str
    unit: str
    kind: SampleKind


class NodeStatistics:
    """Reads the values of groups of all nodes with one request."""

    def __init__(self, metrics: str, reply_filter: str, groups: Iterable[ValueGroup]) -> None:
        """Creates a reader. `metrics` are the parts of the statistics as they are in the path of the request,
        and `reply_filter` is its `filter_path`; empty for none.
        """
        query = f"?filter_path={reply_filter}" if reply_filter else ""
        self._path = f"/_nodes/stats/{metrics}{query}"
        self._everything = f"/_nodes/stats{query}"
        self._groups = tuple((group, tuple(group.path.split("."))) for group in groups)
        self._values: dict[tuple[str, ...], Sequence[_Value]] = {}

    def read(self, connection: ControlConnection, names: NodeNames) -> Iterator[SampledValue]:
        """Yields the values of all nodes, each with its name as the label `node`. Raises EngineError."""
        reply = self._reply(connection)
        with expected_form('"nodes" with the statistics of each'):
            nodes = reply["nodes"]
            for node_id, name in names.of(nodes).items():
                yield from self._read_node(nodes[node_id], {"node": name})

    def _reply(self, connection: ControlConnection) -> Any:
        try:
            return connection.get(self._path)
        except FailedStatus as error:
            if error.status != _BAD_REQUEST or self._path == self._everything:
                raise
            # An old version that does not know all parts by name.
            self._path = self._everything
            return connection.get(self._path)

    def _read_node(self, node: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[SampledValue]:
        for group, keys in self._groups:
            for path, values in _objects(node, keys, ()):
                named = self._named_values(group, path)
                if not group.label:
                    yield from _numbers(values, named, labels)
                    continue
                for entry in values:
                    entry_labels = {**labels, group.label: as_text(entry[f"{group.label}_name"])}
                    yield from _numbers(entry, named, entry_labels)

    def _named_values(self, group: ValueGroup, path: tuple[str, ...]) -> Sequence[_Value]:
        """Returns the values of a group at a path, whose names are made once."""
        named = self._values.get(path)
        if named is None:
            if len(self._values) >= _MAX_PATHS:
                # An engine may have other ones in each reply.
                self._values.clear()
            named = self._values[path] = tuple(_named(group, path))
        return named


def _numbers(
    values: Mapping[str, Any], named: Sequence[_Value], labels: Mapping[str, str]
) -> Iterator[SampledValue]:
    for key, name, unit, kind in named:
        value = number(values.get(key))
        if value is not None:
            yield SampledValue(name, value, unit, kind, labels)


def _objects(
    value: Any, path: tuple[str, ...], before: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields the objects or lists at a path, with the keys on the way to them."""
    for position, key in enumerate(path):
        if not isinstance(value, Mapping):
            return
        if key == "*":
            for name, child in value.items():
                if len(name) > MAX_NAME:
                    continue
                yield from _objects(child, path[position + 1 :], (*before, name))
            return
        value = value.get(key)
        before = (*before, key)
    if value:
        yield before, value


def _named(group: ValueGroup, path: Iterable[str]) -> Iterator[_Value]:
    at = ".".join(_NOT_IN_NAMES.sub("_", key.lower()).strip("_") for key in path)
    kinds: tuple[tuple[str, SampleKind], ...] = ((group.counters, "counter"), (group.gauges, "gauge"))
    for keys, kind in kinds:
        for key in keys.split():
            name, unit = split_unit(f"{at}.{key}")
            yield _Value(key, name, unit or (group.units or {}).get(key, ""), kind)
