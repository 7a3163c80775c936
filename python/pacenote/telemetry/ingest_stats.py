"""Documents that the engine's ingest pipelines processed during the race."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pacenote.telemetry.device import DeviceReading, ObservedCluster, TelemetryDevice, expected_form
from pacenote.telemetry.node_changes import node_changes

_FIELDS = "nodes.*.name,nodes.*.jvm.uptime_in_millis,nodes.*.ingest.total"
# Without the filter, the reply lists every processor of every pipeline.
_PATH = f"/_nodes/stats/ingest,jvm?filter_path={_FIELDS}"
_COUNTERS = {"count": "count", "time": "time_in_millis", "failed": "failed"}


@dataclass(frozen=True, slots=True)
class _NodeStats:
    name: str
    uptime_ms: int
    counters: Mapping[str, int]


class IngestStats(TelemetryDevice):
    """Documents that ingest pipelines processed during the race: number, failures and time."""

    name = "ingest-pipeline-stats"
    description = "Documents that ingest pipelines processed during the race: number, failures and time."

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
        problems = node_changes(self._before, after, "total counts and times of ingest pipelines")
        if problems or not after:
            return DeviceReading(problems=problems)
        return DeviceReading({
            f"ingest_pipeline_cluster_{key}": sum(
                node.counters[key] - self._before[node_id].counters[key] for node_id, node in after.items()
            )
            for key in _COUNTERS
        })


def _nodes(reply: Mapping[str, Any]) -> dict[str, _NodeStats]:
    """Returns what the nodes report. Raises EngineError if the reply has an unexpected form."""
    with expected_form('"jvm" with its uptime and "ingest" with its totals for each node'):
        return {
            node_id: _NodeStats(
                name=str(node.get("name", node_id)),
                uptime_ms=int(node["jvm"]["uptime_in_millis"]),
                counters={key: int(node["ingest"]["total"][name]) for key, name in _COUNTERS.items()},
            )
            for node_id, node in reply["nodes"].items()
        }
