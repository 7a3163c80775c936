"""A race started from the command line against a cluster with several hosts."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from pacenote.cli.main import main
from support.http_server import HttpServer
from support.secure import engine


def race(home: Path, *hosts: str) -> tuple[int, dict[str, Any]]:
    """Runs a race of eight requests by one client; returns the exit code and the record."""
    operation = {"operation-type": "raw-request", "path": "/_cluster/health"}
    task = {"name": "one", "operation": operation, "clients": 1, "iterations": 8}
    (home / "track.json").write_text(json.dumps({"version": 2, "schedule": [task]}))
    code = main([
        "race",
        f"--track-path={home}",
        "--race-id=r",
        "--pipeline=benchmark-only",
        f"--target-hosts={','.join(hosts)}",
    ])
    return code, json.loads((home / "races" / "r" / "race.json").read_text())


def measured(server: HttpServer) -> int:
    return server.count("GET /_cluster/health")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.process
def test_the_requests_of_one_client_are_sent_to_all_hosts(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with engine(None) as first, engine(None) as second:
        code, record = race(home, first.address, second.address)
        assert (measured(first), measured(second)) == (4, 4)
    assert code == 0
    assert [(host["host"], host["requests"]) for host in record["driver"]["hosts"]] == [
        (first.address, 4),
        (second.address, 4),
    ]
    assert f"{first.address} received 4 requests" in capsys.readouterr().out


@pytest.mark.process
def test_a_race_without_one_of_its_hosts_continues_and_is_suspect(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with engine(None) as server, socket.socket() as bound:
        # Nothing listens on the port, and no other process can take it.
        bound.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{bound.getsockname()[1]}"
        code, record = race(home, closed, server.address)
        assert measured(server) == 8
    assert f"the race begins without the host {closed}: connection refused" in capsys.readouterr().err
    assert (code, record["complete"], record["verdict"]["state"]) == (0, True, "suspect")
    (reason,) = [text for text in record["verdict"]["reasons"] if closed in text]
    assert "was set aside 1 time" in reason
