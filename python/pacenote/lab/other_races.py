"""What else races on this machine: two experiments, or an experiment and a race, disturb each other."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Generator
from pathlib import Path

from pacenote.model.messages import list_with_rest
from pacenote.store.race_index import RaceFilter
from pacenote.store.race_store import RaceStore
from pacenote.system.process import effective_user

_NAME = "pacenote-experiment-"
_SOCKETS = Path("/proc/net/unix")
_ANNOUNCED = re.compile(rf"@{_NAME}(\d+)$")
_NEWEST = 20
_MAX_NAMED = 3


@contextlib.contextmanager
def announced() -> Generator[None, None, None]:
    """Lets other processes of this machine see that this one runs an experiment."""
    # A socket with an abstract name needs no file, and ends with its process, however that ends.
    with socket.socket(socket.AF_UNIX) as announcement:
        with contextlib.suppress(OSError):  # Not every system has such names.
            announcement.bind(f"\0{_NAME}{os.getpid()}")
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
    """Returns the users of the other processes that run and whose ids are announced."""
    owners = set[int]()
    try:
        with _SOCKETS.open(encoding="utf-8", errors="replace") as lines:
            processes = {match[1] for line in lines if (match := _ANNOUNCED.search(line))}
    except OSError:
        return set()
    for process in processes - {str(os.getpid())}:
        with contextlib.suppress(OSError):  # It does not run, or is not visible to this user.
            # The owner of the folder would be root if the process forbade dumps of its memory.
            status = Path(f"/proc/{process}/status").read_text("utf-8", "replace")
            if (user := effective_user(status)) is not None:
                owners.add(user)
    return owners
