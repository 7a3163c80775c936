"""An engine that keeps running: installed, started, raced, stopped and started again with its data."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pacenote import _core
from pacenote.net.hosts import parse_hosts
from pacenote.net.rest import RestClient
from pacenote.system.process import process_identity

pytestmark = pytest.mark.engine

VERSION = "9.5.3"
ENGINE = (f"--distribution-version={VERSION}", "--car-params=heap_size:512m")

TRACK = {
    "description": "a few searches",
    "indices": [{"name": "kept"}],
    "schedule": [
        {"operation": {"operation-type": "search", "index": "kept", "body": {"query": {"match_all": {}}}}}
    ],
}


class Pacenote:
    """The `pacenote` command with a home folder."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PACENOTE_HOME": str(self.home)}
        command = [sys.executable, "-m", "pacenote", *arguments]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environment, text=True, stdout=pipe, stderr=pipe)

    def run(self, *arguments: str) -> str:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        return out

    def nodes(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = json.loads(self.run("list", "nodes", "--format=json"))
        return listed


@pytest.fixture
def pacenote(home: Path) -> Iterator[Pacenote]:
    command = Pacenote(home)
    before = {node["node"] for node in command.nodes()}
    yield command
    for node in command.nodes():
        if node["node"] not in before and node["detached"]:
            command.run("stop", f"--installation-id={node['installation-id']}")


def test_an_installed_engine_is_raced_and_keeps_its_data(pacenote: Pacenote, tmp_path: Path) -> None:
    installed = json.loads(pacenote.run("install", *ENGINE, "--quiet"))["installation-id"]
    chosen = f"--installation-id={installed}"
    assert "runs at 127.0.0.1:" in pacenote.run("start", chosen)
    (node,) = (each for each in pacenote.nodes() if each["installation-id"] == installed)
    assert (node["distribution"], node["version"], node["heap"]) == ("elasticsearch", VERSION, "512m")
    assert "not the official distribution" in node["title"]
    client = RestClient(parse_hosts(node["address"]).hosts)
    assert client.get("/")["version"]["number"] == VERSION
    client.request("PUT", "/kept/_doc/1", {"a": 1}, {"refresh": True})

    (tmp_path / "track.json").write_text(json.dumps({**TRACK, "version": 2}))
    report = pacenote.run(
        *("race", f"--track-path={tmp_path}", "--pipeline=benchmark-only"),
        *(f"--target-hosts={node['address']}", "--test-mode", f"--race-id={installed}"),
    )
    assert f"Assembled: {node['title']}" in report
    # The process of the engine is found and sampled, although the race did not start it.
    race = json.loads((pacenote.home / "races" / installed / "race.json").read_text())
    sampler = race["telemetry"]["host-sampler"]
    assert (len(sampler["nodes"]), sampler["missing_nodes"]) == (1, {})
    [(_, _, labels, points)] = [
        series
        for series in _core.telemetry_points(
            pacenote.home / "races" / installed / "telemetry.parquet", "host", ["process.threads"]
        )
        if series[2]["process"] == sampler["nodes"][0]
    ]
    assert labels == {"process": sampler["nodes"][0]}
    assert all(count is not None and count > 20 for _, count in points)
    assert sampler["data_devices"][0]["path"].startswith(str(node["folder"]))

    pacenote.run("stop", chosen, "--preserve-install")
    assert process_identity(node["pid"]) is None
    pacenote.run("start", chosen)
    client.get("/_cluster/health/kept", {"wait_for_status": "yellow"})
    assert client.get("/kept/_count")["count"] == 1
    client.close()
    pacenote.run("stop", chosen)
    assert installed not in {each["installation-id"] for each in pacenote.nodes()}
    assert not Path(node["folder"]).exists()


def test_nothing_is_left_of_an_engine_whose_start_was_killed(pacenote: Pacenote) -> None:
    starting = pacenote.start("start", *ENGINE, "--node-name=killed")
    entries: list[Path] = []
    while not entries or json.loads(entries[0].read_text())["process"] is None:
        assert starting.poll() is None
        time.sleep(0.01)
        entries = list((pacenote.home / "nodes").glob("killed-*.json"))
    pid = json.loads(entries[0].read_text())["process"]["pid"]
    starting.send_signal(signal.SIGKILL)
    starting.communicate()
    assert process_identity(pid) is not None
    assert not [node for node in pacenote.nodes() if node["node"].startswith("killed-")]
    assert process_identity(pid) is None
    assert not list((pacenote.home / "nodes").glob("killed-*"))
