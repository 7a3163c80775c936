"""The optional telemetry devices of a race, and which of them make it a profiling race."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

PROFILERS = ("jfr", "jit", "heapdump")
"""Devices that change how the engine runs: the figures of a race with one of them include its cost."""

_RECORDING_OPTION = "-XX:StartFlightRecording"


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryOptions:
    """What the options for telemetry select."""

    default_devices: bool = True
    """Whether the devices that are always on run, and the host is sampled (`--default-telemetry`)."""

    devices: tuple[str, ...] = ()
    """Names of optional devices, in the order given."""

    params: Mapping[str, object] = field(default_factory=dict)
    """Parameters of devices, under Rally's names."""


def profilers(devices: Iterable[str], jvm_options: Iterable[str]) -> tuple[str, ...]:
    """Returns what makes a race a profiling race: its devices, and `jfr` if the user's own options of the JVM
    start a recording. Empty if it is not one.
    """
    found = [name for name in devices if name in PROFILERS]
    if "jfr" not in found and any(option.startswith(_RECORDING_OPTION) for option in jvm_options):
        found.append("jfr")
    return tuple(dict.fromkeys(found))
