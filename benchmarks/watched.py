"""Races of a tiny track, watched by a server that writes down when requests arrive."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import PACENOTE, PYTHON, Finished, cores, pinned, run
from outcome import BenchmarkError

DRIVER = "pacenote"
"""User agent of the driver; control traffic has another."""

_SERVER = Path(__file__).with_name("answering.py")


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its reply as the server saw them, on the monotonic clock."""

    arrived_ns: int
    replied_ns: int
    agent: str
    method: str
    path: str
    mark: str

    @property
    def planned(self) -> bool:
        """Whether it belongs to the plan, rather than to control traffic."""
        return self.agent == DRIVER

    @property
    def task(self) -> int:
        """Number of the task of a tiny track that it belongs to."""
        return int(self.mark)


@dataclass(frozen=True, slots=True)
class Watched:
    """A race and everything the server saw of it, in order of arrival."""

    race: Finished
    exchanges: tuple[Exchange, ...]

    @property
    def planned(self) -> tuple[Exchange, ...]:
        """What belongs to the plan."""
        return tuple(exchange for exchange in self.exchanges if exchange.planned)


def write_track(folder: Path, tasks: int, clients: int) -> Path:
    """A track of so many tasks; each client sends one cheap request per task, marked with its number."""
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


def watch(track: Path, home: Path, upstream: int | None = None) -> Watched:
    """Runs a race of a track, the server on one core and Pacenote on the other.

    Raises BenchmarkError when the race fails.
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
            race = run(
                pinned(measured, _race(track, port)), environment={"PACENOTE_HOME": str(home)}, good=(0, 3)
            )
        finally:
            server.terminate()
    found = tuple(Exchange(**entry) for entry in json.loads(log.read_text()))
    return Watched(race, tuple(sorted(found, key=lambda exchange: exchange.arrived_ns)))


def _port(server: subprocess.Popen[str]) -> int:
    assert server.stdout is not None
    line = server.stdout.readline()
    if not line.strip().isdigit():
        raise BenchmarkError("the answering server has not started")
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
