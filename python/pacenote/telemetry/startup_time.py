"""How long the node took to start, under Rally's name for the value."""

from __future__ import annotations

from pacenote.telemetry.device import DeviceReading, TelemetryDevice


class StartupTime(TelemetryDevice):
    """Seconds until the node was healthy, as measured when Pacenote started it."""

    name = "startup-time"
    description = "Seconds until a node that Pacenote starts is healthy."

    serverless = "public"

    def start(self) -> None:
        """Reads nothing: the node was started before the race."""

    def stop(self) -> DeviceReading:
        """Returns `node_startup_time`; no value for an existing cluster, whose start is not known."""
        seconds = self._cluster.startup_s
        return DeviceReading(values={} if seconds is None else {"node_startup_time": seconds})
