"""Devices that compare counters of the engine's nodes.

The counters of a node that joined, left or restarted during a race do not give a difference.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from pacenote.telemetry.device import DeviceReading, ObservedCluster, TelemetryDevice, expected_form

_C = TypeVar("_C")


@dataclass(frozen=True, slots=True)
class NodeCounters(Generic[_C]):
    """What a device reads from a node."""

    name: str
    """The name of the node."""

    uptime_ms: int
    """Milliseconds since the node was started."""

    counters: Mapping[str, _C]
    """Its counters since then, by name."""


@dataclass(frozen=True, slots=True)
class ComparedNode(Generic[_C]):
    """A node that ran during the whole race."""

    name: str
    """The name of the node."""

    before: Mapping[str, _C]
    """Its counters before the first task, by name."""

    after: Mapping[str, _C]
    """Its counters after the last task, by name."""


class NodeCountersDevice(TelemetryDevice, Generic[_C]):
    """Reads counters of the nodes before and after the race, and compares them."""

    path: ClassVar[str]
    """Path of the counters; the reply also has the uptime of each node."""

    expected: ClassVar[str]
    """The form of the reply, for the error about another one."""

    totals: ClassVar[str]
    """What is not known if a node joined, left or restarted."""

    def __init__(self, cluster: ObservedCluster) -> None:
        super().__init__(cluster)
        self._before: dict[str, NodeCounters[_C]] = {}

    def start(self) -> None:
        """Reads the counters before the first task. Raises EngineError."""
        self._before = self._read()

    def stop(self) -> DeviceReading:
        """Reads the counters after the last task. Raises EngineError.

        If a node joined, left or restarted, the totals are not known and are missing, with a reason.
        """
        before, after = self._before, self._read()
        compared = tuple(
            ComparedNode(node.name, before[key].counters, node.counters)
            for key, node in after.items()
            if key in before and node.uptime_ms >= before[key].uptime_ms
        )
        return self.reading(compared, _node_changes(before, after, self.totals))

    @abstractmethod
    def counters(self, node: Mapping[str, Any]) -> Mapping[str, _C]:
        """Returns the counters of a node in the reply; errors are those of the reply."""

    @abstractmethod
    def reading(self, nodes: Sequence[ComparedNode[_C]], problems: tuple[str, ...]) -> DeviceReading:
        """Returns what has changed on the nodes, and the problems; with any, the totals are not known."""

    def _read(self) -> dict[str, NodeCounters[_C]]:
        reply = self._cluster.get(self.path)
        with expected_form(self.expected):
            return {
                node_id: NodeCounters(
                    name=str(node.get("name", node_id)),
                    uptime_ms=int(node["jvm"]["uptime_in_millis"]),
                    counters=self.counters(node),
                )
                for node_id, node in reply["nodes"].items()
            }


def _node_changes(
    before: Mapping[str, NodeCounters[_C]], after: Mapping[str, NodeCounters[_C]], missing: str
) -> tuple[str, ...]:
    """Returns a message for each node that joined, left or restarted; both mappings are by id of the node.

    `missing` are the totals that are therefore not known.
    """
    problems = [f"node '{before[key].name}' left during the race" for key in before.keys() - after.keys()]
    problems += [f"node '{after[key].name}' joined during the race" for key in after.keys() - before.keys()]
    problems += [
        f"node '{node.name}' restarted during the race"
        for key, node in after.items()
        if key in before and node.uptime_ms < before[key].uptime_ms
    ]
    return tuple(f"{problem}: {missing} are missing" for problem in sorted(problems))
