"""Rally's `shard-stats` and `recovery-stats`: the shards of all nodes, and those that are being recovered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

from pacenote.model.codec import as_number, as_text
from pacenote.model.node_names import NodeNames
from pacenote.telemetry.device import ControlConnection, expected_form
from pacenote.telemetry.flattening import figures
from pacenote.telemetry.parameters import DeviceParameter, Names
from pacenote.telemetry.sampler import SampledDevice, SampledValue, interval_parameter

_STATS = "/_nodes/stats/indices/docs,store,segments?level=shards"

_RECOVERY_INDICES = DeviceParameter("recovery-stats-indices", "names", (), "the indices; all by default")


class ShardStats(SampledDevice):
    """Documents, size and segments of each shard on each node."""

    name = "shard-stats"
    description = "Documents, size and segments of each shard."
    always_on = False
    interval = interval_parameter("shard-stats", 60.0)
    parameters = (interval,)

    def sample(self, connection: ControlConnection) -> Iterable[SampledValue]:
        """Reads the shards of all nodes. Raises EngineError."""
        reply = connection.get(_STATS)
        with expected_form('"indices" with their "shards" for each node'):
            nodes = reply["nodes"]
            yield from (
                figure
                for node_id, name in self._cluster.node_names.of(nodes).items()
                for index, shards in nodes[node_id]["indices"].get("shards", {}).items()
                for shard in shards
                for number, stats in shard.items()
                for figure in _shard(stats, _shard_labels(name, index, number, stats))
            )


class RecoveryStats(SampledDevice):
    """Recoveries of shards that are under way."""

    name = "recovery-stats"
    description = "Recoveries of shards that are under way."
    always_on = False
    interval = interval_parameter("recovery-stats", 1.0)
    parameters = (interval, _RECOVERY_INDICES)

    def sample(self, connection: ControlConnection) -> Iterable[SampledValue]:
        """Reads the active recoveries. Raises EngineError."""
        indices = self._cluster.params.names(_RECOVERY_INDICES)
        reply = connection.get(f"{index_path(indices)}/_recovery?active_only=true")
        with expected_form('"shards" for each index'):
            yield from (
                figure
                for index, recoveries in reply.items()
                for shard in recoveries["shards"]
                for figure in _recovery(index, shard, self._cluster.node_names)
            )


def index_path(names: Names) -> str:
    """Returns the beginning of a path for these indices; empty for all."""
    return f"/{quote(','.join(names), safe='*,')}" if names else ""


def _shard_labels(node: str, index: str, number: str, stats: Mapping[str, Any]) -> dict[str, str]:
    is_primary = stats["routing"]["primary"]
    return {"node": node, "index": index, "shard-id": number, "primary": as_text(is_primary).lower()}


def _shard(stats: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[SampledValue]:
    yield SampledValue("docs", _at(stats, "docs", "count"), labels=labels)
    yield SampledValue("store", _at(stats, "store", "size_in_bytes"), "B", labels=labels)
    yield SampledValue("segments-count", _at(stats, "segments", "count"), labels=labels)


def _at(stats: Mapping[str, Any], group: str, key: str) -> float | None:
    value = stats.get(group, {}).get(key)
    return None if value is None else as_number(value)


def _recovery(index: str, shard: Mapping[str, Any], names: NodeNames) -> Iterator[SampledValue]:
    target = shard.get("target", {})
    name = as_text(target.get("name", ""))
    if "id" in target:
        (name,) = names.of({as_text(target["id"]): target}).values()
    labels = {
        "index": index,
        "shard": as_text(shard["id"]),
        "node": name,
        "type": as_text(shard["type"]),
    }
    parts = {key: value for key, value in shard.items() if key in ("index", "translog", "verify_index")}
    # They begin again from 0 with each recovery of the shard.
    for figure in figures(parts, "shard", labels=labels):
        yield SampledValue(figure.name, figure.value, figure.unit, "gauge", labels)
