"""Writes the bulks of a race to files, and sends them with curl processes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from machine import RunningCommand
from outcome import BenchmarkError

from pacenote.model.engine import EngineInfo
from pacenote.model.race_request import RaceRequest
from pacenote.model.work import ActionLine, BulkFile, BulkWork, CallSequence, Request
from pacenote.plan.build import PlanContext, PlanSettings, build_plan
from pacenote.plan.document import OnError, Plan, PlannedTask
from pacenote.race.corpora import prepare_corpora
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import find_track

CHALLENGE = "append-no-conflicts-index-only"


@dataclass(frozen=True, slots=True)
class CurlRun:
    """A run of several curl processes at the same time."""

    wall_s: float
    """Seconds from the start of the first process to the end of the last."""

    cpu_s: float
    """CPU time of all processes in seconds."""


def plan_of(home: Path, documents: int) -> Plan:
    """Returns the plan of a race with generated http_logs; generates its data in `home` if necessary."""
    params = {"docs": documents}
    request = RaceRequest(race_id="bulks", home=home, track="http_logs", track_params=params)
    track = load_track(find_track("http_logs"), params, RenderOptions(now=time.time()))
    corpora = prepare_corpora(track, track.challenge(CHALLENGE), request, lambda _label, _done, _total: None)
    settings = PlanSettings(race_id="bulks", seed=request.seed, hosts=(), on_error=OnError.CONTINUE)
    return build_plan(track, CHALLENGE, settings, PlanContext(corpora.data_file, EngineInfo()))


def before_bulks(plan: Plan) -> Iterator[Request]:
    """Yields the requests of the tasks before the first bulk task."""
    for task in plan.tasks:
        if isinstance(task.work, BulkWork):
            return
        if isinstance(task.work, CallSequence):
            yield from (call for call in task.work.calls if isinstance(call, Request))


def bulk_task(plan: Plan) -> tuple[PlannedTask, BulkWork]:
    """Returns the first bulk task of a plan, and its work."""
    return next((task, task.work) for task in plan.tasks if isinstance(task.work, BulkWork))


def write_bulks(plan: Plan, folder: Path) -> tuple[tuple[Path, ...], ...]:
    """Writes the body of every bulk to a separate file; returns the files by client, in sending order."""
    task, bulk = bulk_task(plan)
    folder.mkdir()
    written: list[list[Path]] = [[] for _ in range(task.clients)]
    # Each data file is read only once; the bulks are put into the order of each client below.
    by_file = [_write_file(file, task.clients, bulk.bulk_size, folder) for file in bulk.files]
    for client, paths in enumerate(written):
        first = client % len(by_file)
        for by_client in (*by_file[first:], *by_file[:first]):
            paths.extend(by_client[client])
    return tuple(tuple(paths) for paths in written)


def _write_file(file: BulkFile, clients: int, bulk_size: int, folder: Path) -> list[list[Path]]:
    """Writes the bulks of one data file; returns their files by client."""
    assert isinstance(file.action, ActionLine)
    action = file.action.line.encode() + b"\n"
    lines = Path(file.path).read_bytes().splitlines(keepends=True)
    if len(lines) != file.documents:
        raise BenchmarkError(f"{Path(file.path).name} contains {len(lines)} documents, not {file.documents}")
    share = file.documents / clients
    written: list[list[Path]] = []
    for client in range(clients):
        first, end = round(share * client), round(share * (client + 1))
        written.append([])
        for start in range(first, end, bulk_size):
            body = b"".join(action + line for line in lines[start : min(start + bulk_size, end)])
            path = folder / f"{Path(file.path).stem}-{client}-{start}.ndjson"
            path.write_bytes(body)
            written[client].append(path)
    return written


def write_curl_config(path: Path, url: str, headers: Mapping[str, str], bodies: tuple[Path, ...]) -> Path:
    """Writes the configuration of one curl process, which sends all bodies, in order, over one connection.

    curl reads each body while it sends it, as Pacenote does. The empty `Expect` header prevents curl from
    waiting for the status 100 before it sends the body.
    """
    common = ['request = "POST"', 'header = "Expect:"', 'noproxy = "*"', "silent", "show-error"]
    common += [f'header = "{name}: {value}"' for name, value in headers.items()]
    common += ['output = "/dev/null"', r'write-out = "%{http_code} %{num_connects}\n"', f'url = "{url}"']
    parts = ["\n".join([*common, f'upload-file = "{body}"']) for body in bodies]
    path.write_text("\nnext\n".join(parts) + "\n")
    return path


def run_curl(configs: tuple[Path, ...]) -> CurlRun:
    """Runs one curl process per configuration, all at the same time.

    Raises BenchmarkError if a request failed or a process opened a second connection.
    """
    processes = [RunningCommand(["curl", "--disable", "--config", str(config)]) for config in configs]
    try:
        finished = [process.wait() for process in processes]
    finally:
        for process in processes:
            process.stop()
    for each in finished:
        lines = each.output.split("\n")[:-1]
        failed = [line for line in lines if not line.startswith("200 ")]
        if failed:
            raise BenchmarkError(f"curl received a status other than 200: {failed[0]}")
        if sum(int(line.split()[1]) for line in lines) != 1:
            raise BenchmarkError("curl did not keep its connection")
    started, ended = min(each.started_ns for each in finished), max(each.ended_ns for each in finished)
    return CurlRun((ended - started) / 1e9, sum(each.cpu_s for each in finished))


def size_of(bodies: tuple[tuple[Path, ...], ...]) -> int:
    """Returns the total size of all bodies in bytes."""
    return sum(path.stat().st_size for paths in bodies for path in paths)


def corpus_note(home: Path) -> str:
    """Returns the size and origin of the generated corpus below `home`, in one line."""
    manifest = json.loads(next((home / "corpora").glob("*/*/generated.json")).read_text())
    size = sum(file["bytes"] for file in manifest["files"])
    documents = sum(count for _, count in manifest["counts"])
    return f"{documents:,} documents, {size / 1e6:,.0f} MB, {manifest['generator']}, seed {manifest['seed']}"
