"""`pacenote saturate` against a server whose limit is known, and against a real engine."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pacenote.model.saturation import SaturationResult

pytestmark = [pytest.mark.engine, pytest.mark.alone]

SERVICE_S = 0.005
"""Seconds that the server needs for a search; it runs one at a time, so its limit is 200 per second."""

LIMIT = 1 / SERVICE_S

SMALL = "warmup_iterations:5,iterations:20,expensive_warmup_iterations:2,expensive_iterations:10"


class OneAtATime:
    """An HTTP server that answers searches one after another or, with `delay_s`, each after this delay."""

    def __init__(self) -> None:
        self.delay_s = 0.0
        self.started = threading.Event()
        self.port = 0
        self.thread = threading.Thread(target=lambda: asyncio.run(self.serve()))
        self.thread.start()
        assert self.started.wait(10)

    async def serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.free_at = self.loop.time()
        self.over = asyncio.Event()
        server = await asyncio.start_server(self.handle, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self.started.set()
        await self.over.wait()
        server.close()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lines = head.decode().lower().split("\r\n")
                lengths = [int(line.split(":")[1]) for line in lines if line.startswith("content-length:")]
                await reader.readexactly(sum(lengths))
                if "_search" in lines[0] and self.delay_s:
                    await asyncio.sleep(self.delay_s)
                elif "_search" in lines[0]:
                    # Computes when a server with one worker and a queue would finish this search.
                    self.free_at = max(self.free_at, self.loop.time()) + SERVICE_S
                    await asyncio.sleep(self.free_at - self.loop.time())
                writer.write(reply(lines[0]))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.over.set)
        self.thread.join()


def reply(line: str) -> bytes:
    body: dict[str, Any] = {"took": 1, "timed_out": False, "_shards": {"failed": 0}}
    if line.startswith("get / "):
        body = {"cluster_name": "c", "version": {"distribution": "opensearch", "number": "3.3.0"}}
    elif "_nodes" in line:
        body = {"nodes": {}}
    elif "_stats" in line:
        body = {"indices": {}, "_shards": {"failed": 0}}
    text = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(text), text)


@pytest.fixture
def server() -> Iterator[OneAtATime]:
    engine = OneAtATime()
    yield engine
    engine.close()


def saturate(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pacenote", "saturate", *arguments]
    environment = {**os.environ, "PACENOTE_HOME": str(home)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)


def found(home: Path) -> SaturationResult:
    (file,) = home.glob("races/*/saturation.json")
    return SaturationResult.from_document(json.loads(file.read_text()))


Check = Callable[[Path, subprocess.CompletedProcess[str]], None]
"""Checks the search of a home folder."""

STOLEN = re.compile(r"\d+ % of CPU time was stolen by other virtual machines")


def search(folder: Path, check: Check, *arguments: str) -> None:
    """Searches and checks the search. It is searched again if the check fails and other virtual machines had
    taken so much of the time of this one that the search says so; if they do every time, nothing was tested.
    """
    for number in range(3):
        home = folder / f"home-{number}"
        ran = saturate(home, *arguments)
        try:
            check(home, ran)
        except AssertionError:
            texts = (ran.stderr, *(file.read_text() for file in home.glob("races/*/saturation.json")))
            stolen = STOLEN.search(" ".join(texts))
            if stolen is None:
                raise
        else:
            return
    pytest.skip(f"the machine is too busy to be measured: {stolen[0]}")


@pytest.mark.parametrize("threads", [1, 4])
def test_the_limit_of_a_server_that_does_one_search_at_a_time_is_found(
    tmp_path: Path, server: OneAtATime, threads: int
) -> None:
    track = tmp_path / "track.json"
    operation = {
        "name": "search",
        "operation-type": "search",
        "index": "i",
        "body": {"query": {"match_all": {}}},
    }
    first = {"name": "before", "operation": {"operation-type": "raw-request", "path": "/_cat"}}
    schedule = [first, {"operation": operation}]
    track.write_text(json.dumps({"version": 2, "schedule": schedule}))

    def check(home: Path, ran: subprocess.CompletedProcess[str]) -> None:
        assert ran.returncode == 0, ran.stderr
        saturation = found(home)
        assert saturation.complete
        assert saturation.limited_by == "engine"
        # The rate cannot exceed the limit of the server; a busy machine only reduces it.
        assert saturation.stable is not None
        assert saturation.unstable is not None
        assert saturation.stable <= LIMIT * 1.02
        assert saturation.stable < saturation.unstable <= LIMIT * 1.25
        assert saturation.stable >= LIMIT / 2
        assert f"between {saturation.stable:,.5g}" in ran.stdout
        assert {level.clients for level in saturation.levels} == {1, 2, 4, 8, 16, 32}
        # One search at a time means a contention of 1: more clients do not increase throughput.
        assert saturation.fit is not None
        assert saturation.fit.contention.value > 0.5
        folders = sorted(home.glob("races/*/probes/*"))
        assert [int(folder.name) for folder in folders] == list(range(1, len(folders) + 1))
        assert len(folders) == len(saturation.probes) + len(saturation.levels)
        assert all((folder / "samples.parquet").stat().st_size for folder in folders)

    search(
        tmp_path,
        check,
        f"--track-path={track}",
        f"--target-hosts=127.0.0.1:{server.port}",
        *(
            "--task=search",
            "--start-rate=50",
            "--precision=15",
            "--max-connections=16",
            "--max-error-rate=50",
        ),
        f"--driver-threads={threads}",
        *("--probe-time=0.8", "--probe-warmup=0.2", "--sweep-clients=32", "--sweep-time=0.2", "--quiet"),
    )


@pytest.mark.parametrize("warmup_s", [0.5, 6])
def test_an_engine_with_long_replies_is_not_the_limit_of_few_connections(
    tmp_path: Path, server: OneAtATime, warmup_s: float
) -> None:
    """After a long warm-up, the window begins with seconds in which only its backlog is answered."""
    server.delay_s = 0.1
    track = tmp_path / "track.json"
    operation = {"operation-type": "search", "index": "i", "body": {"query": {"match_all": {}}}}
    track.write_text(json.dumps({"version": 2, "schedule": [{"operation": operation}]}))

    def check(home: Path, ran: subprocess.CompletedProcess[str]) -> None:
        assert ran.returncode == 0, ran.stderr
        saturation = found(home)
        # Four connections do 40 operations per second, and the server any number.
        assert saturation.limited_by == "connections"
        assert saturation.stable is not None
        assert saturation.stable <= 41
        assert "too few connections for" in ran.stdout

    search(
        tmp_path,
        check,
        f"--track-path={track}",
        f"--target-hosts=127.0.0.1:{server.port}",
        *("--start-rate=24", "--precision=45", "--max-connections=4", "--max-error-rate=50"),
        *("--probe-time=2", f"--probe-warmup={warmup_s}", "--sweep-clients=0", "--quiet"),
    )


def test_a_real_engine_sustains_a_low_rate(tmp_path: Path, home: Path) -> None:
    ran = saturate(
        home,
        *(
            *("--track=http_logs", "--track-repository=bundled"),
            "--task=term",
            f"--track-params=docs:20000,{SMALL}",
            "--car-params=heap_size:512m",
        ),
        *("--max-rate=40", "--start-rate=20", "--max-error-rate=50"),
        *("--probe-time=0.5", "--probe-warmup=0.1", "--sweep-clients=0", "--objective=p50:1s", "--quiet"),
        *(f"--report-file={tmp_path / 'report.md'}", "--report-format=json"),
    )
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert answer["stable"] == 40
    assert answer["unstable"] is None
    assert answer["limited_by"] == "range"
    assert json.loads((tmp_path / "report.md").read_text()) == answer
