"""A race started from the command line, without a terminal, against a server with known responses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pacenote.cli.main import main
from support.secure import engine


def test_a_failed_race_is_reported_with_its_reason_without_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two clients send three requests each, all of which are rejected, then three each that succeed.

    Expected: an error rate of 100 % and its reason in the report and the record, six failures for the six
    requests that the server received, exit code 3, and the complete report on standard output.
    """
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    full = {"error": {"type": "rejected_execution", "reason": "the queue is full"}}
    schedule = [
        {
            "name": name,
            "operation": {"operation-type": "raw-request", "path": f"/{name}"},
            "clients": 2,
            "iterations": 3,
        }
        for name in ("refused", "served")
    ]
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    with engine(None, refuses={"/refused": (429, full)}) as server:
        code = main([
            "race",
            f"--track-path={tmp_path}",
            "--race-id=r",
            "--pipeline=benchmark-only",
            f"--target-hosts={server.address}",
        ])
        sent = server.count("GET /refused")
    out = capsys.readouterr().out
    assert (code, sent) == (3, 6)
    record = json.loads((tmp_path / "home" / "races" / "r" / "race.json").read_text())
    (error,) = record["tasks"][0]["errors"]
    assert (error["count"], error["status"], error["reason"]) == (
        6,
        429,
        "rejected_execution: the queue is full",
    )
    assert record["verdict"]["state"] == "void"
    for text in ("429", error["reason"], "error rate 100 % is above the limit"):
        assert text in out
    assert any("Mean Throughput" in line and "served" in line for line in out.splitlines())
