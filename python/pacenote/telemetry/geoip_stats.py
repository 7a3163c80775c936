"""Rally's `geoip-stats`: the caches of the geoip processors after the last task."""

from __future__ import annotations

from pacenote.telemetry.device import DeviceReading, TelemetryDevice, expected_form

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
            values = {
                f"node.{node_id}.geoip_cache_{key}": node["cache_stats"][key]
                for node_id, node in reply["nodes"].items()
                if "cache_stats" in node
                for key in _KEYS
                if key in node["cache_stats"]
            }
        return DeviceReading(values=values)
