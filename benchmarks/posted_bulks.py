"""The bulks of a race as files, and curl processes that post them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from machine import Running
from outcome import BenchmarkError

from pacenote.model.race_request import RaceRequest
from pacenote.model.work import ActionLine, Bulk, BulkFile, CallSequence, Request
from pacenote.operations.base import EngineInfo
from pacenote.plan.build import PlanContext, PlanSettings, build_plan
from pacenote.plan.document import OnError, Plan, PlannedTask
from pacenote.race.corpora import prepare_corpora
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import find_track

CHALLENGE = "append-no-conflicts-index-only"


@dataclass(frozen=True, slots=True)
class Posted:
    """What curl did. `wall_s` from the start of the first process to the end of the last."""

    wall_s: float
    cpu_s: float


def plan_of(home: Path, documents: int) -> Plan:
    """The plan that a race of generated http_logs follows; its data is generated in `home` if need be."""
    params = {"docs": documents}
    request = RaceRequest(race_id="bulks", home=home, track="http_logs", track_params=params)
    track = load_track(find_track("http_logs"), params, RenderOptions(now=time.time()))
    corpora = prepare_corpora(track, track.challenge(CHALLENGE), request, lambda _label, _done, _total: None)
    settings = PlanSettings(race_id="bulks", seed=request.seed, hosts=(), on_error=OnError.CONTINUE)
    return build_plan(track, CHALLENGE, settings, PlanContext(corpora.data_file, EngineInfo()))


def before_bulks(plan: Plan) -> Iterator[Request]:
    """The requests of all tasks before the first bulk task."""
    for task in plan.tasks:
        if isinstance(task.work, Bulk):
            return
        if isinstance(task.work, CallSequence):
            yield from (call for call in task.work.calls if isinstance(call, Request))


def bulk_task(plan: Plan) -> tuple[PlannedTask, Bulk]:
    """The task that indexes."""
    return next((task, task.work) for task in plan.tasks if isinstance(task.work, Bulk))


def write_bulks(plan: Plan, folder: Path) -> tuple[tuple[Path, ...], ...]:
    """Writes the body of every bulk into a file of its own: per client, in the order it sends them."""
    task, bulk = bulk_task(plan)
    folder.mkdir()
    written: list[list[Path]] = [[] for _ in range(task.clients)]
    # File by file, so that each is read once; a client's files come in its own order below.
    by_file = [_write_file(file, task.clients, bulk.bulk_size, folder) for file in bulk.files]
    for client, paths in enumerate(written):
        first = client % len(by_file)
        for of_clients in (*by_file[first:], *by_file[:first]):
            paths.extend(of_clients[client])
    return tuple(tuple(paths) for paths in written)


def _write_file(file: BulkFile, clients: int, bulk_size: int, folder: Path) -> list[list[Path]]:
    """The bulks of one data file, per client."""
    assert isinstance(file.action, ActionLine)
    action = file.action.line.encode() + b"\n"
    lines = Path(file.path).read_bytes().splitlines(keepends=True)
    if len(lines) != file.documents:
        raise BenchmarkError(f"{Path(file.path).name} holds {len(lines)} documents, not {file.documents}")
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
    """Has one curl process post all bodies, one after another, over one connection.

    The body is read while it is sent, as Pacenote does. Without the empty header curl would wait a round
    trip for leave to send it.
    """
    common = ['request = "POST"', 'header = "Expect:"', 'noproxy = "*"', "silent", "show-error"]
    common += [f'header = "{name}: {value}"' for name, value in headers.items()]
    common += ['output = "/dev/null"', r'write-out = "%{http_code} %{num_connects}\n"', f'url = "{url}"']
    parts = ["\n".join([*common, f'upload-file = "{body}"']) for body in bodies]
    path.write_text("\nnext\n".join(parts) + "\n")
    return path


def post(configs: tuple[Path, ...]) -> Posted:
    """Runs one curl process per configuration, at once. Raises BenchmarkError unless all went well."""
    processes = [Running(["curl", "--disable", "--config", str(config)]) for config in configs]
    try:
        finished = [process.wait() for process in processes]
    finally:
        for process in processes:
            process.stop()
    for each in finished:
        lines = each.output.split("\n")[:-1]
        refused = [line for line in lines if not line.startswith("200 ")]
        if refused:
            raise BenchmarkError(f"curl got another answer than 200: {refused[0]}")
        if sum(int(line.split()[1]) for line in lines) != 1:
            raise BenchmarkError("curl has not kept its connection")
    began, ended = min(each.begun_ns for each in finished), max(each.ended_ns for each in finished)
    return Posted((ended - began) / 1e9, sum(each.cpu_s for each in finished))


def size_of(bodies: tuple[tuple[Path, ...], ...]) -> int:
    """Bytes of all bodies."""
    return sum(path.stat().st_size for paths in bodies for path in paths)


def corpus_note(home: Path) -> str:
    """What was indexed, in one line."""
    note = json.loads(next((home / "corpora").glob("*/*/generated.json")).read_text())
    size = sum(file["bytes"] for file in note["files"])
    documents = sum(count for _, count in note["counts"])
    return f"{documents:,} documents, {size / 1e6:,.0f} MB, {note['generator']}, seed {note['seed']}"
