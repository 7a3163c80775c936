"""Rally's devices of the JVM: recordings and logs of the nodes that Pacenote starts.

The files are in the artifacts of the race afterwards, like all files in the logs folder of a node. The engine
runs differently with `jfr`, `profile`, `jit` and `heapdump`, so that these make a race a profiling race.
"""

from __future__ import annotations

import re

from pacenote.errors import UsageError
from pacenote.model.telemetry_options import PROFILER_LIBRARY
from pacenote.telemetry.device import DeviceReading, TelemetryDevice
from pacenote.telemetry.heap_dump import dump_heap
from pacenote.telemetry.parameters import DeviceParameter, TelemetryParams

_DURATION = re.compile(r"\d+(ns|us|ms|s|m|h|d)")
_INTERVAL = re.compile(r"[1-9]\d{0,8}(ns|us|ms|s)")
_SETTINGS = re.compile(r"[^,\s\"]+")

_TEMPLATE = DeviceParameter(
    "recording-template", "text", "", "`default`, `profile` or the path of a .jfc file"
)
_DELAY = DeviceParameter(
    "jfr-delay", "text", "", "how long after the start the recording begins, such as 30s"
)
_DURATION_OF_RECORDING = DeviceParameter(
    "jfr-duration", "text", "", "how long it takes; by default until the end"
)
_PROFILE_EVENT = DeviceParameter(
    "profile-event", "text", "cpu", "`cpu`, `wall`, `alloc` or `lock`, or several with `+`, such as cpu+alloc"
)
_PROFILE_INTERVAL = DeviceParameter(
    "profile-interval", "text", "10ms", "time of a thread between two of its samples, of cpu and wall"
)
_GC_CONFIG = DeviceParameter(
    "gc-log-config", "text", "gc*=info,safepoint=info,age*=trace", "tags and levels of -Xlog"
)

_PROFILE_EVENTS = {
    "cpu": "event=cpu,interval={interval}",
    "wall": "event=wall,interval={interval}",
    "alloc": "alloc=512k",
    "lock": "lock=1ms",
}
"""What async-profiler's argument is for each event."""

_ACCURATE = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints")
"""Options without which samples of a profiler are attributed to the next safepoint."""


class _JvmDevice(TelemetryDevice):
    """A device that only adds options to the JVMs."""

    always_on = False
    needs_own_engine = True

    def start(self) -> None:
        """Reads nothing: the JVM writes the file."""

    def stop(self) -> DeviceReading:
        """Returns no values: the file is complete when the node has stopped."""
        return DeviceReading()


class FlightRecorder(_JvmDevice):
    """A recording of the JVM's Flight Recorder, from the start of the node to its end."""

    name = "jfr"
    description = "A recording of Java Flight Recorder: artifacts/profile.jfr. The race is a profiling race."
    parameters = (_TEMPLATE, _DELAY, _DURATION_OF_RECORDING)

    @classmethod
    def jvm_options(cls, params: TelemetryParams, logs: str, /) -> tuple[str, ...]:
        """Returns the options of the recording. Raises UsageError for parameters that the JVM refuses."""
        parts = ["maxsize=0", "maxage=0s", "disk=true", "dumponexit=true", f"filename={logs}/profile.jfr"]
        for key, parameter, form, example in (
            ("delay", _DELAY, _DURATION, "30s"),
            ("duration", _DURATION_OF_RECORDING, _DURATION, "10m"),
            ("settings", _TEMPLATE, _SETTINGS, "profile"),
        ):
            value = params.text(parameter)
            if value and not form.fullmatch(value):
                raise UsageError(
                    f"{parameter.name} in --telemetry-params cannot be '{value}'",
                    hint=f"for example {parameter.name}:{example}",
                )
            if value:
                parts.append(f"{key}={value}")
        return (*_ACCURATE, f"-XX:StartFlightRecording={','.join(parts)}")


class Profiler(_JvmDevice):
    """A recording of async-profiler, from the start of the node to its end."""

    name = "profile"
    description = "A recording of async-profiler: artifacts/async-profile.jfr. The race is a profiling race."
    parameters = (_PROFILE_EVENT, _PROFILE_INTERVAL)

    @classmethod
    def jvm_options(cls, params: TelemetryParams, logs: str, /) -> tuple[str, ...]:
        """Returns the option that loads the profiler. Raises UsageError for events that it does not have.

        Allocations are sampled every 512 KiB, which is its default, and waits for locks from 1 ms on.
        """
        events, interval = params.text(_PROFILE_EVENT).split("+"), params.text(_PROFILE_INTERVAL)
        if len(set(events)) != len(events) or not _PROFILE_EVENTS.keys() >= set(events):
            raise UsageError(
                f"{_PROFILE_EVENT.name} in --telemetry-params cannot be '{'+'.join(events)}'",
                hint="for example profile-event:cpu or profile-event:wall+alloc+lock",
            )
        if {"cpu", "wall"} <= set(events):
            raise UsageError(
                f"{_PROFILE_EVENT.name} in --telemetry-params cannot be cpu and wall: samples of "
                "threads that wait would be among those of the CPUs",
                hint="race once with each",
            )
        if not _INTERVAL.fullmatch(interval):
            raise UsageError(
                f"{_PROFILE_INTERVAL.name} in --telemetry-params cannot be '{interval}'",
                hint=f"for example {_PROFILE_INTERVAL.name}:10ms",
            )
        chosen = [_PROFILE_EVENTS[event].format(interval=interval) for event in events]
        arguments = ",".join(["start", *chosen, "jfr", f"file={logs}/async-profile.jfr"])
        return (*_ACCURATE, f"-agentpath:{PROFILER_LIBRARY}={arguments}")


class JitCompiler(_JvmDevice):
    """The log of the JIT compilers."""

    name = "jit"
    description = "The log of the JIT compilers: artifacts/jit.log. The race is a profiling race."

    @classmethod
    def jvm_options(cls, _params: TelemetryParams, logs: str, /) -> tuple[str, ...]:
        """Returns the options of the log.

        Rally also prints loaded classes and assembly code: JDK 17 no longer has the option for classes, and
        assembly code needs a library that no JDK contains.
        """
        return ("-XX:+UnlockDiagnosticVMOptions", "-XX:+LogCompilation", f"-XX:LogFile={logs}/jit.log")


class GcLogDevice(_JvmDevice):
    """The log of the garbage collector with other tags and levels, and without rotation."""

    name = "gc"
    description = "The GC log with tags and levels of your choice, not rotated: artifacts/gc.log."
    parameters = (_GC_CONFIG,)

    @classmethod
    def jvm_options(cls, params: TelemetryParams, logs: str, /) -> tuple[str, ...]:
        """Returns the option of the log, which replaces the usual one. Raises UsageError."""
        config = params.text(_GC_CONFIG)
        if not _is_log_config(config):
            raise UsageError(
                f"{_GC_CONFIG.name} in --telemetry-params cannot be '{config}'",
                hint="give tags and levels such as gc*=info,safepoint=info",
            )
        return (f"-Xlog:{config}:file={logs}/gc.log:utctime,uptimenanos,level,tags:filecount=0",)


class HeapDump(TelemetryDevice):
    """A dump of all objects on the heap after the last task."""

    name = "heapdump"
    description = (
        "A dump of the heap after the last task: artifacts/heap_at_exit_PID.hprof. The race is a profiling "
        "race."
    )
    always_on = False
    needs_own_engine = True

    def start(self) -> None:
        """Reads nothing: the dump is that at the end."""

    def stop(self) -> DeviceReading:
        """Has the JVM of each node write its dump. Raises EngineError."""
        for node in self._cluster.nodes:
            dump_heap(node.pid, node.logs / f"heap_at_exit_{node.pid}.hprof")
        return DeviceReading()


def _is_log_config(config: str) -> bool:
    return re.fullmatch(r"[a-z0-9+*=,]+", config) is not None
