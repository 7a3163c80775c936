"""What nodes do at an instant, every two seconds: queues, busy threads, the heap, memory of writes.

Everything that only grows is read less often, by `node_counters`: its differences lose nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from pacenote.telemetry.device import ControlConnection, ObservedCluster
from pacenote.telemetry.node_statistics import POOLS, NodeStatistics, ValueGroup
from pacenote.telemetry.sampler import SampledDevice, SampledValue, interval_parameter

_METRICS = "thread_pool,jvm,indexing_pressure"

_GROUPS = (
    *(ValueGroup(f"thread_pool.{pool}", gauges="queue active") for pool in POOLS),
    ValueGroup("jvm.mem", gauges="heap_used_in_bytes heap_used_percent"),
    ValueGroup("jvm.mem.pools.*", gauges="used_in_bytes"),
    ValueGroup(
        "indexing_pressure.memory.current",
        gauges="combined_coordinating_and_primary_in_bytes coordinating_in_bytes primary_in_bytes "
        "replica_in_bytes all_in_bytes",
    ),
)


class NodeGauges(SampledDevice):
    """Queues and busy threads of the pools, the heap, and the memory of writes, every two seconds."""

    name = "node-gauges"
    description = "Queues and busy threads of the nodes' thread pools, heap, and memory of running writes."
    interval = interval_parameter("node-gauges", 2.0)
    parameters = (interval,)

    def __init__(self, cluster: ObservedCluster) -> None:
        super().__init__(cluster)
        self._statistics = NodeStatistics(_METRICS, "", _GROUPS)

    def sample(self, connection: ControlConnection) -> Iterable[SampledValue]:
        """Reads the values of all nodes. Raises EngineError."""
        return self._statistics.read(connection, self._cluster.node_names)
