"""Garbage collections of the engine's nodes during the race.

Both engines name the collectors of every generational garbage collector `young` and `old`; the names that G1
uses are also recognized. ZGC reports cycles (concurrent work) and pauses; generational ZGC reports them for
minor and major collections, which are added up. Concurrent work of G1 (`G1 Concurrent GC`) is recorded
separately, because it is not a pause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pacenote.telemetry.device import DeviceReading, ObservedCluster, TelemetryDevice, expected_form
from pacenote.telemetry.node_changes import node_changes

_PATH = "/_nodes/stats/jvm"
_REPORTED = ("young", "old", "zgc_cycles", "zgc_pauses")


@dataclass(frozen=True, slots=True)
class _Collections:
    """Garbage collections of one kind since the start of a node."""

    count: int = 0
    time_ms: int = 0

    def __add__(self, other: _Collections) -> _Collections:
        return _Collections(self.count + other.count, self.time_ms + other.time_ms)

    def __sub__(self, other: _Collections) -> _Collections:
        return _Collections(self.count - other.count, self.time_ms - other.time_ms)


@dataclass(frozen=True, slots=True)
class _NodeStats:
    name: str
    uptime_ms: int
    collectors: Mapping[str, _Collections]


class JvmStats(TelemetryDevice):
    """Number and time of garbage collections during the race, in total and per node."""

    name = "jvm-stats"
    description = "Number and time of garbage collections during the race, in total and per node."

    def __init__(self, cluster: ObservedCluster) -> None:
        super().__init__(cluster)
        self._before: dict[str, _NodeStats] = {}

    def start(self) -> None:
        """Reads the counters before the first task. Raises EngineError."""
        self._before = _nodes(self._cluster.get(_PATH))

    def stop(self) -> DeviceReading:
        """Reads the counters after the last task. Raises EngineError.

        If a node joined, left or restarted, the totals are not known and are missing, with a reason.
        """
        after = _nodes(self._cluster.get(_PATH))
        problems = node_changes(self._before, after, "total GC counts and times")
        totals: dict[str, _Collections] = {}
        values: dict[str, object] = {}
        for node_id, node in after.items():
            before = self._before.get(node_id)
            if before is None or node.uptime_ms < before.uptime_ms:
                continue
            for kind, collections in node.collectors.items():
                during = collections - before.collectors.get(kind, _Collections())
                values |= _named(f"node.{node.name}.{kind}", during)
                totals[kind] = totals.get(kind, _Collections()) + during
        if problems:
            return DeviceReading({}, values, problems)
        system: dict[str, int] = {}
        for kind, total in totals.items():
            if kind in _REPORTED:
                system |= _named(kind, total)
            else:
                values |= _named(f"cluster.{kind}", total)
        return DeviceReading(system, values, ())


def _named(prefix: str, collections: _Collections) -> dict[str, int]:
    return {f"{prefix}_gc_count": collections.count, f"{prefix}_gc_time": collections.time_ms}


def _nodes(reply: Mapping[str, Any]) -> dict[str, _NodeStats]:
    """Returns what the nodes report. Raises EngineError if the reply has an unexpected form."""
    with expected_form('"jvm" with its uptime and garbage collectors for each node'):
        return {
            node_id: _NodeStats(
                name=str(node.get("name", node_id)),
                uptime_ms=int(node["jvm"]["uptime_in_millis"]),
                collectors=_collectors(node["jvm"]["gc"]["collectors"]),
            )
            for node_id, node in reply["nodes"].items()
        }


def _collectors(reported: Mapping[str, Any]) -> dict[str, _Collections]:
    """Collections by kind; several collectors of one kind are added up."""
    sums: dict[str, _Collections] = {}
    for name, stats in reported.items():
        collections = _Collections(int(stats["collection_count"]), int(stats["collection_time_in_millis"]))
        sums[_kind(name)] = sums.get(_kind(name), _Collections()) + collections
    return sums


def _kind(collector: str) -> str:
    lower = collector.lower()
    if lower.startswith("zgc"):
        return "zgc_cycles" if "cycles" in lower else "zgc_pauses"
    if "concurrent" in lower:
        return "concurrent"
    if "young" in lower:
        return "young"
    return "old" if "old" in lower else lower.replace(" ", "_")
