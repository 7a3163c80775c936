"""Documents that the engine's ingest pipelines processed during the race."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pacenote.telemetry.device import DeviceReading
from pacenote.telemetry.node_changes import ComparedNode, NodeCountersDevice

_FIELDS = "nodes.*.name,nodes.*.jvm.uptime_in_millis,nodes.*.ingest.total"
_COUNTERS = {"count": "count", "time": "time_in_millis", "failed": "failed"}


class IngestStats(NodeCountersDevice[int]):
    """Documents that ingest pipelines processed during the race: number, failures and time."""

    name = "ingest-pipeline-stats"
    description = "Documents that ingest pipelines processed during the race: number, failures and time."
    # Without the filter, the reply lists every processor of every pipeline.
    path = f"/_nodes/stats/ingest,jvm?filter_path={_FIELDS}"
    expected = '"jvm" with its uptime and "ingest" with its totals for each node'
    totals = "total counts and times of ingest pipelines"

    def counters(self, node: Mapping[str, Any]) -> Mapping[str, int]:
        """Returns the counters of all pipelines of a node."""
        return {key: int(node["ingest"]["total"][name]) for key, name in _COUNTERS.items()}

    def reading(self, nodes: Sequence[ComparedNode[int]], problems: tuple[str, ...]) -> DeviceReading:
        """Returns the totals of the nodes, or nothing but the problems."""
        if problems or not nodes:
            return DeviceReading(problems=problems)
        return DeviceReading({
            f"ingest_pipeline_cluster_{key}": sum(node.after[key] - node.before[key] for node in nodes)
            for key in _COUNTERS
        })
