"""Throughput that includes what the warm-up left: from the server to the answer of a comparison."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from pacenote.cli.main import main
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import TaskResult
from pacenote.store.race_store import RaceStore
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

pytestmark = pytest.mark.process

RATE = 100.0
SEARCH = {
    "name": "search",
    "operation": {"operation-type": "raw-request", "path": "/search"},
    "target-throughput": RATE,
}
BY_TIME = SEARCH | {"warmup-time-period": 1, "time-period": 3}
BY_ITERATIONS = SEARCH | {"warmup-iterations": 100, "iterations": 300}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    return tmp_path


def race(
    folder: Path, race_id: str, task: dict[str, object], first_s: float, others_s: float = 0.0
) -> RaceRecord:
    """Runs a race whose first request takes `first_s`, and all others `others_s`."""
    is_first = threading.Lock()

    def respond(request: HttpRequest) -> HttpResponse:
        if request.target == "/search":
            time.sleep(first_s if is_first.acquire(blocking=False) else others_s)
        return json_response(engine_document(request.target))

    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": [task]}))
    with http_server(respond) as server:
        hosts = ("--pipeline=benchmark-only", f"--target-hosts={server.address}")
        assert main(["race", f"--track-path={folder}", f"--race-id={race_id}", "--quiet", *hosts]) == 0
    return RaceStore(folder / "home").load(race_id)


def rate(task: TaskResult) -> float:
    assert task.throughput is not None
    return task.throughput.mean


@pytest.mark.parametrize("task", [BY_TIME, BY_ITERATIONS], ids=["time", "iterations"])
def test_a_rate_above_the_target_is_marked_and_does_not_decide(
    folder: Path, capsys: pytest.CaptureFixture[str], task: dict[str, object]
) -> None:
    behind = race(folder, "behind", task, 2.0)
    (search,) = behind.tasks
    # 100 operations were due before the window began, or before its first request was sent.
    assert rate(search) > 1.02 * RATE
    assert search.warmup_backlog.throughput_marked
    own = 1 - search.warmup_backlog.surplus / search.window_operations
    assert rate(search) * own == pytest.approx(RATE, rel=0.02)
    assert main(["report", "behind", "--full"]) == 0
    assert "are left from the warm-up and raise throughput" in " ".join(capsys.readouterr().out.split())

    slow = race(folder, "slow", task, 0.0, 0.0125)
    (missed,) = slow.tasks
    assert rate(missed) < 0.9 * RATE
    assert not missed.warmup_backlog.throughput_marked
    capsys.readouterr()
    main(["compare", "--baseline=slow", "--contender=behind", "--report-format=json"])
    comparison = json.loads(capsys.readouterr().out)
    throughput = [each for each in comparison["metrics"] if each["metric"]["key"] == "throughput"]
    assert [(each["has_backlog"], each["role"]) for each in throughput] == [(True, "secondary")]


def test_an_engine_that_is_always_busy_does_what_it_can(folder: Path) -> None:
    """The queue at the begin of the window is part of what it does, but so is that at its end."""
    (search,) = race(folder, "busy", BY_TIME, 0.3, 0.0125).tasks
    assert search.accounting.unsent > 0
    done_s = search.service_time.mean_ms / 1000 if search.service_time else 0.0
    assert rate(search) == pytest.approx(1 / done_s, rel=0.1)
    assert not search.warmup_backlog.throughput_marked
