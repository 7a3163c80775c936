"""Rally's `geoip-stats`: the caches of the geoip processors after the last task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pacenote.telemetry.device import DeviceReading, TelemetryDevice, expected_form
from pacenote.telemetry.short_names import ShortNames, values_by_key

_KEYS = ("count", "hits", "misses", "evictions", "hits_time_in_millis", "misses_time_in_millis")


class GeoIpStats(TelemetryDevice):
    """The caches of the geoip processors of each node."""

    name = "geoip-stats"
    description = "Caches of the geoip processors of each node after the last task."
    always_on = False

    def start(self) -> None:
        """Reads nothing: the values are those at the end."""

    def stop(self) -> DeviceReading:
        """Reads the caches. Raises EngineError."""
        reply = self._cluster.get("/_ingest/geoip/stats")
        with expected_form('"nodes" with their "cache_stats"'):
            return DeviceReading(values=values_by_key(_caches(reply["nodes"])))


def _caches(nodes: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    names = ShortNames()
    for node_id, node in nodes.items():
        cache, name = node.get("cache_stats", {}), names.of(node_id)
        for key in _KEYS:
            if key in cache:
                yield f"node.{name}.geoip_cache_{key}", cache[key]
