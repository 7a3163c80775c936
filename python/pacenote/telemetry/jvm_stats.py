"""Garbage collections of the engine's nodes during the race.

Both engines name the collectors of every generational garbage collector `young` and `old`; the names that G1
uses are also recognized. ZGC reports cycles (concurrent work) and pauses; generational ZGC reports them for
minor and major collections, which are added up. Before Java 17, it has one collector, `ZGC`, which counts
cycles. The pauses of G1's concurrent marking (`G1 Concurrent GC`) are recorded separately.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.model.codec import as_integer
from pacenote.telemetry.device import DeviceReading
from pacenote.telemetry.node_changes import ComparedNode, NodeCountersDevice
from pacenote.telemetry.short_names import KeyRoom, values_by_key

_REPORTED = ("young", "old", "zgc_cycles", "zgc_pauses")


class _Collections(Struct, frozen=True):
    """Garbage collections of one kind since the start of a node."""

    count: int = 0
    """Number of collections."""

    time_ms: int = 0
    """Their time in milliseconds."""

    def __add__(self, other: _Collections) -> _Collections:
        return _Collections(self.count + other.count, self.time_ms + other.time_ms)

    def __sub__(self, other: _Collections) -> _Collections:
        return _Collections(self.count - other.count, self.time_ms - other.time_ms)


class JvmStats(NodeCountersDevice[_Collections]):
    """Number and time of garbage collections during the race, in total and per node."""

    name = "jvm-stats"
    description = "Number and time of garbage collections during the race, in total and per node."
    path = "/_nodes/stats/jvm"
    expected = '"jvm" with its uptime and garbage collectors for each node'
    totals = "total GC counts and times"

    def counters(self, node: Mapping[str, Any], room: KeyRoom) -> Mapping[str, _Collections]:
        """Returns the collections of a node by kind; several collectors of one kind are added up. Raises
        EngineError if there are too many kinds.
        """
        sums: dict[str, _Collections] = {}
        for name, stats in node["jvm"]["gc"]["collectors"].items():
            collections = _Collections(
                as_integer(stats["collection_count"]), as_integer(stats["collection_time_in_millis"])
            )
            kind = self.names.of(_kind(name))
            if kind not in sums and not room.has(kind):
                raise EngineError("the engine reports more kinds of garbage collectors than are read")
            sums[kind] = sums.get(kind, _Collections()) + collections
        return sums

    def went_down(self, before: Mapping[str, _Collections], after: Mapping[str, _Collections]) -> bool:
        """Returns whether a collector counts fewer collections, or less time, than before."""
        during = (after.get(kind, _Collections()) - counted for kind, counted in before.items())
        return any(collections.count < 0 or collections.time_ms < 0 for collections in during)

    def reading(
        self, nodes: Sequence[ComparedNode[_Collections]], problems: tuple[str, ...]
    ) -> DeviceReading:
        """Returns the collections of each node and, without problems, the totals."""
        totals: dict[str, _Collections] = {}
        values = values_by_key(_of_nodes(nodes, totals))
        if problems:
            return DeviceReading({}, values, problems)
        system: dict[str, int] = {}
        for kind, total in totals.items():
            if kind in _REPORTED:
                system |= _named(kind, total)
            else:
                values |= _named(f"cluster.{kind}", total)
        return DeviceReading(system, values, ())


def _of_nodes(
    nodes: Iterable[ComparedNode[_Collections]], totals: dict[str, _Collections]
) -> Iterator[tuple[str, int]]:
    """Yields the values of each node, and adds them to `totals`."""
    for node in nodes:
        for kind, collections in node.after.items():
            during = collections - node.before.get(kind, _Collections())
            totals[kind] = totals.get(kind, _Collections()) + during
            yield from _named(f"node.{node.name}.{kind}", during).items()


def _named(prefix: str, collections: _Collections) -> dict[str, int]:
    return {f"{prefix}_gc_count": collections.count, f"{prefix}_gc_time": collections.time_ms}


def _kind(collector: str) -> str:
    lower = collector.lower()
    if lower.startswith("zgc"):
        return "zgc_pauses" if "pauses" in lower else "zgc_cycles"
    if "concurrent" in lower:
        return "concurrent"
    if "young" in lower:
        return "young"
    return "old" if "old" in lower else lower.replace(" ", "_")
