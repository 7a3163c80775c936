"""Peaks of the memory pools of the nodes' JVMs (part of Rally's JvmStatsSummary)."""

from __future__ import annotations

from pacenote.model.codec import as_integer
from pacenote.telemetry.device import DeviceReading, TelemetryDevice, expected_form

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
            values = {
                f"node.{node.get('name', node_id)}.jvm_memory_pool_stats": {
                    pool: as_integer(stats["peak_used_in_bytes"])
                    for pool, stats in node["jvm"]["mem"]["pools"].items()
                }
                for node_id, node in reply.get("nodes", {}).items()
                if "mem" in node.get("jvm", {})
            }
        return DeviceReading(values=values)
