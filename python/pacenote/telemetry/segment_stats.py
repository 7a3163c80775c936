"""Rally's `segment-stats`: a table of all segments after the last task."""

from __future__ import annotations

from pacenote.errors import DiskError, EngineError
from pacenote.model.codec import as_text
from pacenote.telemetry.device import DeviceReading, TelemetryDevice, expected_form

_FILE = "segment_stats.log"


class SegmentStats(TelemetryDevice):
    """Writes the engine's table of segments to `segment_stats.log` in the artifacts of the race."""

    name = "segment-stats"
    description = "A table of all segments after the last task, in artifacts/segment_stats.log."
    always_on = False

    def start(self) -> None:
        """Reads nothing: segments of interest are those at the end."""

    def stop(self) -> DeviceReading:
        """Writes the table. Raises EngineError and DiskError."""
        connection = self._cluster.connect()
        try:
            table = connection.get("/_cat/segments?v=true&format=text")
        finally:
            connection.close()
        with expected_form("a table of segments"):
            # Without segments, the reply is empty.
            text = "" if table is None else as_text(table)
        if self._cluster.artifacts is None:
            raise EngineError(f"there is no folder for {_FILE}")
        path = self._cluster.artifacts / _FILE
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        except OSError as error:
            raise DiskError(f"{path} cannot be written: {error.strerror}") from error
        return DeviceReading()
