"""Races with thousands of clients, in every kind of loop."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pacenote.model.race_record import RaceRecord
from pacenote.store.race_store import RaceStore
from support.engine import OPENSEARCH, engine_document

pytestmark = pytest.mark.process

CLIENTS = 3_000


class Connection(asyncio.Protocol):
    """Responds like OpenSearch, without a thread for each connection."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, separator, body = bytes(self._received).partition(b"\r\n\r\n")
        lines = head.decode().lower().split("\r\n")
        length = next((int(line[15:]) for line in lines if line.startswith("content-length:")), 0)
        if not separator or len(body) < length:
            return
        self._received.clear()
        content = json.dumps(self._respond(lines[0].split()[1], body)).encode()
        self._transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content))

    def _respond(self, target: str, body: bytes) -> dict[str, Any]:
        if target == "/_bulk":
            items = [{"index": {"status": 201}}] * (body.count(b"\n") // 2)
            return {"took": 1, "errors": False, "items": items}
        return engine_document(target, OPENSEARCH)


@contextmanager
def many_connections() -> Iterator[str]:
    """Starts the server, and returns its address. Skips the test if it may not open enough files."""
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= allowed[1] < 3 * CLIENTS:
        pytest.skip(f"the system allows only {allowed[1]:,} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed[1], allowed[1]))
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(Connection, "127.0.0.1", 0, backlog=CLIENTS))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        loop.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, allowed)


def race(tmp_path: Path, tasks: list[dict[str, Any]], *options: str) -> RaceRecord:
    track = tmp_path / "track"
    track.mkdir()
    (track / "docs.json").write_text('{"n": 1}\n' * CLIENTS)
    documents = {"source-file": "docs.json", "document-count": CLIENTS, "target-index": "logs"}
    corpora = [{"name": "c", "documents": [documents]}]
    schedule = [{"clients": CLIENTS, **task} for task in tasks]
    track_document = {"version": 2, "indices": [{"name": "logs"}], "corpora": corpora, "schedule": schedule}
    (track / "track.json").write_text(json.dumps(track_document))
    with many_connections() as address:
        command = [sys.executable, "-m", "pacenote", "race", f"--track-path={track}", "--race-id=r"]
        command += [f"--target-hosts={address}", "--pipeline=benchmark-only", *options]
        environment = {**os.environ, "PACENOTE_HOME": str(tmp_path / "home")}
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return RaceStore(tmp_path / "home").load("r")


REQUEST = {"operation-type": "raw-request", "path": "/planned"}
SECOND = {"time-period": 1, "warmup-time-period": 0, "target-throughput": CLIENTS}


def test_thousands_of_clients_run_closed_loops_and_send_bulks(tmp_path: Path) -> None:
    tasks = [
        {"name": "closed", "operation": {**REQUEST, "name": "closed"}, "iterations": 2},
        {"name": "paced", "operation": {**REQUEST, "name": "paced"}, **SECOND},
        {"name": "bulk", "operation": {"operation-type": "bulk", "bulk-size": 1}},
    ]
    closed, paced, bulk = race(tmp_path, tasks, "--driver-threads=8").tasks
    assert closed.accounting.succeeded == 2 * CLIENTS
    assert bulk.work.done == CLIENTS
    assert paced.accounting.operations + paced.accounting.unsent == CLIENTS
    assert paced.accounting.failed == 0


def test_thousands_of_clients_share_schedules(tmp_path: Path) -> None:
    tasks = [
        {"name": "even", "operation": {**REQUEST, "name": "even"}, **SECOND},
        {"name": "random", "operation": {**REQUEST, "name": "random"}, "schedule": "poisson", **SECOND},
    ]
    even, random = race(tmp_path, tasks, "--open-loop", "--driver-threads=8").tasks
    assert even.accounting.operations + even.accounting.unsent == CLIENTS
    assert random.accounting.operations + random.accounting.unsent > CLIENTS / 2
    assert even.accounting.failed == random.accounting.failed == 0
