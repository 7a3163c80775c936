"""Containers are started, supervised and always stopped; in these tests, a script is in place of docker."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.net.rest import RestClient
from pacenote.provision.containers.compose import ContainerSpec
from pacenote.provision.containers.engine_container import (
    cleanup_containers,
    running_containers,
    start_container,
)
from pacenote.provision.ports import free_ports
from support.docker import FakeDocker

pytestmark = pytest.mark.process


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    return FakeDocker(tmp_path / "docker", monkeypatch)


@pytest.fixture
def spec() -> ContainerSpec:
    return ContainerSpec("opensearch", "3.3.0", free_ports(1)[0])


def test_a_container_is_validated_started_and_stopped(
    docker: FakeDocker, spec: ContainerSpec, tmp_path: Path
) -> None:
    log = tmp_path / "artifacts" / "engine.log"
    with start_container(spec, tmp_path, log) as container:
        assert RestClient([container.host]).get("/")["version"]["number"] == "3.3.0"
        assert container.exit_reason() is None
        assert container.start_duration_s > 0
        document = json.loads(container.compose_file.read_text())
        assert list(document) == ["services", "volumes", "x-pacenote-home"]
        assert container.compose_file.parent.stat().st_mode & 0o077 == 0
        assert cleanup_containers(tmp_path) == ()
        (listed,) = running_containers(tmp_path)
        assert (listed.id, listed.folder) == (container.id, container.compose_file.parent)
        assert (listed.engine.name, listed.engine.address) == ("rally-node-0", container.host.address)
        assert listed.engine.image == spec.image
        while f"wait {container.id}" not in docker.calls:
            time.sleep(0.01)
    container.stop()
    assert docker.is_down(container.id)
    assert running_containers(tmp_path) == ()
    assert docker.calls == [
        *("compose version", "version --format {{.Server.Version}}", "config --quiet"),
        *("up --detach --quiet-pull", "ps --quiet --status running", f"wait {container.id}"),
        *("logs --no-color --no-log-prefix", "down --volumes --remove-orphans --timeout 10"),
    ]
    assert "the engine says hello" in log.read_text()
    assert list((tmp_path / "containers").iterdir()) == []


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("no daemon", "docker cannot be used: Cannot connect to the Docker daemon"),
        ("no compose", "needs `docker` with its plugin `compose`: docker: 'compose' is not a docker command"),
        ("invalid", "docker rejects the compose file: services.engine additional properties 'x' not allowed"),
        ("no image", "the container does not start: Error response from daemon: manifest unknown"),
        ("dies", "ended unexpectedly; .*; fatal: out of luck"),
    ],
)
def test_what_prevents_the_start_is_reported_in_one_line(
    docker: FakeDocker, spec: ContainerSpec, tmp_path: Path, mode: str, message: str
) -> None:
    docker.mode(mode)
    with pytest.raises(EngineError, match=message) as caught:
        start_container(spec, tmp_path, tmp_path / "log")
    assert "\n" not in caught.value.message
    assert not list(tmp_path.glob("containers/*"))


def test_docker_that_does_not_answer_is_reported(
    docker: FakeDocker, spec: ContainerSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker.mode("hangs")
    monkeypatch.setattr("pacenote.provision.containers.docker._TIMEOUT_S", 0.1)
    with pytest.raises(EngineError, match="docker has not answered for 0 s"):
        start_container(spec, tmp_path, tmp_path / "log")


def test_without_docker_the_message_says_what_to_do(
    spec: ContainerSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="which is not installed") as caught:
        start_container(spec, tmp_path, tmp_path / "log")
    assert "--pipeline=from-distribution" in caught.value.hint


def test_a_container_that_ends_is_reported(docker: FakeDocker, spec: ContainerSpec, tmp_path: Path) -> None:
    with start_container(spec, tmp_path, tmp_path / "log") as container:
        os.kill(int((docker.folder / f"{container.id}.pid").read_text()), signal.SIGKILL)
        while (reason := container.exit_reason()) is None:
            time.sleep(0.01)
        assert reason.endswith("ended unexpectedly; [INFO] the engine says hello; fatal: out of luck")


_OWNER = """\
import sys, time
from pathlib import Path
from pacenote.provision.containers.compose import ContainerSpec
from pacenote.provision.containers.engine_container import start_container
home = Path({home!r})
container = start_container(ContainerSpec("opensearch", "3.3.0", {port}), home, home / "log")
sys.stdout.write(container.id + "\\n"); sys.stdout.flush()
time.sleep(60)
"""


def test_the_container_of_a_killed_command_is_stopped_by_the_next_one(
    docker: FakeDocker, spec: ContainerSpec, tmp_path: Path
) -> None:
    code = _OWNER.format(home=str(tmp_path), port=spec.http_port)
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    name = owner.stdout.readline().strip()
    assert cleanup_containers(tmp_path) == ()
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    assert cleanup_containers(tmp_path) == (name,)
    assert docker.is_down(name)
    assert not list((tmp_path / "containers").iterdir())
    with start_container(replace(spec, http_port=free_ports(1)[0]), tmp_path, tmp_path / "log"):
        pass


def test_a_copy_of_a_home_does_not_stop_its_containers(
    docker: FakeDocker, spec: ContainerSpec, tmp_path: Path
) -> None:
    home, copy = tmp_path / "home", tmp_path / "copy"
    with start_container(spec, home, tmp_path / "log") as container:
        shutil.copytree(home, copy)
        (copy / "containers" / "unfinished").mkdir()
        assert cleanup_containers(copy) == ()
        assert container.exit_reason() is None
        assert not docker.is_down(container.id)
    assert not (copy / "containers" / "unfinished").exists()
