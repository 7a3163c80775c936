"""Documents that the engine's ingest pipelines processed during the race."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from pacenote.model.codec import as_integer
from pacenote.telemetry.device import DeviceReading, ObservedCluster
from pacenote.telemetry.node_changes import ComparedNode, NodeCountersDevice
from pacenote.telemetry.short_names import KeyRoom, values_by_key

_FIELDS = "nodes.*.name,nodes.*.jvm.uptime_in_millis,nodes.*.ingest"
_COUNTERS = {"count": "count", "time": "time_in_millis", "failed": "failed"}

_BETWEEN = "\0"
"""Separates the parts of a counter's name, which may contain any other character."""


class IngestStats(NodeCountersDevice[int]):
    """Documents that ingest pipelines processed during the race: number, failures and time."""

    name = "ingest-pipeline-stats"
    description = "Documents that ingest pipelines processed during the race: number, failures and time."
    path = f"/_nodes/stats/ingest,jvm?filter_path={_FIELDS}"
    expected = '"jvm" with its uptime and "ingest" with its totals for each node'
    totals = "total counts and times of ingest pipelines"

    def __init__(self, cluster: ObservedCluster, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds."""
        super().__init__(cluster, clock)
        self._is_incomplete = False

    def counters(self, node: Mapping[str, Any], room: KeyRoom) -> Mapping[str, int]:
        """Returns the counters of a node: of all pipelines and, as far as there is room, of each pipeline and
        of its processors.
        """
        ingest = node["ingest"]
        counters = {key: as_integer(ingest["total"][name]) for key, name in _COUNTERS.items()}
        for key, count in self._details(ingest.get("pipelines", {})):
            if not room.has(key):
                self._is_incomplete = True
                break
            counters[key] = count
        return counters

    def _details(self, pipelines: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
        for name, stats in pipelines.items():
            pipeline = self.names.of(name)
            yield from _named(("pipeline", pipeline), stats).items()
            for position, processors in enumerate(stats.get("processors", ())):
                for processor, details in processors.items():
                    kind = self.names.of(details.get("type", ""))
                    parts = ("processor", pipeline, str(position), self.names.of(processor), kind)
                    yield from _named(parts, details.get("stats", {})).items()

    def went_down(self, before: Mapping[str, int], after: Mapping[str, int]) -> bool:
        """Returns whether a counter of all pipelines of a node went down; those of one pipeline go down if it
        is replaced.
        """
        return any(after.get(key, 0) < before.get(key, 0) for key in _COUNTERS)

    def reading(self, nodes: Sequence[ComparedNode[int]], problems: tuple[str, ...]) -> DeviceReading:
        """Returns what pipelines did on each node and, without problems, the totals."""
        during = {node.name: _during(node) for node in nodes}
        values = values_by_key(
            (f"node.{name}.ingest_pipeline_node_{key}", counts[key])
            for name, counts in during.items()
            for key in _COUNTERS
        )
        if problems or not nodes:
            return DeviceReading(values=values, problems=problems)
        fallen = {name for counts in during.values() for name in _fallen(counts)}
        suspects = {name for node in nodes for name in _suspects(node, fallen)}
        replaced = fallen | suspects
        sums: dict[str, int] = {}
        for counts in during.values():
            for key, count in counts.items():
                if _pipeline_of(key) not in replaced:
                    sums[key] = sums.get(key, 0) + count
        system = {f"ingest_pipeline_cluster_{key}": sums[key] for key in _COUNTERS}
        if self._is_incomplete:
            reason = (
                "more pipelines and processors are reported than are read: the figures of each are missing"
            )
            return DeviceReading(system, values, (reason,))
        if pipelines := list(_pipelines(sums)):
            values["ingest_pipelines"] = pipelines
        reasons = [
            f"the counters of pipeline '{name}' went down during the race: its figures are missing"
            for name in sorted(fallen)
        ]
        reasons += [
            f"pipeline '{name}' may have been deleted and created again during the race, because all "
            "pipelines together counted fewer documents than their node: its figures are missing"
            for name in sorted(suspects)
        ]
        return DeviceReading(system, values, tuple(reasons))


def _named(parts: tuple[str, ...], stats: Mapping[str, Any]) -> dict[str, int]:
    return {
        _BETWEEN.join((*parts, key)): as_integer(stats[name])
        for key, name in _COUNTERS.items()
        if name in stats
    }


def _during(node: ComparedNode[int]) -> dict[str, int]:
    # A pipeline that was created during the race began with 0.
    return {key: count - node.before.get(key, 0) for key, count in node.after.items()}


def _pipeline_of(key: str) -> str | None:
    """Returns the pipeline that a counter belongs to, or None for those of all pipelines."""
    parts = key.split(_BETWEEN)
    return parts[1] if len(parts) > 1 else None


def _fallen(counts: Mapping[str, int]) -> Iterator[str]:
    """Yields the pipelines that were replaced during the race, and have not yet counted as much as before."""
    for key, count in counts.items():
        pipeline = _pipeline_of(key)
        if count < 0 and pipeline is not None:
            yield pipeline


def _suspects(node: ComparedNode[int], fallen: Collection[str]) -> Iterator[str]:
    """Yields the pipelines that may have been replaced and have counted more since than before.

    Each document is processed by at least one pipeline. What all of them together lack of the documents of
    the node, one that was replaced had at least counted before. A pipeline that is gone explains it as well.
    """
    if any(key not in node.after for key in node.before):
        return
    lacking = node.after["count"] - node.before["count"]
    counts = dict[str, int]()
    for key, count in node.after.items():
        kind, _, rest = key.partition(_BETWEEN)
        name, _, counter = rest.rpartition(_BETWEEN)
        if kind == "pipeline" and counter == "count":
            counted = node.before.get(key, 0)
            lacking -= count if name in fallen else count - counted
            counts[name] = counted
    yield from (name for name, counted in counts.items() if name not in fallen and 0 < counted <= lacking)


def _pipelines(sums: Mapping[str, int]) -> Iterator[dict[str, object]]:
    """Yields the pipelines that processed documents, each with its processors."""
    rows: dict[tuple[str, ...], dict[str, int]] = {}
    for name, count in sums.items():
        parts = tuple(name.split(_BETWEEN))
        if len(parts) > 1:
            rows.setdefault(parts[:-1], {})[f"ingest_pipeline_{parts[0]}_{parts[-1]}"] = count
    processors: dict[str, list[dict[str, object]]] = {}
    for parts, figures in rows.items():
        if parts[0] == "processor":
            processor = {"processor_name": parts[3], "type": parts[4], **figures}
            processors.setdefault(parts[1], []).append(processor)
    for parts, figures in rows.items():
        if parts[0] == "pipeline" and figures.get("ingest_pipeline_pipeline_count"):
            name = parts[1]
            yield {"pipeline_name": name, **figures, "processors": processors.get(name, [])}
