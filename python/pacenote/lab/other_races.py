"""What else races on this machine: two experiments, or an experiment and a race, disturb each other."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Generator
from pathlib import Path

from pacenote.store.race_index import RaceFilter
from pacenote.store.race_store import RaceStore

_NAME = "pacenote-experiment-"
_SOCKETS = Path("/proc/net/unix")
_ANNOUNCED = re.compile(rf"@{_NAME}(\d+)$", re.MULTILINE)
_NEWEST = 20


@contextlib.contextmanager
def announced() -> Generator[None, None, None]:
    """Lets other processes of this machine see that this one runs an experiment."""
    # A socket with an abstract name needs no file, and ends with its process, however that ends.
    with socket.socket(socket.AF_UNIX) as announcement:
        with contextlib.suppress(OSError):  # Not every system has such names.
            announcement.bind(f"\0{_NAME}{os.getpid()}")
        yield


def other_races(races: RaceStore) -> tuple[str, ...]:
    """Returns what races on this machine beside the experiment of this process, which runs no race now."""
    try:
        text = _SOCKETS.read_text("utf-8", "replace")
    except OSError:
        text = ""
    found = sorted(set(_ANNOUNCED.findall(text)) - {str(os.getpid())})
    running = [race.race_id for race in races.list(RaceFilter(limit=_NEWEST)) if race.state == "running"]
    return (
        *(f"another experiment runs at the same time (process {process})" for process in found),
        *(f"race {race_id} runs at the same time" for race_id in running),
    )
