"""A race samples the host that it runs on, and stores when its tasks ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.evidence.telemetry_values import telemetry_cuts
from pacenote.store.race_store import RaceStore
from race.test_run_telemetry import GrowingEngine, race_task

pytestmark = pytest.mark.process


def test_the_host_is_sampled_while_tasks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert race_task(GrowingEngine().respond, tmp_path, monkeypatch) == 0
    store = RaceStore(tmp_path / "home")
    record = store.load("r")
    assert record.telemetry_errors == ()
    sampler = record.telemetry["host-sampler"]
    assert isinstance(sampler, dict)
    assert sampler["sweeps"] >= 2
    # The engine was not started by the race.
    assert (sampler["nodes"], sampler["data_devices"]) == ([], [])
    folder = store.races / "r"
    assert not (folder / "telemetry.jsonl").exists()
    cuts = telemetry_cuts(folder / "telemetry.parquet")
    [times], [task] = cuts.tasks, record.tasks
    assert times.task == task.task == "task"
    assert times.duration_s == pytest.approx(task.duration_s, abs=1e-6)
    started_ns = record.driver["started_unix_ns"]
    assert isinstance(started_ns, int)
    assert times.begin_ns == started_ns + round(task.started_s * 1e9)
    telemetry = cuts.of_source("host", "task")
    user = telemetry.counter("process.user", process="driver")
    assert user is not None
    assert 0 < user.covered_s <= task.duration_s + 1e-6
