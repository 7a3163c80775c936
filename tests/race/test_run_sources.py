"""A race against an engine that is built from its sources; the engine in its archive is a script."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from pacenote.cli.main import main
from pacenote.provision.layout import create_layout
from support.official_archive import official_files, pack, plugin_zip
from support.source_checkout import commit, git, write_checkout, write_jdk

pytestmark = pytest.mark.process

VERSION = "8.19.99"
TRACK = {
    "version": 2,
    "description": "a request",
    "schedule": [{"operation": {"operation-type": "raw-request", "path": "/"}, "iterations": 3}],
}

Race = Callable[..., tuple[int, str]]


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sources of an engine, whose build produces an archive with the layout of an official one."""
    files = official_files(version=f"{VERSION}-SNAPSHOT")
    info = f'"status": "green", "cluster_name": "c", "version": {{"number": "{VERSION}-SNAPSHOT"}}, '
    files["lib/engine.py"] = files["lib/engine.py"].replace('"status": "green", ', info)
    archive = tmp_path / "engine.tar.gz"
    archive.write_bytes(pack(files, f"elasticsearch-{VERSION}-SNAPSHOT"))
    monkeypatch.setenv("ENGINE_ARCHIVE", str(archive))
    monkeypatch.setenv("JAVA21_HOME", str(write_jdk(tmp_path / "jdk")))
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RALLY_HOME", str(tmp_path / "rally"))
    (tmp_path / "track.json").write_text(json.dumps(TRACK))
    return write_checkout(tmp_path / "es", VERSION)


@pytest.fixture
def race(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Race:
    def race(race_id: str, *options: str) -> tuple[int, str]:
        command = ("race", f"--track-path={tmp_path}", f"--race-id={race_id}", "--car-params=heap_size:128m")
        return main((*command, *options)), capsys.readouterr().err

    return race


def record(tmp_path: Path, race_id: str) -> dict[str, object]:
    stored: dict[str, object] = json.loads((tmp_path / "home" / "races" / race_id / "race.json").read_text())
    return stored


def test_sources_are_built_once_and_raced(race: Race, checkout: Path, tmp_path: Path) -> None:
    code, err = race("one", f"--source-path={checkout}")
    assert code == 0, err
    stored = record(tmp_path, "one")
    assert stored["pipeline"] == "from-sources"
    first = git(checkout, "rev-parse", "HEAD")
    assert stored["sources"] == {
        "origin": str(checkout),
        "revision": first,
        "local_changes": False,
        "command": stored["sources"]["command"],  # type: ignore[index]
    }
    commit(checkout, "two")
    code, err = race("two", f"--source-path={checkout}", f"--revision={first}", "--pipeline=from-sources")
    assert code == 0, err
    assert record(tmp_path, "two")["sources"]["revision"] == first  # type: ignore[index]
    (checkout / "engine.txt").write_text("changed")
    assert race("three", f"--source-path={checkout}")[0] == 0
    assert record(tmp_path, "three")["sources"]["local_changes"] is True  # type: ignore[index]
    assert "has no checksum" not in err
    # The first commit was not built again for the second race.
    assert (tmp_path / "built.txt").read_text().count("built") == 2
    assert not list((tmp_path / "home" / "nodes").iterdir())


def test_plugins_of_the_sources_are_built_and_installed(
    race: Race, checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugin = tmp_path / "plugin.zip"
    plugin.write_bytes(plugin_zip("analysis-icu", f"{VERSION}-SNAPSHOT"))
    monkeypatch.setenv("PLUGIN_ARCHIVE", str(plugin))
    code, err = race("one", f"--source-path={checkout}", "--elasticsearch-plugins=analysis-icu")
    assert code == 0, err
    assert "installing analysis-icu-1.zip" in err
    assert list(create_layout(tmp_path / "home").installs.glob("*/plugins/analysis-icu"))


def test_a_broken_track_is_reported_before_the_build(race: Race, checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "track.json").write_text(json.dumps({**TRACK, "schedule": [{"operation": "missing"}]}))
    code, err = race("one", f"--source-path={checkout}")
    assert code == 64
    assert "missing" in err
    assert not (tmp_path / "built.txt").exists()


def test_a_build_that_fails_ends_the_race(race: Race, checkout: Path, tmp_path: Path) -> None:
    (checkout / "broken").touch()
    code, err = race("one", f"--source-path={checkout}")
    assert code == 64
    assert "failed with exit code 7: Compilation failed" in err
    assert not (tmp_path / "home" / "races" / "one").exists()


def test_a_build_is_installed_and_started(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    options = (f"--source-path={checkout}", "--car-params=heap_size:128m", f"--http-port={port}")
    assert main(("start", *options, "--format=json")) == 0
    started = json.loads(capsys.readouterr().out)
    chosen = f"--installation-id={started['installation-id']}"
    assert started["nodes"][0]["version"] == f"{VERSION}-SNAPSHOT"
    assert main(("stop", chosen, "--preserve-install")) == 0
    assert main(("start", chosen)) == 0
    assert main(("stop", chosen)) == 0


def test_the_revision_has_no_effect_on_a_distribution(race: Race, checkout: Path) -> None:
    _, err = race("one", "--distribution-version=0.1", "--revision=abc")
    assert "--revision has no effect with --pipeline=from-distribution" in err
