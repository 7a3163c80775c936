"""The driver runs on the CPUs that were selected for it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pacenote.cli.main import main
from support.engine import engine_document
from support.http_server import http_server, json_response


def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpus: str) -> int:
    """Races one request against a server with the driver on these CPUs, and returns the exit code."""
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    operation = {"operation-type": "raw-request", "path": "/_cluster/health"}
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": [{"operation": operation}]}))
    with http_server(lambda request: json_response(engine_document(request.target))) as server:
        return main((
            *("race", f"--track-path={tmp_path}", "--race-id=r", "--quiet"),
            *(f"--target-hosts={server.address}", f"--driver-cpus={cpus}"),
        ))


@pytest.mark.process
def test_one_thread_sends_requests_on_one_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.sched_getaffinity(0)
    cpu = str(min(before))
    assert run(tmp_path, monkeypatch, cpu) == 0
    stored: dict[str, Any] = json.loads((tmp_path / "home" / "races" / "r" / "race.json").read_text())
    names = [thread["name"] for thread in stored["driver"]["threads"]]
    assert [name for name in names if name.startswith("drive-")] == ["drive-0"]
    assert stored["options"]["driver_cpus"] == cpu
    assert os.sched_getaffinity(0) == before


def test_cpus_that_do_not_exist_are_refused_before_the_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, monkeypatch, "8191") == 2
    assert "--driver-cpus: CPU 8191 does not exist or may not be used here" in capsys.readouterr().err
    assert not (tmp_path / "home" / "races").exists()
