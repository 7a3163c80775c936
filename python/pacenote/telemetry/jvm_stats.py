"""Garbage collections of the engine's nodes during the race.

Both engines call the collectors of every generational collector `young` and `old`; the names of G1 itself are
understood too. ZGC reports cycles (concurrent work) and pauses; generational ZGC reports them for minor and
major collections, which are added up. Concurrent work of G1 (`G1 Concurrent GC`) is kept as a value, it is
not a pause.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pacenote.telemetry.device import Get, Reading

_PATH = "/_nodes/stats/jvm"
_REPORTED = ("young", "old", "zgc_cycles", "zgc_pauses")


@dataclass(frozen=True, slots=True)
class _Node:
    name: str
    uptime_ms: int
    collectors: Mapping[str, tuple[int, int]]


class JvmStats:
    """Count and time of collections, as differences over the race: in total and per node."""

    name = "jvm-stats"

    def __init__(self, get: Get) -> None:
        self._get = get
        self._before: dict[str, _Node] = {}

    def start(self) -> None:
        """Reads the counters before the first task. Raises EngineError."""
        self._before = _nodes(self._get(_PATH))

    def stop(self) -> Reading:
        """Reads the counters after the last task. Raises EngineError.

        When a node joined, left or restarted the totals are not known, and are missing with a reason.
        """
        after = _nodes(self._get(_PATH))
        problems = _changes(self._before, after)
        totals: dict[str, int] = {}
        values: dict[str, object] = {}
        for key, node in after.items():
            before = self._before.get(key)
            if before is None or node.uptime_ms < before.uptime_ms:
                continue
            for collector, (count, time_ms) in node.collectors.items():
                count_before, time_before = before.collectors.get(collector, (0, 0))
                figures = {"count": count - count_before, "time": time_ms - time_before}
                for kind, figure in figures.items():
                    values[f"node.{node.name}.{collector}_gc_{kind}"] = figure
                    totals[f"{collector}_gc_{kind}"] = totals.get(f"{collector}_gc_{kind}", 0) + figure
        if problems:
            return Reading({}, values, problems)
        system = {name: total for name, total in totals.items() if name.split("_gc_")[0] in _REPORTED}
        rest = {f"cluster.{name}": total for name, total in totals.items() if name not in system}
        return Reading(system, values | rest, ())


def _nodes(reply: Mapping[str, Any]) -> dict[str, _Node]:
    return {
        key: _Node(
            name=str(node.get("name", key)),
            uptime_ms=node["jvm"]["uptime_in_millis"],
            collectors=_collectors(node["jvm"]["gc"]["collectors"]),
        )
        for key, node in reply["nodes"].items()
    }


def _collectors(found: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Count and milliseconds by our name of the collector; several of one kind are added up."""
    sums: dict[str, tuple[int, int]] = {}
    for raw, figures in found.items():
        kind = _kind(raw)
        count, time_ms = sums.get(kind, (0, 0))
        sums[kind] = (count + figures["collection_count"], time_ms + figures["collection_time_in_millis"])
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


def _changes(before: Mapping[str, _Node], after: Mapping[str, _Node]) -> tuple[str, ...]:
    problems = [f"node '{before[key].name}' left during the race" for key in before.keys() - after.keys()]
    problems += [f"node '{after[key].name}' joined during the race" for key in after.keys() - before.keys()]
    problems += [
        f"node '{node.name}' restarted during the race"
        for key, node in after.items()
        if key in before and node.uptime_ms < before[key].uptime_ms
    ]
    return tuple(f"{problem}: total GC figures are missing" for problem in sorted(problems))
