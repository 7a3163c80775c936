"""Rally's `node-stats`: the statistics of all nodes, under Rally's names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from pacenote.model.codec import as_text
from pacenote.telemetry.device import ControlConnection, expected_form
from pacenote.telemetry.flattening import figures
from pacenote.telemetry.parameters import DeviceParameter
from pacenote.telemetry.sampler import SampledDevice, SampledValue, interval_parameter

_INDICES = DeviceParameter("node-stats-include-indices", "flag", False, "the statistics of indices")
_INDICES_METRICS = DeviceParameter(
    "node-stats-include-indices-metrics",
    "names",
    "docs,store,indexing,search,merges,refresh,flush,query_cache,fielddata,segments,translog,request_cache",
    "which of them",
)


class _Part(Struct, frozen=True):
    """A part of a node's statistics that a parameter includes."""

    parameter: DeviceParameter
    """The parameter."""

    paths: tuple[tuple[str, ...], ...]
    """The keys on the way to each object."""


def _part(name: str, meaning: str, *paths: str) -> _Part:
    parameter = DeviceParameter(f"node-stats-include-{name}", "flag", True, meaning)
    return _Part(parameter, tuple(tuple(path.split(".")) for path in paths))


_PARTS = (
    _part("thread-pools", "thread pools", "thread_pool"),
    _part("breakers", "circuit breakers", "breakers"),
    _part("buffer-pools", "buffers outside the heap", "jvm.buffer_pools"),
    _part("mem", "memory of the JVM and the host", "jvm.mem", "os.mem"),
    _part("cgroup", "control groups", "os.cgroup"),
    _part("gc", "garbage collections", "jvm.gc"),
    _part("network", "traffic between nodes", "transport"),
    _part("process", "CPU time of the process", "process.cpu"),
    _part("indexing-pressure", "memory of requests that are being indexed", "indexing_pressure"),
    _part("fs", "file systems", "fs"),
)


class NodeStats(SampledDevice):
    """The statistics of all nodes, under Rally's names such as `thread_pool_write_queue`."""

    name = "node-stats"
    description = "The statistics of all nodes, under Rally's names."
    always_on = False
    interval = interval_parameter("node-stats", 1.0)
    parameters = (interval, _INDICES, _INDICES_METRICS, *(part.parameter for part in _PARTS))

    def sample(self, connection: ControlConnection) -> Iterable[SampledValue]:
        """Reads the statistics of all nodes. Raises EngineError."""
        reply = connection.get("/_nodes/stats")
        with expected_form('"nodes" with the statistics of each'):
            nodes = reply["nodes"]
            yield from (
                figure
                for node_id, name in self._cluster.node_names.of(nodes).items()
                for figure in self._figures(nodes[node_id], _labels(nodes[node_id], name))
            )

    def _figures(self, node: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[SampledValue]:
        params = self._cluster.params
        if params.flag(_INDICES) or _INDICES_METRICS.name in params.values:
            for metric in params.names(_INDICES_METRICS):
                yield from _below(node, ("indices", metric), labels)
        for part in _PARTS:
            if params.flag(part.parameter):
                for path in part.paths:
                    yield from _below(node, path, labels)


def _labels(node: Mapping[str, Any], name: str) -> dict[str, str]:
    return {"node": name, "roles": ",".join(map(as_text, node.get("roles", ())))}


def _below(
    node: Mapping[str, Any], path: tuple[str, ...], labels: Mapping[str, str]
) -> Iterator[SampledValue]:
    value: Any = node
    for key in path:
        value = value.get(key, {})
    return figures(value, "_".join(path), "_", labels)
