"""What else races on this machine: two experiments, or an experiment and a race, disturb each other."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
from collections.abc import Generator
from pathlib import Path

from pacenote.model.messages import list_with_rest
from pacenote.store.race_index import RaceFilter
from pacenote.store.race_store import RaceStore

_NAME = "pacenote-experiment-"
_SOCKETS = Path("/proc/net/unix")
_ANNOUNCED = re.compile(rf"@({_NAME}\d{{1,10}})$")
_NEWEST = 20
_MAX_NAMED = 3

_MAX_WAITING = 4096
"""Questions that may be asked about an announcement before its user is not known any more."""

_CREDENTIALS = struct.Struct("3i")
"""Process, user and group of the other end of a connection."""

_UNKNOWN_USER = -1


@contextlib.contextmanager
def announced() -> Generator[None, None, None]:
    """Lets other processes of this machine see that this one runs an experiment."""
    # A socket with an abstract name needs no file, and ends with its process, however that ends.
    with socket.socket(socket.AF_UNIX) as announcement:
        with contextlib.suppress(OSError):  # Not every system has such names.
            announcement.bind(f"\0{_NAME}{os.getpid()}")
            # The kernel tells who listens, and counts those who ask until this process ends.
            announcement.listen(_MAX_WAITING)
        yield


def other_races(races: RaceStore) -> tuple[str, ...]:
    """Returns what races on this machine beside the experiment of this process, which runs no race now: at
    most one text for experiments of this user or root, one for those of others, and one for races.

    Every user can take any number of names, so that the texts contain none of them.
    """
    owners = _announcing_users()
    trusted = {os.geteuid(), 0}
    running = [race.race_id for race in races.list(RaceFilter(limit=_NEWEST)) if race.state == "running"]
    names = list_with_rest(running, _MAX_NAMED)
    others = f"race {names} runs" if len(running) == 1 else f"races {names} run"
    return (
        *(["another experiment runs at the same time"] if owners & trusted else []),
        *(["an experiment of another user runs at the same time"] if owners - trusted else []),
        *([f"{others} at the same time"] if running else []),
    )


def _announcing_users() -> set[int]:
    """Returns the users of the other processes that announce an experiment."""
    try:
        with _SOCKETS.open(encoding="utf-8", errors="replace") as lines:
            names = {match[1] for line in lines if (match := _ANNOUNCED.search(line))}
    except OSError:
        return set()
    owners = (_owner(name) for name in names - {f"{_NAME}{os.getpid()}"})
    return {owner for owner in owners if owner is not None}


def _owner(name: str) -> int | None:
    """Returns the user of the process that listens under a name, or None if none does: any user can write a
    line of the list of sockets, with a line break in the name of another socket, and take the name of any
    process.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.setblocking(False)
        try:
            connection.connect(f"\0{name}")
        except BlockingIOError:
            return _UNKNOWN_USER  # Too many connections wait, which any user can have made.
        except OSError:
            return None
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(credentials)
    return int(user)
