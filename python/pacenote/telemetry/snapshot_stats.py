"""Rally's `searchable-snapshots-stats` and `blob-store-stats`: indices and data in object stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pacenote.model.codec import as_text
from pacenote.telemetry.device import ControlConnection, expected_form
from pacenote.telemetry.flattening import figures
from pacenote.telemetry.parameters import DeviceParameter
from pacenote.telemetry.sampler import SampledDevice, SampledValue, interval_parameter
from pacenote.telemetry.shard_stats import index_path

_INDICES = DeviceParameter(
    "searchable-snapshots-stats-indices", "names", (), "the mounted indices; the whole cluster by default"
)

_BLOB_STORES = {
    "object_store_stats": "object_store",
    "operational_backup_service_stats": "operational_backup",
    "operational_backup_stats": "operational_backup",
}
"""Parts of a node's statistics of blob stores, with the beginning of their names in Rally."""


class SearchableSnapshotsStats(SampledDevice):
    """Reads from snapshots that are mounted as indices, by type of Lucene file."""

    name = "searchable-snapshots-stats"
    description = "Reads from mounted snapshots, by type of Lucene file."
    always_on = False
    serverless = "blocked"
    interval = interval_parameter("searchable-snapshots-stats", 1.0)
    parameters = (interval, _INDICES)

    def sample(self, connection: ControlConnection) -> Iterable[SampledValue]:
        """Reads the statistics of the cluster or of the given indices. Raises EngineError."""
        names = self._cluster.params.names(_INDICES)
        level = "indices" if names else "cluster"
        reply = connection.get(f"{index_path(names)}/_searchable_snapshots/stats?level={level}")
        with expected_form('"total", or "indices" with theirs'):
            yield from _file_types(reply["total"], {"level": "cluster"})
            for index, stats in reply.get("indices", {}).items() if names else ():
                yield from _file_types(stats["total"], {"level": "index", "index": as_text(index)})


class BlobStoreStats(SampledDevice):
    """Requests to the object stores of a serverless cluster."""

    name = "blob-store-stats"
    description = "Requests to the object stores of a serverless cluster, for its operator."
    always_on = False
    interval = interval_parameter("blob-store-stats", 1.0)
    parameters = (interval,)

    def sample(self, connection: ControlConnection) -> Iterable[SampledValue]:
        """Reads the statistics of the cluster and of its nodes. Raises EngineError."""
        reply = connection.get("/_internal/blob_store/stats")
        with expected_form('"_all" and "nodes" with their statistics'):
            yield from _blob_stores(reply.get("_all", {}), {"level": "cluster"})
            for node_id, stats in reply["nodes"].items():
                yield from _blob_stores(stats, {"level": "node", "node": as_text(node_id)})


def _file_types(stats: Iterable[Mapping[str, Any]], labels: Mapping[str, str]) -> Iterator[SampledValue]:
    for row in stats:
        file_type = as_text(row["file_ext"])
        numbers = {key: value for key, value in row.items() if key != "file_ext"}
        yield from figures(numbers, labels={**labels, "lucene_file_type": file_type})


def _blob_stores(stats: Mapping[str, Any], labels: Mapping[str, str]) -> Iterator[SampledValue]:
    for part, prefix in _BLOB_STORES.items():
        if part in stats:
            yield from figures(stats[part], prefix, "_", labels)
