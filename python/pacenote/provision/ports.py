"""Ports of the loopback address for nodes."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.system.locks import open_lock, try_lock

_SETTINGS = ("http.port", "transport.port")

_SOCKETS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENS = "0A"
"""The state of a socket that listens, in the lists of the kernel."""


def _word(number: bytes) -> str:
    """Returns four bytes of an address as the kernel lists them."""
    return f"{int.from_bytes(number, sys.byteorder):08X}"


_LOOPBACK = _word(b"\x7f\0\0\1")
_EXACT = frozenset((_LOOPBACK, f"{'0' * 16}{_word(bytes(2) + bytes((255, 255)))}{_LOOPBACK}"))
"""The address 127.0.0.1 of both kinds of sockets. Connections go to others only if none listens there."""

_EVERY = frozenset(("0" * 8, "0" * 32))


def free_ports(count: int) -> tuple[int, ...]:
    """Returns ports of the loopback address that are currently free."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        # All ports are bound before any is closed, so they differ.
        for bound in sockets:
            bound.bind(("127.0.0.1", 0))
        return tuple(int(bound.getsockname()[1]) for bound in sockets)
    finally:
        for bound in sockets:
            bound.close()


def reserve_ports(folder: Path, ports: Iterable[int]) -> bool:
    """Reserves ports until this process ends, for an engine that will listen on them, or whose state will
    name them; `folder` has the locks. Returns False if another command has reserved one of them.

    Raises OSError if the locks cannot be created.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        for port in ports:
            descriptor = open_lock(folder / str(port))
            stack.callback(os.close, descriptor)
            if not try_lock(descriptor):
                return False
        # The operating system ends the locks together with the process.
        stack.pop_all()
    return True


def check_ports(settings: Mapping[str, object]) -> None:
    """Raises EngineError if another process listens on a port that the settings of a node select."""
    for name in _SETTINGS:
        text = str(settings.get(name, ""))
        if text.isdigit() and 0 < int(text) < 1 << 16 and is_taken(int(text)):
            raise EngineError(
                f"port {text} is taken: another process listens on the {name} of the node",
                hint=f"end that process, or omit {name}, so that a free port is chosen",
            )


def is_taken(port: int) -> bool:
    """Returns whether another process listens on a port of the loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Like the engine's own sockets: connections that have ended do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as failure:
            return failure.errno == errno.EADDRINUSE
    return False


def listening_users(port: int) -> frozenset[int] | None:
    """Returns the ids of the users whose sockets get connections to a port of the loopback address; None if
    the kernel does not tell.
    """
    users: dict[str, set[int]] = {}
    is_known = False
    for file in _SOCKETS:
        with contextlib.suppress(OSError), file.open(encoding="ascii") as lines:
            next(lines, None)
            for fields in map(str.split, lines):
                address, _, number = fields[1].partition(":")
                if fields[3] == _LISTENS and int(number, 16) == port:
                    users.setdefault(address, set()).add(int(fields[7]))
            is_known = True
    user_sets = [ids for kind in (_EXACT, _EVERY) if (ids := [users[name] for name in kind & users.keys()])]
    return frozenset(set().union(*user_sets[0]) if user_sets else ()) if is_known else None
