"""Runs Pacenote and the tools with which it is compared, wrk and Rally, once each.

Each run returns the results that the tool reports, and the CPU time that the operating system measured.
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
from machine import PACENOTE, PYTHON, FinishedCommand, pinned, run
from outcome import BenchmarkError

_RALLY = "2.13.0"

Record = Mapping[str, Any]
"""A JSON object, such as the content of race.json."""


@dataclass(frozen=True, slots=True)
class PacenoteRun:
    """A race that Pacenote ran."""

    command: FinishedCommand
    """The command that ran the race."""

    record: Record
    """The race record."""

    @property
    def task(self) -> Record:
        """The last task, which is the measured one. Raises BenchmarkError if one of its requests failed."""
        task: Record = self.record["tasks"][-1]
        if task["accounting"]["failed"] or task["accounting"]["unanswered"]:
            raise BenchmarkError(f"requests of task {task['task']} failed")
        return task


@dataclass(frozen=True, slots=True)
class WrkRun:
    """A run of wrk."""

    requests: int
    """Number of answered requests."""

    cpu_s: float
    """CPU time of the process in seconds."""

    wall_s: float
    """Wall time of the process in seconds."""


@dataclass(frozen=True, slots=True)
class RallyRun:
    """A race that Rally ran."""

    command: FinishedCommand
    """The command that ran the race."""

    result: Record
    """The result of the last task."""


def pacenote(
    track: Path, port: int, home: Path, core: int | None = None, options: Sequence[str] = ()
) -> PacenoteRun:
    """Races a track with Pacenote against a server on this machine, on `core`, or on all cores if `core` is
    None.
    """
    race_id = f"race-{time.monotonic_ns()}"
    command = [
        *(PACENOTE, "race", "--pipeline=benchmark-only", f"--target-hosts=127.0.0.1:{port}"),
        *(f"--track-path={track}", f"--race-id={race_id}", "--quiet", *options),
    ]
    # A void race (code 3) is also accepted: the caller checks the results that it uses.
    done = run(_on(core, command), environment={"PACENOTE_HOME": str(home)}, accepted_codes=(0, 3))
    return PacenoteRun(done, json.loads((home / "races" / race_id / "race.json").read_text()))


def wrk(port: int, folder: Path, core: int, seconds: int, connections: int) -> WrkRun:
    """Sends searches with wrk as fast as one thread can; each connection has one request in flight.

    Raises BenchmarkError if a request failed.
    """
    script = folder / "search.lua"
    # Without a `request` function, wrk builds the request once, which is its fastest mode.
    script.write_text(
        f"wrk.method = 'POST'\nwrk.body = '{null_server.SEARCH_BODY}'\n"
        "wrk.headers['content-type'] = 'application/json'\n"
    )
    url = f"http://127.0.0.1:{port}{null_server.SEARCH_PATH}"
    done = run(_on(core, ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script), url]))
    counted = re.search(r"(\d+) requests in", done.output)
    if counted is None or "Non-2xx" in done.output or "Socket errors" in done.output:
        raise BenchmarkError(f"wrk requests failed: {' / '.join(done.output.splitlines()[-4:])}")
    return WrkRun(int(counted[1]), done.cpu_s, done.wall_s)


def wrk_version() -> str:
    """Returns the version of wrk."""
    match = re.search(r"[\d.]+\S*", run(["wrk", "-v"], accepted_codes=(0, 1)).output)
    return match[0] if match else "unknown"


def rally_missing(engines: Path) -> str:
    """Returns the reason why Rally cannot run, or an empty string.

    Installs Rally into the engines' folder if necessary.
    """
    try:
        _rally(engines)
    except BenchmarkError as error:
        return f"Rally {_RALLY} could not be installed: {error}"
    return ""


def rally(track: Path, port: int, engines: Path, core: int | None = None) -> RallyRun:
    """Races a track with Rally. Raises BenchmarkError if a request of the last task failed."""
    home = engines / "rally-home"
    home.mkdir(exist_ok=True)
    races = home / ".rally" / "benchmarks" / "races"
    before = set(races.glob("*/race.json"))
    command = [
        *(str(_rally(engines)), "race", "--pipeline=benchmark-only", f"--target-hosts=127.0.0.1:{port}"),
        *(f"--track-path={track}", "--offline", "--on-error=abort", "--quiet"),
        # Otherwise, Rally does not start while another race is running on this machine.
        "--kill-running-processes",
    ]
    done = run(_on(core, command), environment={"HOME": str(home)})
    new = set(races.glob("*/race.json")) - before
    if len(new) != 1:
        raise BenchmarkError(f"Rally did not finish its race: {' / '.join(done.output.splitlines()[-3:])}")
    result = json.loads(new.pop().read_text())["results"]["op_metrics"][-1]
    if result["error_rate"]:
        raise BenchmarkError(f"requests of Rally's task {result['task']} failed")
    return RallyRun(done, result)


def rally_version() -> str:
    """Returns the installed version of Rally."""
    return _RALLY


@functools.cache
def _rally(engines: Path) -> Path:
    """Returns the path of Rally's command; it has its own environment because its dependencies differ."""
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
    folder: Path, name: str, operation: Record, parameters: Record, corpus: Record | None = None
) -> Path:
    """Writes a track that both Pacenote and Rally can run, with one task; returns its folder.

    `parameters` are the task's parameters, such as its number of clients.
    """
    track = folder / name
    track.mkdir()
    document: dict[str, Any] = {"version": 2, "description": name, "indices": [{"name": "logs"}]}
    if corpus is not None:
        document["corpora"] = [{"name": "logs", "documents": [{"target-index": "logs", **corpus}]}]
    document["schedule"] = [{"name": name, "operation": {"name": name, **operation}, **parameters}]
    (track / "track.json").write_text(json.dumps(document))
    return track


def search(**parameters: float) -> tuple[Record, Record]:
    """Returns the operation of a small search, and the parameters of its task, for `write_track`."""
    body = json.loads(null_server.SEARCH_BODY)
    return {"operation-type": "search", "index": "logs", "body": body}, parameters
