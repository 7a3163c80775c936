"""A node is started, watched and always stopped. The engine is a Python script."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.net.rest import RestClient
from pacenote.provision import node as node_module
from pacenote.provision.layout import NodeUser, Place
from pacenote.provision.node import Install, NodeSpec, free_ports, start_node
from pacenote.provision.process import identify
from pacenote.provision.registry import sweep

Fake = Callable[[str], Install]


def nothing_left(place: Place) -> bool:
    return not list(place.nodes.iterdir()) and not list(place.registry.glob("*"))


def test_started_watched_and_stopped(fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path) -> None:
    log = tmp_path / "race" / "engine.log"
    with start_node(spec, fake("healthy"), place, log) as node:
        assert node.running()
        assert node.exit_reason() is None
        assert RestClient([node.host]).get("/")["status"] == "green"
        assert 0 < node.start_seconds < 5
        assert os.getsid(node.pid) == node.pid
        noted = json.loads((place.registry / f"{node.id}.json").read_text())
        assert (noted["process"]["pid"], noted["owner"]["pid"]) == (node.pid, os.getpid())
        assert "PYTEST_CURRENT_TEST" not in Path(f"/proc/{node.pid}/environ").read_text()
        assert sweep(place) == ()
        assert node.running()
        pid = node.pid
    node.stop()
    assert identify(pid) is None
    assert node.exit_reason() is None
    assert nothing_left(place)
    assert "engine says healthy" in log.read_text()
    assert (log.parent / "gc.log").read_text() == "gc line\n"


def test_an_exception_stops_it(fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), start_node(spec, fake("healthy"), place, tmp_path / "log") as node:
        raise KeyboardInterrupt
    assert not node.running()
    assert nothing_left(place)


def test_ctrl_c_during_the_start_leaves_nothing(
    fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path
) -> None:
    def interrupt(label: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start_node(spec, fake("red"), place, tmp_path / "log", interrupt)
    assert nothing_left(place)


def test_preserved_data_stay(fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path) -> None:
    with start_node(replace(spec, preserve=True), fake("healthy"), place, tmp_path / "log") as node:
        pass
    assert (node.folder / "data").is_dir()
    assert not list(place.registry.glob("*"))


def test_a_stubborn_one_is_killed(
    fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_module, "STOP_SECONDS", 0.2)
    node = start_node(spec, fake("stubborn"), place, tmp_path / "log")
    node.stop()
    assert not node.running()
    assert nothing_left(place)


def test_death_during_the_start_tells_the_cause(
    fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_text("Caused by: an older trouble: OutOfMemoryError\n")
    with pytest.raises(EngineError) as caught:
        start_node(spec, fake("dies"), place, log)
    message = caught.value.message
    assert "exit code 3" in message
    assert "NoSuchFileException: /missing" in message
    assert str(log) in message
    assert "OutOfMemoryError" not in message
    assert "\n" not in message
    assert nothing_left(place)


def test_not_healthy_in_time(fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"not healthy after 1 s \(red\)"):
        start_node(replace(spec, start_timeout=0.6), fake("red"), place, tmp_path / "log")
    assert nothing_left(place)


def test_a_taken_port_is_given_up_after_three(
    fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with pytest.raises(EngineError, match="Address already in use"):
        start_node(spec, fake("port"), place, log)
    assert log.read_text().count("engine says port") == 3
    assert nothing_left(place)


def test_a_taken_port_that_was_asked_for_is_not_tried_again(
    fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with pytest.raises(EngineError, match="Address already in use"):
        start_node(replace(spec, settings={"http.port": 1}), fake("port"), place, log)
    assert log.read_text().count("engine says port") == 1


def test_a_port_taken_in_between_is_replaced(
    fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = [(taken.getsockname()[1], 1), free_ports(2)]
        monkeypatch.setattr(node_module, "HEALTH_SECONDS", 0.1)
        monkeypatch.setattr(node_module, "free_ports", lambda count: given.pop(0))
        with start_node(spec, fake("healthy"), place, tmp_path / "log") as node:
            assert node.running()
    assert not given


def test_another_engine_on_the_port_is_not_taken_for_ours(
    fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start_node(spec, fake("healthy"), place, tmp_path / "first") as first:
        given = [(first.http_port, 1), free_ports(2)]
        monkeypatch.setattr(node_module, "free_ports", lambda count: given.pop(0))
        with start_node(spec, fake("healthy"), place, tmp_path / "second") as second:
            assert second.http_port != first.http_port
            assert second.running()
            assert first.running()


def test_death_in_the_middle_of_a_race(fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path) -> None:
    with start_node(spec, fake("oom"), place, tmp_path / "log") as node:
        RestClient([node.host]).get("/die")
        deadline = time.monotonic() + 3
        while node.running() and time.monotonic() < deadline:
            time.sleep(0.01)
        reason = node.exit_reason() or ""
        assert "died (OutOfMemoryError): exit code 127" in reason
        assert "Java heap space" in reason
    assert node.exit_reason() == reason


def test_killed_by_somebody(fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path) -> None:
    with start_node(spec, fake("healthy"), place, tmp_path / "log") as node:
        os.kill(node.pid, signal.SIGKILL)
        assert node._child is not None
        assert node._child.wait(3)
        assert "killed by SIGKILL" in (node.exit_reason() or "")


def test_too_much_heap_is_refused_before_anything_starts(
    fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path
) -> None:
    with pytest.raises(EngineError, match="too little memory"):
        start_node(replace(spec, heap="4096g"), fake("healthy"), place, tmp_path / "log")
    assert nothing_left(place)


def test_a_link_in_the_logs_is_not_followed(fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    log = tmp_path / "race" / "log"
    with start_node(spec, fake("healthy"), place, log) as node:
        (node.folder / "logs" / "extra.log").symlink_to(secret)
    assert not (log.parent / "extra.log").exists()


def test_a_link_in_the_config_is_not_written_through(
    fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path
) -> None:
    install = fake("plants")
    victim = install.java.home / "victim"
    victim.write_text("precious")
    victim.chmod(0o600)
    with pytest.raises(EngineError, match="Address already in use"):
        start_node(spec, install, place, tmp_path / "log")
    assert victim.read_text() == "precious"
    assert victim.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "log").read_text().count("engine says plants") == 3
    assert nothing_left(place)


def test_the_config_is_written_before_the_nodes_user_may_write_there(
    fake: Fake, place: Place, spec: NodeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def look(folder: Path, *_: int) -> None:
        seen.append([each.name for each in (folder.parent / "config").iterdir()])
        raise KeyboardInterrupt

    monkeypatch.setattr("os.chown", look)
    nobody = replace(place, user=NodeUser("nobody", 65534, 65534))
    with pytest.raises(KeyboardInterrupt):
        start_node(spec, fake("healthy"), nobody, tmp_path / "log")
    assert seen == [["engine.json"]]


_OWNER = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from provision.conftest import FakeEngine
from pacenote.provision.java import Java
from pacenote.provision.node import Install, NodeSpec, start_node
from pacenote.provision.layout import find_place
tmp = Path({tmp!r})
place = find_place(tmp / "home", root=False)
install = Install(FakeEngine("healthy"), tmp, Java(tmp / "java", "21", "", frozenset(), "test"))
node = start_node(NodeSpec("fake", "1", heap="128m"), install, place, tmp / "log")
sys.stdout.write(str(node.pid)); sys.stdout.flush()
time.sleep(60)
"""


def test_our_own_sigkill_takes_the_node_along(fake: Fake, place: Place, tmp_path: Path) -> None:
    fake("healthy")
    code = _OWNER.format(tests=str(Path(__file__).parent.parent), tmp=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pid = int(os.read(owner.stdout.fileno(), 20))
        assert identify(pid) is not None
        owner.kill()
    deadline = time.monotonic() + 3
    while identify(pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert identify(pid) is None
    assert len(sweep(place)) == 1
    assert nothing_left(place)
