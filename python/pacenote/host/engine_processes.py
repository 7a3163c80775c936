"""Finds the processes of nodes that Pacenote did not start, if they run on this machine.

A node reports the id of its process as its own container counts it, and when its JVM started. A process of
this machine is that of the node if the kernel says the same about it, and if it has the address of the node.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from pacenote.host.facts import names_in, read_text

_MAX_ADDRESSES_BYTES = 4 << 20
"""Size up to which the addresses of a process are read."""

_MAX_STATISTICS_BYTES = 16 << 20
"""Size up to which the statistics of the kernel are read: hosts with many CPUs have 1 MB."""

_EARLIEST_S = -3.0
_LATEST_S = 60.0
"""Seconds after the start of the process at which its JVM starts: a script may run in it before, and the
kernel counts the time of the boot in whole seconds.
"""

_BOOT_TIME = re.compile(r"^btime (\d+)$", re.MULTILINE)
_NAMESPACES = re.compile(r"^NSpid:\s+(?:\d+\s+)*(\d+)$", re.MULTILINE)
_ADDRESS = re.compile(r"\|-- (\S+)")
_LOCAL = "/32 host LOCAL"


@dataclass(frozen=True, slots=True)
class ReportedProcess:
    """What a node reports about its process."""

    node: str
    """Name of the node."""

    pid: int
    """Id of the process, as the node sees it."""

    started_s: float
    """When its JVM started, in seconds since 1970."""

    address: str
    """The IP address that the node publishes."""


@dataclass(frozen=True, slots=True)
class FoundProcesses:
    """The processes of nodes on this machine."""

    pids: dict[str, int]
    """Ids of the processes by the name of the node."""

    missing: dict[str, str]
    """Why the process of a node is not known, by the name of the node."""


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    inner_pid: int
    started_s: float


def find_processes(reported: Sequence[ReportedProcess], proc: Path = Path("/proc")) -> FoundProcesses:
    """Returns the processes of nodes, as far as they run on this machine."""
    pids, missing = dict[str, int](), dict[str, str]()
    running = list(_processes(proc, {each.pid for each in reported}))
    for node in reported:
        alike = [
            each.pid
            for each in running
            if each.inner_pid == node.pid
            and _EARLIEST_S <= node.started_s - each.started_s <= _LATEST_S
            and _has_address(proc / str(each.pid), node.address)
        ]
        if len(alike) == 1 and alike[0] not in pids.values():
            pids[node.node] = alike[0]
        else:
            missing[node.node] = (
                "several processes may be it" if alike else "no process of this machine is it"
            )
    return FoundProcesses(pids, missing)


def shares_files(pid: int, proc: Path = Path("/proc")) -> bool:
    """Returns whether a process sees the same mounts as this one, so that its paths are valid here."""
    with suppress(OSError):
        return (proc / str(pid) / "ns/mnt").samefile(proc / "self/ns/mnt")
    return False


def _processes(proc: Path, inner_pids: set[int]) -> Iterator[_Process]:
    """Yields the processes with these ids in the innermost of their containers."""
    try:
        boot_s = int(_BOOT_TIME.findall(read_text(proc / "stat", _MAX_STATISTICS_BYTES))[0])
    except (OSError, IndexError):
        return
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    for name in names_in(proc):
        if not name.isdigit():
            continue
        # It may end in the meantime.
        with suppress(OSError, ValueError, IndexError):
            inner = _NAMESPACES.search(read_text(proc / name / "status"))
            if inner is not None and int(inner[1]) in inner_pids:
                fields = read_text(proc / name / "stat").rpartition(")")[2].split()
                # The 20th field after the name is the start time in ticks since the boot.
                yield _Process(int(name), int(inner[1]), boot_s + int(fields[19]) / ticks_per_s)


def _has_address(process: Path, address: str) -> bool:
    """Returns whether an IP address is one of those that a process has in its network."""
    with suppress(OSError, ValueError):
        wanted = ip_address(address)
        if wanted.version == 4:
            return str(wanted) in _local_addresses(read_text(process / "net/fib_trie", _MAX_ADDRESSES_BYTES))
        lines = read_text(process / "net/if_inet6", _MAX_ADDRESSES_BYTES).splitlines()
        return wanted.packed.hex() in {line.partition(" ")[0] for line in lines}
    return False


def _local_addresses(fib_trie: str) -> Iterator[str]:
    """Yields the own IPv4 addresses in the routes of a network: the line after an address has its kind."""
    address = ""
    for line in fib_trie.splitlines():
        if match := _ADDRESS.search(line):
            address = match[1]
        elif line.strip() == _LOCAL:
            yield address
