"""The telemetry devices, and those of one race. A new device is added to `ALWAYS_ON` or `OPTIONAL`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from pacenote.errors import UsageError
from pacenote.model.telemetry_options import TelemetryOptions
from pacenote.telemetry.ccr_stats import CcrStats
from pacenote.telemetry.data_stream_stats import DataStreamStats
from pacenote.telemetry.device import TelemetryDevice
from pacenote.telemetry.disk_usage_stats import DiskUsageStats
from pacenote.telemetry.environment_info import ClusterEnvironmentInfo, NodeEnvironmentInfo
from pacenote.telemetry.geoip_stats import GeoIpStats
from pacenote.telemetry.index_stats import IndexStats
from pacenote.telemetry.ingest_stats import IngestStats
from pacenote.telemetry.jvm_devices import FlightRecorder, GcLogDevice, HeapDump, JitCompiler, Profiler
from pacenote.telemetry.jvm_stats import JvmStats
from pacenote.telemetry.master_node import MasterNodeStats
from pacenote.telemetry.memory_pools import MemoryPools
from pacenote.telemetry.ml_stats import MlProcessingTimes
from pacenote.telemetry.node_counters import EngineCounters
from pacenote.telemetry.node_disk import DiskIo, IndexSize
from pacenote.telemetry.node_gauges import NodeGauges
from pacenote.telemetry.node_stats import NodeStats
from pacenote.telemetry.parameters import DeviceParameter, TelemetryParams
from pacenote.telemetry.segment_stats import SegmentStats
from pacenote.telemetry.shard_stats import RecoveryStats, ShardStats
from pacenote.telemetry.snapshot_stats import BlobStoreStats, SearchableSnapshotsStats
from pacenote.telemetry.startup_time import StartupTime
from pacenote.telemetry.transform_stats import TransformStats

ALWAYS_ON: tuple[type[TelemetryDevice], ...] = (
    EngineCounters,
    NodeGauges,
    MasterNodeStats,
    IndexStats,
    JvmStats,
    MemoryPools,
    IngestStats,
    DiskIo,
    IndexSize,
    MlProcessingTimes,
    StartupTime,
    ClusterEnvironmentInfo,
    NodeEnvironmentInfo,
)
"""Devices of every race, in the order in which they are started and stopped."""

OPTIONAL: tuple[type[TelemetryDevice], ...] = (
    FlightRecorder,
    Profiler,
    JitCompiler,
    GcLogDevice,
    NodeStats,
    RecoveryStats,
    CcrStats,
    SegmentStats,
    TransformStats,
    SearchableSnapshotsStats,
    ShardStats,
    DataStreamStats,
    DiskUsageStats,
    BlobStoreStats,
    GeoIpStats,
    HeapDump,
)
"""Devices that `--telemetry` names."""


def devices_of(
    options: TelemetryOptions, *, is_serverless: bool, is_operator: bool
) -> tuple[type[TelemetryDevice], ...]:
    """Returns the devices of a race. Those that a serverless cluster does not permit are left out."""
    always = ALWAYS_ON if options.default_devices else ()
    chosen = (*always, *(device for device in OPTIONAL if device.name in options.devices))
    if not is_serverless:
        return chosen
    permitted = ("public", "operator") if is_operator else ("public",)
    return tuple(device for device in chosen if device.serverless in permitted)


def check_telemetry(options: TelemetryOptions, *, starts_engine: bool) -> None:
    """Raises UsageError for unknown devices and parameters, for values that a parameter cannot have, and for
    devices that need an engine which Pacenote starts on this host, or that exclude each other.
    """
    by_name = _by_name()
    for name in options.devices:
        if name not in by_name:
            raise UsageError(f"unknown telemetry device '{name}' in --telemetry", hint=_close(name, by_name))
        if by_name[name].needs_own_engine and not starts_engine:
            raise UsageError(
                f"--telemetry={name} needs an engine that the race starts on this host",
                hint="omit it with --pipeline=benchmark-only or docker",
            )
    if {FlightRecorder.name, Profiler.name} <= set(options.devices):
        raise UsageError(
            "--telemetry cannot have jfr and profile: the samples of both would be counted together",
            hint="race once with each",
        )
    known = {parameter.name: parameter for device in by_name.values() for parameter in device.parameters}
    for name, value in options.params.items():
        if name not in known:
            raise UsageError(f"unknown parameter '{name}' in --telemetry-params", hint=_close(name, known))
        known[name].value_of(value)
    jvm_options(options, "logs")


def unused_parameters(options: TelemetryOptions) -> Iterator[str]:
    """Yields a warning for each parameter of a device that the race does not run."""
    for device in _by_name().values():
        runs = device.name in options.devices or (device.always_on and options.default_devices)
        wanted = "--default-telemetry" if device.always_on else f"--telemetry={device.name}"
        for parameter in device.parameters:
            if parameter.name in options.params and not runs:
                yield f"--telemetry-params: {parameter.name} has no effect without {wanted}"


def jvm_options(options: TelemetryOptions, logs: str) -> tuple[str, ...]:
    """Returns the JVM options of the devices of a race; `logs` is the folder for their files. Raises
    UsageError.
    """
    params = TelemetryParams(options.params)
    all_options = (
        option
        for device in OPTIONAL
        if device.name in options.devices
        for option in device.jvm_options(params, logs)
    )
    return tuple(dict.fromkeys(all_options))


def _by_name() -> Mapping[str, type[TelemetryDevice]]:
    return {device.name: device for device in (*ALWAYS_ON, *OPTIONAL)}


def _close(name: str, known: Mapping[str, type[TelemetryDevice]] | Mapping[str, DeviceParameter]) -> str:
    close = get_close_matches(name, known, n=2)
    return f"did you mean {' or '.join(close)}?" if close else "`pacenote list telemetry` shows them all"
