"""How the driver's threads are scheduled: from the option to the record of the race and its differences."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pacenote import _core
from pacenote.cli.main import main
from support.engine import engine_document
from support.http_server import http_server, json_response

WITHOUT_PERMISSION = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(24, 23, 0, 0, 0)  # PR_CAPBSET_DROP, CAP_SYS_NICE
import os
os.execv(sys.executable, [sys.executable, "-m", "pacenote", *sys.argv[1:]])
"""
"""Runs `pacenote` without CAP_SYS_NICE, which an interpreter that root starts does not get again."""


def arguments(tmp_path: Path, address: str, race_id: str, scheduling: str | None) -> list[str]:
    return [
        *("race", f"--track-path={tmp_path}", f"--race-id={race_id}", "--quiet", f"--target-hosts={address}"),
        *([f"--driver-scheduling={scheduling}"] if scheduling else []),
    ]


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A server, and a track that sends it one request."""
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    operation = {"operation-type": "raw-request", "path": "/_cluster/health"}
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": [{"operation": operation}]}))
    with http_server(lambda request: json_response(engine_document(request.target))) as server:
        yield server.address


def stored(tmp_path: Path, race_id: str) -> tuple[str, dict[str, Any]]:
    document = json.loads((tmp_path / "home" / "races" / race_id / "race.json").read_text())
    return document["options"]["driver_scheduling"], document["driver"]["scheduling"]


@pytest.mark.process
def test_the_scheduling_is_recorded_and_differs(
    tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(tmp_path, address, "auto", None)) == 0
    assert main(arguments(tmp_path, address, "normal", "normal")) == 0
    asked, obtained = stored(tmp_path, "auto")
    may_be_realtime = _core.realtime_refusal() is None
    assert (asked, obtained["asked"], obtained["demotions"]) == ("auto", "auto", 0)
    assert (obtained["workers"] == "realtime", obtained["refused"] is None) == (
        may_be_realtime,
        may_be_realtime,
    )
    asked, obtained = stored(tmp_path, "normal")
    assert (asked, obtained["workers"], obtained["health"]) == ("normal", "normal", "normal")
    capsys.readouterr()
    assert main(["diff", "auto", "normal"]) == 0
    differences = capsys.readouterr().out
    assert "race.options.driver_scheduling" in differences
    # A kernel before 6.12 has no slices.
    assert (
        "driver.scheduling" in differences.replace("race.options.driver_scheduling", "")
    ) or not may_be_realtime


@pytest.mark.process
def test_without_permission_a_race_has_a_short_slice_or_does_not_begin(tmp_path: Path, address: str) -> None:
    def run(race_id: str, scheduling: str | None) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-c",
            WITHOUT_PERMISSION,
            *arguments(tmp_path, address, race_id, scheduling),
        ]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, env=os.environ
        )

    assert run("auto", None).returncode == 0
    _, obtained = stored(tmp_path, "auto")
    assert obtained["workers"] == obtained["health"]
    assert obtained["workers"] in ("short_slice", "normal")
    assert "it needs CAP_SYS_NICE, or RLIMIT_RTPRIO of 2 or more" in obtained["refused"]
    refused = run("refused", "realtime")
    assert refused.returncode == 2
    assert (
        "--driver-scheduling=realtime: the driver's threads cannot have real-time priority: it needs"
        in refused.stderr
    )
    assert not (tmp_path / "home" / "races" / "refused").exists()
