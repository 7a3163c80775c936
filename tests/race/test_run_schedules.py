"""Races whose engine does not keep up with their schedules."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from pacenote.cli.main import main
from pacenote.model.target_rate import TargetRate
from pacenote.store.race_store import RaceStore
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

pytestmark = pytest.mark.process

SERVICE_S = 0.02
"""Time that the server needs for a slow request: one client sends at most 50 per second."""

DUE, DUE_S = 40, 0.3
"""Operations that are due in the seconds that the other task takes."""


def respond(request: HttpRequest) -> HttpResponse:
    if request.target == "/slow":
        time.sleep(SERVICE_S)
    return json_response(engine_document(request.target))


@pytest.mark.parametrize("open_loop", [False, True])
def test_a_backlog_makes_a_race_suspect_when_another_task_completes_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, open_loop: bool
) -> None:
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    slow = {
        "name": "slow",
        "operation": {"operation-type": "raw-request", "path": "/slow"},
        "target-throughput": DUE / DUE_S,
        "time-period": 600,
    }
    other = {"name": "other", "operation": {"operation-type": "sleep", "duration": DUE_S}}
    schedule = [{"parallel": {"completed-by": "other", "tasks": [slow, other]}}]
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    options = ["race", f"--track-path={tmp_path}", "--pipeline=benchmark-only", "--race-id=r", "--quiet"]
    with http_server(respond) as server:
        code = main([*options, f"--target-hosts={server.address}", *(["--open-loop"] * open_loop)])
    record = RaceStore(tmp_path / "home").load("r")
    assert code == 0
    assert record.steps == {"slow, other": ("slow", "other")}
    result = next(task for task in record.tasks if task.task == "slow")
    accounting = result.accounting
    planned = accounting.operations + accounting.unsent
    assert result.ended_by == "completed-by"
    # On a busy machine, the schedule starts a little later than the other task.
    assert planned >= 0.8 * DUE
    assert accounting.operations <= planned / 2 + 1
    assert record.verdict is not None
    assert record.verdict.state == "suspect"
    (finding,) = [each for each in record.verdict.findings if each.tasks == ("slow",)]
    assert ": its 1 client was always busy: replies after " in finding.text
    assert (finding.cause, finding.doubtful_from) == ("track", None)


@pytest.mark.parametrize("options", [[], ["--open-loop"], ["--max-shortfall=99.9"]])
def test_iterations_that_take_longer_than_their_target_rate_allows_make_a_race_suspect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    """All operations are sent, but later than asked: only the achieved rate shows it."""
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    asked = {"target-throughput": 5_000, "iterations": 10}
    slow = {"name": "slow", "operation": {"operation-type": "raw-request", "path": "/slow"}, **asked}
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": [slow]}))
    command = ["race", f"--track-path={tmp_path}", "--pipeline=benchmark-only", "--race-id=r", "--quiet"]
    with http_server(respond) as server:
        assert main([*command, f"--target-hosts={server.address}", *options]) == 0
    record = RaceStore(tmp_path / "home").load("r")
    (result,) = record.tasks
    assert (result.accounting.operations, result.accounting.unsent) == (10, 0)
    assert record.targets == {"slow": TargetRate(5_000.0, "ops", 5_000.0)}
    missed = [
        reason
        for reason in record.verdict.reasons
        if " of 5,000 ops/s: its 1 client was always busy: replies after " in reason
    ]
    assert len(missed) == (0 if "--max-shortfall=99.9" in options else 1)
