"""A race against an engine in a container; in these tests, a script is in place of docker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pacenote.cli.main import main
from support.docker import FakeDocker
from teams.repositories import write_team

pytestmark = pytest.mark.process

TRACK = {
    "version": 2,
    "description": "a request",
    "schedule": [{"operation": {"operation-type": "raw-request", "path": "/"}, "iterations": 3}],
}


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RALLY_HOME", str(tmp_path / "rally"))
    (tmp_path / "track.json").write_text(json.dumps(TRACK))
    return FakeDocker(tmp_path / "docker", monkeypatch)


def race(tmp_path: Path, *options: str) -> int:
    return main(("race", "--pipeline=docker", f"--track-path={tmp_path}", "--race-id=r", "--quiet", *options))


def test_a_race_starts_and_removes_a_container(
    docker: FakeDocker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parameters = {
        "additional_cluster_settings": {"indices.queries.cache.size": "5%"},
        "docker_mem_limit": "6g",
    }
    variables = json.dumps(parameters)
    code = race(tmp_path, "--distribution-version=3.3.0", "--car=4gheap", f"--car-params={variables}")
    assert code == 0, capsys.readouterr()
    folder = tmp_path / "home" / "races" / "r"
    record = json.loads((folder / "race.json").read_text())
    assert (record["pipeline"], record["car"]) == ("docker", ["4gheap"])
    assert record["cluster"]["distribution-version"] == "3.3.0"
    assert "the engine says hello" in (folder / "artifacts" / "engine.log").read_text()
    written = json.loads((docker.folder / "compose.json").read_text())
    environment = written["services"]["engine"]["environment"]
    assert environment["OPENSEARCH_JAVA_OPTS"].startswith("-Xms4g -Xmx4g")
    assert environment["indices.queries.cache.size"] == "5%"
    assert written["services"]["engine"]["mem_limit"] == "6g"
    assert docker.calls[-1].startswith("down ")
    assert not list((tmp_path / "home" / "containers").iterdir())


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--nodes=3", "--pipeline=docker cannot have several nodes (--nodes)"),
        ("--data=keep:x", "--pipeline=docker cannot have stored data (--data)"),
        ("--caches=cold", "--pipeline=docker cannot have --caches"),
        ("--cluster-name=../x", "--cluster-name cannot be '../x'"),
        ("--runtime-jdk=21", "--pipeline=docker cannot have --runtime-jdk"),
        ("--target-hosts=h:1", "engines cannot be installed on --target-hosts"),
    ],
)
@pytest.mark.usefixtures("docker")
def test_what_a_container_cannot_have_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, message: str
) -> None:
    assert race(tmp_path, option) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("docker")
def test_files_that_a_car_would_write_into_a_container_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    team = write_team(tmp_path / "team")
    assert race(tmp_path, f"--team-path={team}", "--car=small") == 2
    assert "--pipeline=docker cannot have files of a car other than its settings" in capsys.readouterr().err


def test_without_docker_nothing_is_started(
    docker: FakeDocker, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert race(tmp_path) == 64
    assert "the pipeline docker needs `docker`" in capsys.readouterr().err
