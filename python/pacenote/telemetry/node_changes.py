"""Devices that compare counters of the engine's nodes.

The counters of a node that joined, left or restarted during a race do not give a difference.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from msgspec import Struct

from pacenote.model.codec import as_integer
from pacenote.telemetry.device import DeviceReading, ObservedCluster, TelemetryDevice, expected_form
from pacenote.telemetry.short_names import KeyRoom, ShortNames

_C = TypeVar("_C")

_TOLERATED_S = 1.0
_TOLERATED_SHARE = 0.001
"""By how much less than the time between its readings the uptime of a node may grow, in seconds and as a
share of that time: the clocks of two machines do not run alike.
"""


_MAX_CHARACTERS = 8 << 20
"""Characters of the names of all nodes' counters in one reading, at most."""


class NodeCounters(Struct, Generic[_C], frozen=True):
    """What a device reads from a node."""

    name: str
    """Its name, which no other node has."""

    uptime_ms: int
    """Milliseconds since the node was started."""

    counters: Mapping[str, _C]
    """Its counters since then, by name."""


class ComparedNode(Struct, Generic[_C], frozen=True):
    """A node that ran during the whole race."""

    name: str
    """Its name, which no other node has."""

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

    def __init__(self, cluster: ObservedCluster, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        super().__init__(cluster)
        self._clock = clock
        self._before: dict[str, NodeCounters[_C]] = {}
        self._read_at_s = 0.0
        self.names = ShortNames()
        """The names of the engine, the same in both readings, except those of nodes."""

    def start(self) -> None:
        """Reads the counters before the first task. Raises EngineError."""
        self._before = self._read()
        self._read_at_s = self._clock()

    def stop(self) -> DeviceReading:
        """Reads the counters after the last task. Raises EngineError.

        If a node joined, left or restarted, the totals are not known and are missing, with a reason.
        """
        elapsed_s = self._clock() - self._read_at_s
        before, after = self._before, self._read()
        stayed = {key: before[key] for key in after if key in before}
        restarted = {key for key, node in stayed.items() if _restarted(node, after[key], elapsed_s)}
        reset = {
            key
            for key, node in stayed.items()
            if key not in restarted and self.went_down(node.counters, after[key].counters)
        }
        compared = tuple(
            ComparedNode(node.name, node.counters, after[key].counters)
            for key, node in stayed.items()
            if key not in restarted | reset
        )
        changes = [f"node '{before[key].name}' left during the race" for key in before.keys() - after.keys()]
        changes += [
            f"node '{after[key].name}' joined during the race" for key in after.keys() - before.keys()
        ]
        changes += [f"node '{after[key].name}' restarted during the race" for key in restarted]
        changes += [f"the counters of node '{after[key].name}' went down during the race" for key in reset]
        problems = tuple(f"{change}: {self.totals} are missing" for change in sorted(changes))
        return self.reading(compared, problems)

    @abstractmethod
    def counters(self, node: Mapping[str, Any], room: KeyRoom) -> Mapping[str, _C]:
        """Returns the counters of a node in the reply; errors are those of the reply. Names of the engine are
        shortened with `names`, and the counters of all nodes need `room`.
        """

    @abstractmethod
    def went_down(self, before: Mapping[str, _C], after: Mapping[str, _C]) -> bool:
        """Returns whether a counter of a node went down, so that the differences are not known."""

    @abstractmethod
    def reading(self, nodes: Sequence[ComparedNode[_C]], problems: tuple[str, ...]) -> DeviceReading:
        """Returns what has changed on the nodes, and the problems; with any, the totals are not known."""

    def _read(self) -> dict[str, NodeCounters[_C]]:
        reply, room = self._cluster.get(self.path), KeyRoom(_MAX_CHARACTERS)
        with expected_form(self.expected):
            nodes = reply["nodes"]
            names = self._cluster.node_names.of(nodes)
            return {
                node_id: NodeCounters(
                    name=names[node_id],
                    uptime_ms=as_integer(node["jvm"]["uptime_in_millis"]),
                    counters=self.counters(node, room),
                )
                for node_id, node in nodes.items()
            }


def _restarted(before: NodeCounters[_C], after: NodeCounters[_C], elapsed_s: float) -> bool:
    """Returns whether a node restarted between two readings, the second of which began `elapsed_s` seconds
    after the first one had ended: its uptime has not grown by the time between them.
    """
    least_s = elapsed_s * (1 - _TOLERATED_SHARE) - _TOLERATED_S
    return after.uptime_ms < before.uptime_ms + max(0.0, least_s) * 1000
