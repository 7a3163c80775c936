"""The optional telemetry devices of a race, and which of them make it a profiling race."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from msgspec import Struct, field

PROFILERS = ("jfr", "profile", "jit", "heapdump")
"""Devices that change how the engine runs: the figures of a race with one of them include its cost."""

PROFILER_LIBRARY = "{profiler}"
"""What stands for the path of async-profiler's library in the JVM options of a car."""

_RECORDING_OPTION = "-XX:StartFlightRecording"
_AGENT = re.compile(r"-(?:agentpath:|agentlib:|javaagent:|Xrun)(?P<file>[^=:]+)")

JVM_VARIABLES = (
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "OPENJ9_JAVA_OPTIONS",
    "ES_JAVA_OPTS",
    "OPENSEARCH_JAVA_OPTS",
)
"""Environment variables with options of the JVM."""


class TelemetryOptions(Struct, frozen=True, kw_only=True):
    """What the options for telemetry select."""

    default_devices: bool = True
    """Whether the devices that are always on run, and the host is sampled (`--default-telemetry`)."""

    devices: tuple[str, ...] = ()
    """Names of optional devices, in the order given."""

    params: Mapping[str, object] = field(default_factory=dict)
    """Parameters of devices, under Rally's names."""


def profilers(
    devices: Iterable[str], jvm_options: Iterable[str], variables: Mapping[str, object] | None = None
) -> tuple[str, ...]:
    """Returns what makes a race a profiling race: its devices, `jfr` if the user's own options of the JVM
    start a recording, and the names of agents that they load, which can do anything to the engine.
    `variables` are those of the engine's environment, which may have options too. Empty if it is not one.
    """
    of_variables = (str((variables or {}).get(name, "")).split() for name in JVM_VARIABLES)
    options = [*jvm_options, *(option for words in of_variables for option in words)]
    names = [name for name in devices if name in PROFILERS]
    names += ["jfr" for option in options if option.startswith(_RECORDING_OPTION)]
    agents = (match["file"] for option in options if (match := _AGENT.match(option)))
    names += [f"agent {PurePosixPath(file).name}" for file in agents]
    return tuple(dict.fromkeys(names))
