"""Reads all facts of this machine."""

from __future__ import annotations

import contextlib
import os
import platform
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct, field

from pacenote.host.cpu import read_cpu
from pacenote.host.disks import read_disks
from pacenote.host.facts import Facts, read_text
from pacenote.host.kernel import read_kernel
from pacenote.host.network import read_network
from pacenote.host.process import read_process, read_process_environment
from pacenote.host.readings import read_readings, read_stolen_time
from pacenote.model.snapshot import Snapshot
from pacenote.system.paths import exists

_CONTAINER_FILES = {"docker": Path("/.dockerenv"), "podman": Path("/run/.containerenv")}
"""Files that only exist in containers, by the kind of container."""

_PACKAGE_NAME = re.compile(r"[A-Za-z0-9._-]+")


class MachineRequest(Struct, frozen=True):
    """What to read of this machine."""

    paths: Mapping[str, Path]
    """Paths whose disks are read, by their role, such as `data`."""

    processes: Mapping[str, int] = field(default_factory=dict)
    """Ids of further processes, by the key of their facts, such as `node.rally-node-0`."""

    environments: bool = True
    """Whether to read the environment variables of these processes: not of those of others."""

    watch_s: float = 0.0
    """Seconds for which CPU time that the hypervisor takes is watched; 0 does not watch it."""

    proc: Path = Path("/proc")
    """Where the file system `proc` is mounted."""

    sys: Path = Path("/sys")
    """Where the file system `sys` is mounted."""

    os_release: Path = Path("/etc/os-release")
    """The file that names the distribution of Linux."""


def read_machine(request: MachineRequest) -> Snapshot:
    """Returns the facts of this machine. Never raises for what it cannot read, and changes nothing."""
    facts, proc, sys = Facts(), request.proc, request.sys
    areas: dict[str, Callable[[], None]] = {
        "kernel": lambda: read_kernel(facts, proc, sys),
        "cpu": lambda: read_cpu(facts, proc, sys),
        "reading": lambda: read_readings(facts, proc),
        "disk": lambda: read_disks(facts, proc, sys, request.paths),
        "network": lambda: read_network(facts, sys),
        "driver.process": lambda: read_process(facts, proc, sys, "driver.process", None),
        "process": lambda: _read_processes(facts, request),
        "machine": lambda: _read_system(facts, request),
        "reading.stolen_percent": lambda: read_stolen_time(facts, proc, request.watch_s),
    }
    for area, read in areas.items():
        try:
            read()
        except Exception as error:
            # A machine in a form that this code does not know must not end a race.
            facts.unread(f"{area}.*", f"{type(error).__name__}: {error}")
    return facts.snapshot()


def _read_processes(facts: Facts, request: MachineRequest) -> None:
    for key, pid in request.processes.items():
        read_process(facts, request.proc, request.sys, f"{key}.process", pid)
        if request.environments:
            read_process_environment(facts, request.proc, f"{key}.process", pid)


def _read_system(facts: Facts, request: MachineRequest) -> None:
    facts.set("software.libc", " ".join(platform.libc_ver()).strip() or None)
    text = facts.text("software.linux", request.os_release)
    for line in (text or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            facts.set("software.linux", line.partition("=")[2].strip("\"'"))
    for name in ("sys_vendor", "product_name"):
        facts.optional(f"machine.{name}", request.sys / "class/dmi/id" / name)
    facts.optional("machine.hypervisor", request.sys / "hypervisor/type")
    facts.set("machine.container", _container())
    facts.set("machine.time_zone", os.environ.get("TZ"))
    _read_packages(facts)


def _read_packages(facts: Facts) -> None:
    """Adds the versions of the Python packages that Pacenote requires."""
    for name, version in _packages().items():
        facts.set(f"software.python_package.{name}", version)
    if not _packages():
        facts.unread("software.python_package.*", "Pacenote is not installed as a package")


@cache
def _packages() -> Mapping[str, str]:
    """Returns the versions of installed packages by name. They are read once, because that takes a while."""
    # Imported here because it is slow to import.
    from importlib import metadata

    packages: dict[str, str] = {}
    with contextlib.suppress(metadata.PackageNotFoundError):
        for requirement in metadata.requires("pacenote") or []:
            name = _PACKAGE_NAME.match(requirement)
            if name is not None and "extra ==" not in requirement:
                with contextlib.suppress(metadata.PackageNotFoundError):
                    packages[name[0].lower()] = metadata.version(name[0])
    return packages


def _container() -> str | None:
    """Returns the kind of container that this process is in, or None if it is not known to be in one."""
    try:
        return read_text(Path("/run/systemd/container"))
    except OSError:
        kinds = (kind for kind, file in _CONTAINER_FILES.items() if exists(file))
        return next(kinds, None)
