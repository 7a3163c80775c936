"""Peaks of the memory pools of the nodes' JVMs (part of Rally's JvmStatsSummary)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pacenote.model.codec import as_integer
from pacenote.telemetry.device import DeviceReading, TelemetryDevice, expected_form
from pacenote.telemetry.short_names import ShortNames, values_by_key

_PATH = "/_nodes/stats/jvm?filter_path=nodes.*.name,nodes.*.jvm.mem.pools"


class MemoryPools(TelemetryDevice):
    """The largest size that each memory pool has had since its node was started."""

    name = "jvm-memory-pools"
    description = "Peaks of the memory pools of each node since its start."

    def start(self) -> None:
        """Reads nothing: a JVM keeps the peaks."""

    def stop(self) -> DeviceReading:
        """Returns the peaks in bytes by pool, for each node. Raises EngineError."""
        reply = self._cluster.get(_PATH)
        with expected_form('"jvm.mem.pools" with "peak_used_in_bytes" for each node'):
            nodes = reply.get("nodes", {})
            names = self._cluster.node_names.of(nodes)
            return DeviceReading(values=values_by_key(_peaks(nodes, names)))


def _peaks(nodes: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    pools = ShortNames()
    for node_id, node in nodes.items():
        if "mem" in node.get("jvm", {}):
            yield (
                f"node.{names[node_id]}.jvm_memory_pool_stats",
                {
                    pools.of(pool): as_integer(stats["peak_used_in_bytes"])
                    for pool, stats in node["jvm"]["mem"]["pools"].items()
                },
            )
