"""Options and commands of Rally that Pacenote does not have yet, each with what to do instead."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class UnavailableOption(NamedTuple):
    """What happens if an option is given that Pacenote does not have.

    Not a dataclass, because the module `dataclasses` is slow to import.
    """

    hint: str
    """What to do instead, or that the feature comes in a later version."""

    accepted: tuple[str, ...] = ()
    """Values that ask for what happens anyway, such as Rally's default; they have no effect."""


_TEAMS = "team repositories come later; --car and --car-params configure the engine"
_SOURCES = "Pacenote does not build engines; --distribution-version selects one, --target-hosts uses your own"
_PLUGINS = "plugins come later; install them on a cluster of your own and use --target-hosts"
_THIS_MACHINE = "the download is always for this machine"

_OPTIONS = {
    "--team-path": UnavailableOption(_TEAMS),
    "--team-repository": UnavailableOption(_TEAMS, ("default",)),
    "--team-revision": UnavailableOption(_TEAMS),
    "--revision": UnavailableOption(_SOURCES, ("current",)),
    "--source-build-method": UnavailableOption(_SOURCES, ("default",)),
    "--distribution-repository": UnavailableOption(
        "engines come from Maven Central; --maven-mirror selects another server", ("release",)
    ),
    "--elasticsearch-plugins": UnavailableOption(_PLUGINS, ("",)),
    "--plugin-params": UnavailableOption(_PLUGINS, ("",)),
    "--load-driver-hosts": UnavailableOption(
        "load from several hosts comes later; the load is generated on this host",
        ("localhost", "127.0.0.1"),
    ),
    "--telemetry": UnavailableOption(
        "optional devices come later; all devices of `pacenote list telemetry` are always on", ("",)
    ),
    "--telemetry-params": UnavailableOption("optional devices come later", ("",)),
    "--enable-driver-profiling": UnavailableOption("race.json has the CPU time of each thread of the driver"),
    "--multi-cluster": UnavailableOption(
        "a race measures one cluster; runners can use the others that --target-hosts names"
    ),
    "--target-os": UnavailableOption(_THIS_MACHINE, ("linux",)),
    "--target-arch": UnavailableOption(_THIS_MACHINE, (os.uname().machine,)),
}

TEAM_OPTIONS = ("--team-path", "--team-repository", "--team-revision")
"""Options that select a team repository."""


def unavailable_options(names: Iterable[str]) -> Mapping[str, UnavailableOption]:
    """Returns these options by name."""
    return {name: _OPTIONS[name] for name in names}


UNAVAILABLE_COMMANDS = {
    "build": "Pacenote does not build engines; `pacenote download` downloads one",
    "compare": "comparing comes later; `pacenote report RACE --report-format=json` has the figures of a race",
    "diagnose": "it comes later; `pacenote report RACE` has the reasons for the verdict",
    "experiment": "it comes later; repeat `pacenote race` with --user-tags to tell the races apart",
    "export": "it comes later; a race folder has JSON and Parquet files",
    "gc": "it comes later; the logs of the engine are in the race folder, below `artifacts`",
    "host": "it comes later; race.json describes the host of a race",
    "import": "it comes later; Rally's races stay in Rally",
    "install": "it comes later; `pacenote race` starts an engine, --target-hosts uses one that runs",
    "jfr": "it comes later; recordings of the engine are in the race folder, below `artifacts`",
    "serve": "it comes later; `pacenote report` shows a race",
    "start": "it comes later; `pacenote race` starts an engine, --target-hosts uses one that runs",
    "stop": "it comes later; `pacenote race` stops the engine that it started",
    "trend": "it comes later; `pacenote list races --format=json` lists races",
    "tune": "it comes later; `pacenote race` with --car-params measures one setting",
}
"""Commands of Rally, and commands to come, that Pacenote does not have yet, with what to do instead."""
