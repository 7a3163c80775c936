"""Races a tiny track against a server that records when requests arrive."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import PACENOTE, PYTHON, FinishedCommand, cores, pinned, run
from outcome import BenchmarkError

DRIVER = "pacenote"
"""The driver's user agent; control traffic has a different one."""

_SERVER = Path(__file__).with_name("recording_server.py")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its reply as the server recorded them."""

    arrived_ns: int
    """Time at which the request began to arrive, in nanoseconds on the monotonic clock."""

    replied_ns: int
    """Time just before the reply was sent, in nanoseconds on the monotonic clock."""

    agent: str
    """User agent of the request."""

    method: str
    """HTTP method."""

    path: str
    """Path and query."""

    mark: str
    """The `x-opaque-id` of the request: the number of its task, or an empty string for control traffic."""

    @property
    def planned(self) -> bool:
        """Whether the request belongs to the plan and not to control traffic."""
        return self.agent == DRIVER

    @property
    def task(self) -> int:
        """Number of the task in the tiny track to which the request belongs."""
        return int(self.mark)


@dataclass(frozen=True, slots=True)
class RecordedRace:
    """A race with all requests that the server received."""

    command: FinishedCommand
    """The command that ran the race."""

    exchanges: tuple[Exchange, ...]
    """All requests with their replies, in order of arrival."""

    @property
    def planned(self) -> tuple[Exchange, ...]:
        """The requests that belong to the plan."""
        return tuple(exchange for exchange in self.exchanges if exchange.planned)


def write_track(folder: Path, tasks: int, clients: int) -> Path:
    """Writes a track with `tasks` tasks and returns its folder.

    In each task, each client sends one cheap request, which is marked with the task's number.
    """
    schedule: list[Mapping[str, Any]] = [
        {
            "name": f"task-{number:02}",
            "operation": {
                "operation-type": "raw-request",
                "path": "/",
                "headers": {"x-opaque-id": str(number)},
            },
            "clients": clients,
            "iterations": 1,
        }
        for number in range(tasks)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    document = {"version": 2, "description": "one cheap request per client and task", "schedule": schedule}
    (folder / "track.json").write_text(json.dumps(document))
    return folder


def record_race(track: Path, home: Path, upstream: int | None = None) -> RecordedRace:
    """Races a track, with the server on one core and Pacenote on another.

    `upstream` is the port of the engine to which requests are forwarded, or None for canned replies. Raises
    BenchmarkError if the race fails.
    """
    serving, measured = cores()
    home.mkdir(exist_ok=True)
    log = home / "exchanges.json"
    log.unlink(missing_ok=True)
    arguments = [str(log)] if upstream is None else [str(log), str(upstream)]
    command = pinned(serving, [PYTHON, str(_SERVER), *arguments])
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = _port(server)
            command = pinned(measured, _race(track, port))
            race = run(command, environment={"PACENOTE_HOME": str(home)}, accepted_codes=(0, 3))
        finally:
            server.terminate()
    exchanges = (Exchange(**entry) for entry in json.loads(log.read_text()))
    return RecordedRace(race, tuple(sorted(exchanges, key=lambda exchange: exchange.arrived_ns)))


def _port(server: subprocess.Popen[str]) -> int:
    assert server.stdout is not None
    line = server.stdout.readline()
    if not line.strip().isdigit():
        raise BenchmarkError("the recording server did not start")
    return int(line)


def _race(track: Path, port: int) -> list[str]:
    return [
        PACENOTE,
        "race",
        "--pipeline=benchmark-only",
        f"--target-hosts=127.0.0.1:{port}",
        f"--track-path={track}",
        "--quiet",
    ]
