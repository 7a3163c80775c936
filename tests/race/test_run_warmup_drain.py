"""`--warmup-drain`: from the option to the samples, the record of the race and its differences."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from pacenote.cli.main import main
from pacenote.model.driver_facts import late_joins
from pacenote.model.result import TaskResult
from pacenote.store.race_store import RaceStore
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

pytestmark = pytest.mark.process

SLOW_S = 0.4
"""Time that the server needs for the first request: 40 are due meanwhile, 20 of them after the warm-up."""

SEARCH = {
    "name": "search",
    "operation": {"operation-type": "raw-request", "path": "/search"},
    "target-throughput": 100,
    "warmup-time-period": 0.2,
    "time-period": 1,
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    return tmp_path


def race(folder: Path, race_id: str, task: dict[str, Any], *options: str) -> TaskResult:
    """Runs a race whose first request is slow."""
    is_first = threading.Lock()

    def respond(request: HttpRequest) -> HttpResponse:
        if request.target == "/search" and is_first.acquire(blocking=False):
            time.sleep(SLOW_S)
        return json_response(engine_document(request.target))

    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": [task]}))
    with http_server(respond) as server:
        hosts = ("--pipeline=benchmark-only", f"--target-hosts={server.address}")
        command = ["race", f"--track-path={folder}", f"--race-id={race_id}", "--quiet", *hosts, *options]
        assert main(command) == 0
    (result,) = RaceStore(folder / "home").load(race_id).tasks
    return result


@pytest.mark.parametrize("options", [(), ("--open-loop",)])
def test_the_window_begins_after_the_backlog(
    folder: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    planned = race(folder, "planned", SEARCH, *options)
    drained = race(folder, "drained", SEARCH, *options, "--warmup-drain")
    assert planned.warmup_backlog.drain is None
    drain = drained.warmup_backlog.drain
    assert drain is not None
    assert drain.window_from_s is not None
    assert drain.window_from_s >= SLOW_S
    assert drain.operations >= 20
    # The schedule and its end are those of the plan.
    assert drained.window_s == pytest.approx(1.2 - drain.window_from_s, abs=1e-6)
    assert drained.accounting.operations + drained.accounting.unsent == 120
    assert drained.throughput is not None
    assert drained.throughput.mean * drained.window_s == pytest.approx(drained.window_operations)

    table = pyarrow.parquet.read_table(folder / "home/races/drained/samples.parquet").to_pydict()
    from_ns = round(drain.window_from_s * 1e9)
    for due_ns, sample_type in zip(table["due_ns"], table["sample_type"], strict=True):
        assert (sample_type == "warmup") is (due_ns < from_ns)

    capsys.readouterr()
    assert main(["diff", "planned", "drained"]) == 0
    assert "race.pacing.warmup_drain" in capsys.readouterr().out
    main(["compare", "--baseline=planned", "--contender=drained"])
    output = " ".join(capsys.readouterr().out.split())
    assert "race.pacing.warmup_drain" in output
    assert "(in 0 of 1 races of the baseline, 1 of 1 of the contender)" in output
    assert main(["report", "drained", "--full"]) == 0
    assert "later than planned" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("task", [{"target-throughput": None}, {"warmup-time-period": 0}])
def test_without_a_rate_or_a_warm_up_the_option_has_no_effect(
    folder: Path, capsys: pytest.CaptureFixture[str], task: dict[str, Any]
) -> None:
    changed = {name: value for name, value in (SEARCH | task).items() if value is not None}
    assert race(folder, "r", changed, "--warmup-drain").warmup_backlog.drain is None
    capsys.readouterr()
    assert main(["report", "r"]) == 0
    assert "--warmup-drain had no effect" in " ".join(capsys.readouterr().out.split())


def test_what_a_client_missed_before_the_window_does_not_explain_a_missed_target_rate(folder: Path) -> None:
    """A client joins after the planned warm-up, but before the window, which waits for an engine that never
    catches up: its 2 clients do at most 20 of 40 operations per second.
    """

    def respond(request: HttpRequest) -> HttpResponse:
        if request.target == "/search":
            time.sleep(0.1)
        return json_response(engine_document(request.target))

    slow = SEARCH | {"clients": 2, "target-throughput": 40, "time-period": 3}
    other = {"name": "other", "operation": {"operation-type": "sleep", "duration": 0.6}}
    schedule = [{"parallel": {"clients": 2, "tasks": [other, slow]}}]
    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    with http_server(respond) as server:
        hosts = ("--pipeline=benchmark-only", f"--target-hosts={server.address}")
        command = ["race", f"--track-path={folder}", "--race-id=late", "--quiet", *hosts]
        assert main([*command, "--warmup-drain"]) == 0
    record = RaceStore(folder / "home").load("late")
    (joins,) = (late_joins(record.driver, task.index) for task in record.tasks if task.task == "search")
    assert joins is not None
    assert joins.latest_s >= 0.5
    assert joins.missed_measured_s == 0.0
    assert record.verdict is not None
    (finding,) = (each for each in record.verdict.findings if " of 40 ops/s: " in each.text)
    assert "busy in another part" not in finding.text
