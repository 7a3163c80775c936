"""Options of Rally that Pacenote does not have yet, each with what to do instead."""

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


_THIS_MACHINE = "the download is always for this machine"

_OPTIONS = {
    "--source-build-method": UnavailableOption(
        "builds run on this host, with a JDK of the environment", ("default",)
    ),
    "--load-driver-hosts": UnavailableOption(
        "load from several hosts comes later; the load is generated on this host",
        ("localhost", "127.0.0.1"),
    ),
    "--telemetry": UnavailableOption(
        "devices run with a race; a recording of the JVM (jfr): "
        "--jvm=-XX:StartFlightRecording=filename=race.jfr",
        ("",),
    ),
    "--telemetry-params": UnavailableOption("devices run with a race", ("",)),
    "--enable-driver-profiling": UnavailableOption("race.json has the CPU time of each thread of the driver"),
    "--multi-cluster": UnavailableOption(
        "a race measures one cluster; runners can use the others that --target-hosts names"
    ),
    "--target-os": UnavailableOption(_THIS_MACHINE, ("linux",)),
    "--target-arch": UnavailableOption(_THIS_MACHINE, (os.uname().machine,)),
}


def unavailable_options(names: Iterable[str]) -> Mapping[str, UnavailableOption]:
    """Returns these options by name."""
    return {name: _OPTIONS[name] for name in names}
