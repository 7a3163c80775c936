"""The optional telemetry devices of a race, and which of them make it a profiling race."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from msgspec import Struct, field

PROFILERS = ("jfr", "profile", "jit", "heapdump")
"""Devices that change how the engine runs: the figures of a race with one of them include its cost."""

PROFILER_LIBRARY = "{profiler}"
"""What stands for the path of async-profiler's library in the JVM options of a car."""

PROFILER_FILE = "libasyncProfiler.so"
"""Name of that library, an agent."""

_RECORDING_OPTION = "-XX:StartFlightRecording"
_AGENT = re.compile(r"-(?:agentpath:|agentlib:|javaagent:|Xrun)(?P<file>[^=:]+)")
_ENGINE_HOME = re.compile(r"-D(?:es|opensearch)\.path\.home=(.+)")
_ENGINE_FOLDERS = ("agent", "lib", "modules")
"""Folders of an engine, in its home, that contain agents which belong to it, such as its Java agent that
replaces the security manager (OpenSearch 3), or the one for tracing (Elasticsearch 8).
"""

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
    of_variables = (_words(str((variables or {}).get(name, ""))) for name in JVM_VARIABLES)
    options = [*jvm_options, *(option for words in of_variables for option in words)]
    names = [name for name in devices if name in PROFILERS]
    names += ["jfr" for option in options if option.startswith(_RECORDING_OPTION)]
    agents = (match["file"] for option in options if (match := _AGENT.match(option)))
    names += [f"agent {PurePosixPath(file).name}" for file in agents]
    return tuple(dict.fromkeys(names))


def _words(variable: str) -> list[str]:
    """Returns the options in a variable, in which quotation marks keep spaces, as the launcher reads it."""
    try:
        return shlex.split(variable)
    except ValueError:
        return variable.split()


def reported_profilers(arguments: Iterable[str]) -> tuple[str, ...]:
    """Returns what makes a race a profiling race among the arguments that a JVM of an engine reports. They
    may come from a file of an archive, too. Agents in the engine's own folders are a part of it.
    """
    arguments = tuple(arguments)
    homes = [match[1] for argument in arguments if (match := _ENGINE_HOME.fullmatch(argument))]
    return profilers((), (option for option in arguments if not _is_of_engine(option, homes)))


def _is_of_engine(option: str, homes: Iterable[str]) -> bool:
    """Tells whether an option loads an agent that belongs to the engine in one of these folders, in which it
    runs.
    """
    match = _AGENT.match(option)
    if match is None:
        return False
    file = PurePosixPath(match["file"])
    if ".." in file.parts:
        return False
    inner = [file.relative_to(home) for home in homes if file.is_relative_to(home)]
    return any(len(path.parts) > 1 and path.parts[0] in _ENGINE_FOLDERS for path in (file, *inner))
