"""Rally's `ccr-stats`: indices that follow indices of another cluster (cross-cluster replication)."""

from __future__ import annotations

from collections.abc import Iterable

from pacenote.model.codec import as_text
from pacenote.telemetry.device import ControlConnection, expected_form
from pacenote.telemetry.flattening import figures
from pacenote.telemetry.parameters import DeviceParameter
from pacenote.telemetry.sampler import SampledDevice, SampledValue, interval_parameter
from pacenote.telemetry.shard_stats import index_path

_INDICES = DeviceParameter("ccr-stats-indices", "names", (), "the following indices; all by default")


class CcrStats(SampledDevice):
    """Shards of indices that follow indices of another cluster."""

    name = "ccr-stats"
    description = "Shards of indices that follow indices of another cluster (cross-cluster replication)."
    always_on = False
    serverless = "blocked"
    interval = interval_parameter("ccr-stats", 1.0)
    parameters = (interval, _INDICES)

    def sample(self, connection: ControlConnection) -> Iterable[SampledValue]:
        """Reads the following shards. Raises EngineError."""
        indices = self._cluster.params.names(_INDICES)
        reply = connection.get(f"{index_path(indices)}/_ccr/stats")
        with expected_form('"indices" of "follow_stats" with their "shards"'):
            # A reply about certain indices has no statistics of the cluster around it.
            followed = reply.get("follow_stats", reply)["indices"]
            yield from (
                figure
                for index in followed
                for shard in index["shards"]
                for figure in figures(
                    {key: value for key, value in shard.items() if key != "shard_id"},
                    "shard",
                    labels={"index": as_text(index["index"]), "shard": as_text(shard["shard_id"])},
                )
            )
