"""Finds the processes of nodes that Pacenote did not start, if they run on this machine.

A node reports the id of its process as its own container counts it, and when its JVM started. A process of
this machine is that of the node if the kernel says the same about it, and if it has the address of the node.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from msgspec import Struct

from pacenote.host.facts import names_in, read_text

_MAX_ADDRESSES_BYTES = 4 << 20
"""Size up to which the addresses of a process are read."""

_MAX_ADDRESS_CHARS = 100
"""Characters of an address; the longest has 45, and the name of its interface."""

_ADDRESSES_S = 10.0
"""Seconds for which addresses are read: a network may have as many as its user likes."""

_MAX_ALIKE = 1_000
"""Processes that are compared with a node, at most: each container has one with the id 1."""

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
_NONE = "no process of this machine is it"


class ReportedProcess(Struct, frozen=True):
    """What a node reports about its process."""

    node: str
    """Name of the node, which no other one has."""

    pid: int
    """Id of the process, as the node sees it."""

    started_s: float
    """When its JVM started, in seconds since 1970."""

    address: str
    """The IP address that the node publishes."""


class FoundProcesses(Struct, frozen=True):
    """The processes of nodes on this machine."""

    pids: dict[str, int]
    """Ids of the processes by the name of the node."""

    missing: dict[str, str]
    """Why the process of a node is not known, by the name of the node."""


class _Process(Struct, frozen=True):
    pid: int
    inner_pid: int
    started_s: float


def find_processes(reported: Sequence[ReportedProcess], proc: Path = Path("/proc")) -> FoundProcesses:
    """Returns the processes of nodes, as far as they run on this machine.

    A process whose addresses would have to be read after ten seconds is not that of a node, nor is one of
    more than twenty with the same id in their containers.
    """
    pids, missing = dict[str, int](), dict[str, str]()
    running = dict[int, list[_Process]]()
    for process in _processes(proc, {process.pid for process in reported}):
        running.setdefault(process.inner_pid, []).append(process)
    addresses = _Addresses(proc, [process.address for process in reported])
    for node in reported:
        pid_or_reason = _process_of(node, running.get(node.pid, ()), addresses)
        if isinstance(pid_or_reason, str):
            missing[node.node] = pid_or_reason
        elif pid_or_reason in pids.values():
            missing[node.node] = _NONE
        else:
            pids[node.node] = pid_or_reason
    return FoundProcesses(pids, missing)


def _process_of(node: ReportedProcess, running: Sequence[_Process], addresses: _Addresses) -> int | str:
    """Returns the process of a node among those with its id, or why it is not known."""
    alike = [each.pid for each in running if _EARLIEST_S <= node.started_s - each.started_s <= _LATEST_S]
    if len(alike) > _MAX_ALIKE:
        return f"more than {_MAX_ALIKE} processes may be it"
    matching = []
    for pid in alike:
        has_address = addresses.has(pid, node.address)
        if has_address is None:
            return f"reading the addresses of processes took more than {_ADDRESSES_S:g} s"
        if has_address:
            matching.append(pid)
    if len(matching) > 1:
        return "several processes may be it"
    return matching[0] if matching else _NONE


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


class _Addresses:
    """The addresses of processes, as far as nodes report them: each network is read once."""

    def __init__(self, proc: Path, reported: Iterable[str]) -> None:
        self._proc = proc
        self._reported = frozenset(_packed(address) for address in reported)
        self._of_networks: dict[str, frozenset[bytes]] = {}
        self._until_s = time.monotonic() + _ADDRESSES_S

    def has(self, pid: int, address: str) -> bool | None:
        """Returns whether an IP address is one of those that a process has in its network, or None if the
        time for reading them is used up.
        """
        process = self._proc / str(pid)
        try:
            network = os.readlink(process / "ns/net")  # noqa: PTH115  # its text, which is no path
        except OSError:
            network = str(pid)
        if network not in self._of_networks:
            if time.monotonic() > self._until_s:
                return None
            self._of_networks[network] = self._reported.intersection(_addresses(process))
        return _packed(address) in self._of_networks[network]


def _packed(address: str) -> bytes:
    """Returns the bytes of an IP address, or one byte for a text that is none."""
    # The error for such a text repeats it.
    if len(address) <= _MAX_ADDRESS_CHARS:
        with suppress(ValueError):
            return ip_address(address).packed
    return b"\0"


def _addresses(process: Path) -> Iterator[bytes]:
    """Yields the IP addresses that a process has in its network."""
    with suppress(OSError):
        yield from map(_packed, _local_addresses(read_text(process / "net/fib_trie", _MAX_ADDRESSES_BYTES)))
    with suppress(OSError, ValueError):
        for line in read_text(process / "net/if_inet6", _MAX_ADDRESSES_BYTES).splitlines():
            yield bytes.fromhex(line.partition(" ")[0])


def _local_addresses(fib_trie: str) -> Iterator[str]:
    """Yields the own IPv4 addresses in the routes of a network: the line after an address has its kind."""
    address = ""
    for line in fib_trie.splitlines():
        if match := _ADDRESS.search(line):
            address = match[1]
        elif line.strip() == _LOCAL:
            yield address
