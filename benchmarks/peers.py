"""Pacenote and those it is measured beside, run once: wrk and Rally.

Each returns what it did by its own account, with the processor time that the system took down for it.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import null_server
from machine import PACENOTE, PYTHON, Finished, pinned, run
from outcome import BenchmarkError

_RALLY = "2.13.0"

Record = Mapping[str, Any]
"""A race.json."""


@dataclass(frozen=True, slots=True)
class Raced:
    """A race of Pacenote: the command as the system saw it, and its record."""

    command: Finished
    record: Record

    @property
    def task(self) -> Record:
        """The last task, which is the one that matters. Raises BenchmarkError if something failed in it."""
        task: Record = self.record["tasks"][-1]
        if task["accounting"]["failed"] or task["accounting"]["unanswered"]:
            raise BenchmarkError(f"requests of task {task['task']} failed")
        return task


@dataclass(frozen=True, slots=True)
class Wrk:
    """What wrk did."""

    requests: int
    cpu_s: float
    wall_s: float


@dataclass(frozen=True, slots=True)
class Rallied:
    """A race of Rally: the command, and the result of its last task."""

    command: Finished
    result: Record


def pacenote(
    track: Path, port: int, home: Path, core: int | None = None, options: Sequence[str] = ()
) -> Raced:
    """Runs a race of a track against a server on this machine, on one core or on all."""
    race_id = f"race-{time.monotonic_ns()}"
    command = [
        *(PACENOTE, "race", "--pipeline=benchmark-only", f"--target-hosts=127.0.0.1:{port}"),
        *(f"--track-path={track}", f"--race-id={race_id}", "--quiet", *options),
    ]
    # A void or suspect race is no reason to stop: what matters is checked by whoever asks.
    done = run(_on(core, command), environment={"PACENOTE_HOME": str(home)}, good=(0, 3))
    return Raced(done, json.loads((home / "races" / race_id / "race.json").read_text()))


def wrk(port: int, folder: Path, core: int, seconds: int, connections: int) -> Wrk:
    """Searches as fast as one thread can, every connection with one request under way.

    Raises BenchmarkError when a reply was not good.
    """
    script = folder / "search.lua"
    # Without a function of its own wrk sends what it has built once: the fastest it can.
    script.write_text(
        f"wrk.method = 'POST'\nwrk.body = '{null_server.SEARCH_BODY}'\n"
        "wrk.headers['content-type'] = 'application/json'\n"
    )
    url = f"http://127.0.0.1:{port}{null_server.SEARCH_PATH}"
    done = run(_on(core, ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script), url]))
    counted = re.search(r"(\d+) requests in", done.output)
    if counted is None or "Non-2xx" in done.output or "Socket errors" in done.output:
        raise BenchmarkError(f"wrk got bad replies: {' / '.join(done.output.splitlines()[-4:])}")
    return Wrk(int(counted[1]), done.cpu_s, done.wall_s)


def wrk_version() -> str:
    """The version of wrk."""
    found = re.search(r"[\d.]+\S*", run(["wrk", "-v"], good=(0, 1)).output)
    return found[0] if found else "unknown"


def rally_missing(engines: Path) -> str:
    """Why Rally cannot be run here, empty if it can; it is installed beside the engines if need be."""
    try:
        _rally(engines)
    except BenchmarkError as error:
        return f"Rally {_RALLY} could not be installed: {error}"
    return ""


def rally(track: Path, port: int, engines: Path, core: int | None = None) -> Rallied:
    """Runs a race of Rally. Raises BenchmarkError when a request of its last task failed."""
    home = engines / "rally-home"
    home.mkdir(exist_ok=True)
    races = home / ".rally" / "benchmarks" / "races"
    before = set(races.glob("*/race.json"))
    command = [
        *(str(_rally(engines)), "race", "--pipeline=benchmark-only", f"--target-hosts=127.0.0.1:{port}"),
        *(f"--track-path={track}", "--offline", "--on-error=abort", "--quiet"),
        # A check of OpenSearch's reply to `/` would stop it; the server says what it wants to hear.
        "--kill-running-processes",
    ]
    done = run(_on(core, command), environment={"HOME": str(home)})
    new = set(races.glob("*/race.json")) - before
    if len(new) != 1:
        raise BenchmarkError(f"Rally has not finished its race: {' / '.join(done.output.splitlines()[-3:])}")
    result = json.loads(new.pop().read_text())["results"]["op_metrics"][-1]
    if result["error_rate"]:
        raise BenchmarkError(f"requests of Rally's task {result['task']} failed")
    return Rallied(done, result)


def rally_version() -> str:
    """The version of Rally that is installed."""
    return _RALLY


@functools.cache
def _rally(engines: Path) -> Path:
    """Rally's command, in an environment of its own: what it depends on is not what Pacenote does."""
    environment = engines / f"rally-{_RALLY}"
    command = environment / "bin" / "esrally"
    if not command.is_file():
        engines.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(environment, ignore_errors=True)
        run([PYTHON, "-m", "venv", str(environment)])
        run([str(environment / "bin" / "pip"), "install", "--quiet", f"esrally=={_RALLY}"])
    return command


def _on(core: int | None, command: Sequence[str]) -> list[str]:
    return list(command) if core is None else pinned(core, command)


def write_track(
    folder: Path, name: str, operation: Record, how: Record, corpus: Record | None = None
) -> Path:
    """A track of one task that both Pacenote and Rally can run."""
    track = folder / name
    track.mkdir()
    document: dict[str, Any] = {"version": 2, "description": name, "indices": [{"name": "logs"}]}
    if corpus is not None:
        document["corpora"] = [{"name": "logs", "documents": [{"target-index": "logs", **corpus}]}]
    document["schedule"] = [{"name": name, "operation": {"name": name, **operation}, **how}]
    (track / "track.json").write_text(json.dumps(document))
    return track


def search(**how: float) -> tuple[Record, Record]:
    """The operation of a small search, and how it is run."""
    body = json.loads(null_server.SEARCH_BODY)
    return {"operation-type": "search", "index": "logs", "body": body}, how
