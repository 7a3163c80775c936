"""Measures `pacenote serve` of 10,000 stored races: the list with the newest ones and a search in it, each
after one more race was stored; and what it costs to show a running race, in the server and in the race.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from comparing import example_task
from machine import PACENOTE, temporary_folder
from msgspec.structs import replace
from outcome import BenchmarkError, Figure, Options, Outcome, Target

from pacenote.model.race_progress import RaceProgress, TaskProgress
from pacenote.model.race_record import RaceRecord, RecordedCluster, RecordedTrack, Verdict
from pacenote.store.progress_file import ProgressFile
from pacenote.store.race_store import RaceStore

_LIST_LIMIT_MS, _LIVE_LIMIT_PERCENT = 300.0, 0.2
_RACES = 10_000
_TRACKS = ("http_logs", "geonames", "nyc_taxis", "pmc", "percolator")
_PATHS = {"list": "", "search": "?search=geonames+run%3D77"}
_BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
_TASKS = 8
_RUNNING = RaceProgress(
    step=1,
    steps=2,
    elapsed_s=1.0,
    tasks=tuple(
        TaskProgress(f"search-{number}", "ops", False, 0.5, 1_000.0, 2.0, 8.0, 5_000, 0, 30.0, target=1_000.0)
        for number in range(_TASKS)
    ),
)


@dataclass(frozen=True, slots=True)
class _Server:
    """A running `pacenote serve`."""

    pid: int
    host: str
    root: str
    cookie: str

    def get(self, path: str) -> tuple[float, str]:
        """Returns how long a page took, in milliseconds, and the page."""
        connection = HTTPConnection(self.host, timeout=60)
        began = time.perf_counter()
        connection.request("GET", f"{self.root}{path}", headers={"Cookie": self.cookie})
        response = connection.getresponse()
        text = response.read().decode()
        taken_ms = (time.perf_counter() - began) * 1e3
        connection.close()
        if response.status != 200:
            raise BenchmarkError(f"serve answered {response.status}: {text[-200:]}")
        return taken_ms, text

    def cpu_s(self) -> float:
        """Returns the CPU time of all its threads."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def measure(options: Options) -> Outcome:
    """Measures the wall time of requests, and CPU time while a page shows a running race."""
    times: dict[str, list[float]] = {name: [] for name in _PATHS}
    with temporary_folder() as home:
        store = RaceStore(home)
        _store_races(store, options.choose(_RACES, 500))
        with _serving(home) as server:
            server.get("")  # Builds the index.
            for turn in range(options.choose(10, 3)):
                for name, path in _PATHS.items():
                    _store(store, _race(_RACES + turn, name))
                    taken_ms, text = server.get(path)
                    times[name].append(taken_ms)
                    if f"{name}-{_RACES + turn}" not in text and name == "list":
                        raise BenchmarkError("the list does not have the newest race")
            shares = _live_shares(store, server, options.choose(60, 5), options.choose(6, 1))
    lists = [Figure(f"{name} of 10,000 races", "ms", tuple(values)) for name, values in times.items()]
    live = Figure("CPU of the server that shows a running race", "%", shares)
    return Outcome(
        figures=(*lists, live, _writing()),
        targets=(
            *(Target(figure, _LIST_LIMIT_MS, at_most=True) for figure in lists),
            Target(live, _LIVE_LIMIT_PERCENT, at_most=True),
        ),
    )


def _store_races(store: RaceStore, count: int) -> None:
    store.races.mkdir(mode=0o700, parents=True)
    for number in range(count):
        _store(store, _race(number, "race"))


def _store(store: RaceStore, race: RaceRecord) -> None:
    # `create` would wait for the disk.
    folder = store.races / race.race_id
    folder.mkdir(mode=0o700)
    (folder / "race.json").write_text(json.dumps(race.to_document()))


def _race(number: int, prefix: str) -> RaceRecord:
    tasks = tuple(
        replace(example_task(f"search-{index}", 10.0 + index), index=index) for index in range(_TASKS)
    )
    return RaceRecord(
        race_id=f"{prefix}-{number}",
        timestamp=_BEGIN + timedelta(minutes=number),
        track=RecordedTrack(_TRACKS[number % len(_TRACKS)]),
        challenge="append-no-conflicts",
        cluster=RecordedCluster("opensearch", "3.3.0"),
        user_tags={"run": str(number % 100), "intention": "nightly"},
        tasks=tasks,
        verdict=Verdict("valid"),
        complete=True,
    )


@contextmanager
def _serving(home: Path) -> Iterator[_Server]:
    process = subprocess.Popen(
        [PACENOTE, "serve", "--port=0"],
        env={**os.environ, "PACENOTE_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        connection = HTTPConnection(address.netloc, timeout=60)
        connection.request("GET", f"{address.path}?{address.query}")
        cookie = (connection.getresponse().getheader("Set-Cookie") or "").partition(";")[0]
        connection.close()
        yield _Server(process.pid, address.netloc, address.path, cookie)
    finally:
        process.terminate()
        process.wait()


def _live_shares(store: RaceStore, server: _Server, seconds: int, times: int) -> tuple[float, ...]:
    """Returns the shares of a core, in percent, that the server uses while a page shows a running race."""
    race = _race(2 * _RACES, "live")
    folder = store.create(replace(race, complete=False, tasks=()))
    for result in race.tasks:
        folder.append(replace(result, task=f"ended-{result.task}"))
    file, ended = ProgressFile(folder.path), threading.Event()

    def write() -> None:
        second = 0.0
        while not ended.wait(1.0):
            second += 1.0
            file.write(replace(_RUNNING, elapsed_s=second))

    writer = threading.Thread(target=write)
    writer.start()
    connection = HTTPConnection(server.host, timeout=60)
    connection.request("GET", f"{server.root}race/{race.race_id}/events", headers={"Cookie": server.cookie})
    response = connection.getresponse()
    shares = []
    try:
        for _ in range(times):
            before, began, read = server.cpu_s(), time.monotonic(), 0
            while time.monotonic() - began < seconds:
                read += len(response.read1(1 << 20))
            if not read:
                raise BenchmarkError("serve sent no events")
            shares.append(100 * (server.cpu_s() - before) / (time.monotonic() - began))
    finally:
        ended.set()
        writer.join()
        connection.close()
        file.close()
    return tuple(shares)


def _writing() -> Figure:
    """Returns what the race uses for storing its progress once a second: CPU time in percent of a core."""
    with temporary_folder() as folder:
        file, times = ProgressFile(folder), []
        for _ in range(10):
            began = time.thread_time()
            for _ in range(100):
                file.write(_RUNNING)
            times.append(time.thread_time() - began)
        file.close()
    return Figure("CPU of a race that stores its progress once a second", "%", tuple(times))
