"""Writes the bulks of a race to files, and posts them with the smallest sender (`sender.py`)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from machine import PYTHON, run
from outcome import BenchmarkError

from pacenote.model.client_options import ACCEPT_ENCODING
from pacenote.model.engine import EngineInfo
from pacenote.model.race_request import RaceRequest
from pacenote.model.work import ActionLine, BulkWork, CallSequence, Request
from pacenote.plan.build import PlanContext, PlanSettings, build_plan
from pacenote.plan.document import OnError, Plan, PlannedTask
from pacenote.race.corpora import prepare_corpora
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import find_track

CHALLENGE = "append-no-conflicts-index-only"

_SENDER = Path(__file__).with_name("sender.py")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file with one document per line."""

    path: Path
    """Path of the file."""

    documents: int
    """Number of documents in it."""

    action: str
    """The action line before each document, without a line end."""


@dataclass(frozen=True, slots=True)
class Bulks:
    """Bodies that are ready to be posted."""

    path: str
    """Path of the requests."""

    headers: Mapping[str, str]
    """Headers of the requests."""

    bodies: tuple[tuple[Path, ...], ...]
    """Files with the bodies, by client, in the order in which they are sent."""

    @property
    def count(self) -> int:
        """Number of bulks."""
        return sum(map(len, self.bodies))

    @property
    def size(self) -> int:
        """Total size of the bodies in bytes."""
        return sum(path.stat().st_size for paths in self.bodies for path in paths)


@dataclass(frozen=True, slots=True)
class SenderRun:
    """A run of the smallest sender."""

    seconds: float
    """Seconds from the first request to the last reply."""

    cpu_s: float
    """CPU time of the process in seconds, with its startup."""


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


def bulks_of_plan(plan: Plan, folder: Path) -> Bulks:
    """Writes the body of every bulk of a plan to a separate file."""
    task, bulk = bulk_task(plan)
    folder.mkdir()
    written: list[list[Path]] = [[] for _ in range(task.clients)]
    # Each data file is read only once; the bulks are put into the order of each client below.
    by_file = []
    for file in bulk.files:
        assert isinstance(file.action, ActionLine)
        data = DataFile(Path(file.path), file.documents, file.action.line)
        by_file.append(write_bodies(data, task.clients, bulk.bulk_size, folder))
    for client, paths in enumerate(written):
        first = client % len(by_file)
        for by_client in (*by_file[first:], *by_file[:first]):
            paths.extend(by_client[client])
    headers = {ACCEPT_ENCODING: "gzip", **dict(bulk.headers)}
    return Bulks(bulk.path, headers, tuple(tuple(paths) for paths in written))


def write_bodies(data: DataFile, clients: int, bulk_size: int, folder: Path) -> list[list[Path]]:
    """Writes the bulks of one data file, of which each client sends its own range; returns their files by
    client.

    Raises BenchmarkError if the file has a different number of documents.
    """
    action = data.action.encode() + b"\n"
    lines = data.path.read_bytes().splitlines(keepends=True)
    if len(lines) != data.documents:
        raise BenchmarkError(f"{data.path.name} contains {len(lines)} documents, not {data.documents}")
    share = data.documents / clients
    written: list[list[Path]] = []
    for client in range(clients):
        first, end = round(share * client), round(share * (client + 1))
        written.append([])
        for start in range(first, end, bulk_size):
            body = b"".join(action + line for line in lines[start : min(start + bulk_size, end)])
            path = folder / f"{data.path.stem}-{client}-{start}.ndjson"
            path.write_bytes(body)
            written[client].append(path)
    return written


def send(bulks: Bulks, port: int, folder: Path) -> SenderRun:
    """Posts all bulks to a server on this machine. Raises BenchmarkError if one fails."""
    configuration = folder / "sender.json"
    clients = [[str(path) for path in paths] for paths in bulks.bodies]
    document = {"port": port, "path": bulks.path, "headers": dict(bulks.headers), "clients": clients}
    configuration.write_text(json.dumps(document))
    done = run([PYTHON, str(_SENDER), str(configuration)])
    sent = json.loads(done.output)
    if sent["requests"] != bulks.count:
        raise BenchmarkError(f"the sender posted {sent['requests']} of {bulks.count} bulks")
    return SenderRun(sent["seconds"], done.cpu_s)


def corpus_note(home: Path) -> str:
    """Returns the size and origin of the generated corpus below `home`, in one line."""
    manifest = json.loads(next((home / "corpora").glob("*/*/generated.json")).read_text())
    size = sum(file["bytes"] for file in manifest["files"])
    documents = sum(count for _, count in manifest["counts"])
    return f"{documents:,} documents, {size / 1e6:,.0f} MB, {manifest['generator']}, seed {manifest['seed']}"
