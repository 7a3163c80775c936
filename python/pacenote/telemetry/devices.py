"""The telemetry devices of a race. A new device is added to `DEVICES`."""

from __future__ import annotations

from pacenote.telemetry.device import TelemetryDevice
from pacenote.telemetry.index_stats import IndexStats
from pacenote.telemetry.ingest_stats import IngestStats
from pacenote.telemetry.jvm_stats import JvmStats
from pacenote.telemetry.startup_time import StartupTime

DEVICES: tuple[type[TelemetryDevice], ...] = (IndexStats, JvmStats, IngestStats, StartupTime)
"""All devices, in the order in which they are started and stopped."""
