"""A node is started, supervised and always stopped; in these tests, the engine is a Python script."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.net.rest import RestClient
from pacenote.provision import fleet as fleet_module
from pacenote.provision import node as node_module
from pacenote.provision.engine_program import AssembledProgram
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_registry import cleanup_orphans
from pacenote.provision.node_spec import NodeSpec
from pacenote.provision.ports import free_ports
from pacenote.system.child_process import ProcessUser
from pacenote.system.process import is_running, kill_process, process_identity
from provision.conftest import start_node

pytestmark = pytest.mark.process

Fake = Callable[[str], AssembledProgram]


def nothing_left(layout: EngineLayout) -> bool:
    return not list(layout.nodes.iterdir()) and not list(layout.registry.glob("*"))


def tcp_connections() -> int:
    own = {str(entry.readlink()) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()}
    inodes = (line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    return sum(f"socket:[{inode}]" in own for inode in inodes)


def test_a_node_is_started_supervised_and_stopped(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    log = tmp_path / "race" / "artifacts" / "engine.log"
    seen: list[tuple[str, int, int]] = []
    with start_node(spec, fake("healthy"), layout, log.parent, lambda *step: seen.append(step)) as node:
        assert seen[0] == (f"starting {spec.distribution} {spec.version}", 0, int(spec.start_timeout_s))
        assert node.is_running()
        assert node.exit_reason() is None
        assert RestClient([node.host]).get("/")["status"] == "green"
        assert 0 < node.start_duration_s < 5
        assert os.getsid(node.pid) == node.pid
        noted = json.loads((layout.registry / f"{node.id}.json").read_text())
        assert (noted["process"]["pid"], noted["owner"]["pid"]) == (node.pid, os.getpid())
        assert "PYTEST_CURRENT_TEST" not in Path(f"/proc/{node.pid}/environ").read_text()
        assert cleanup_orphans(layout) == ()
        assert node.is_running()
        pid = node.pid
    node.stop()
    assert process_identity(pid) is None
    assert node.exit_reason() is None
    assert nothing_left(layout)
    assert "engine says healthy" in log.read_text()
    assert (log.parent / "gc.log").read_text() == "gc line\n"


def test_a_process_that_has_left_the_session_does_not_write_to_the_kept_log(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    log = tmp_path / "logs" / "engine.log"
    with start_node(spec, fake("leaves"), layout, log.parent) as node:
        pid_file = node.entry.logs_folder / "left" / "pid"
        deadline = time.monotonic() + 10
        while "later" not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.02)
        left = process_identity(int(pid_file.read_text()))
    try:
        assert left is not None
        assert is_running(left)
        kept = log.read_bytes()
        assert b"written later" in kept
        with log.open("rb") as file:
            kept_file = os.fstat(file.fileno())
        # It goes on writing, and empties the file each second.
        time.sleep(1.2)
        assert log.read_bytes() == kept
        assert str(Path(f"/proc/{left.pid}/fd/1").readlink()).endswith("(deleted)")
        assert (kept_file.st_nlink, kept_file.st_mode & 0o777) == (1, 0o600)
        assert [path.name for path in log.parent.iterdir() if path.name.startswith(".")] == []
    finally:
        if left is not None:
            kill_process(left, lambda pid: True)


def test_an_engine_can_read_its_standard_input_which_stays_open(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    with start_node(spec, fake("reads"), layout, tmp_path / "logs") as node:
        assert node.is_running()
    assert nothing_left(layout)


def test_an_exception_stops_the_node(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    with (
        pytest.raises(KeyboardInterrupt),
        start_node(spec, fake("healthy"), layout, tmp_path / "logs") as node,
    ):
        raise KeyboardInterrupt
    assert not node.is_running()
    assert nothing_left(layout)


def test_ctrl_c_during_startup_leaves_no_process_or_files(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    def interrupt(label: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start_node(spec, fake("red"), layout, tmp_path / "logs", interrupt)
    assert nothing_left(layout)


def test_no_connection_stays_open_if_the_start_fails(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    calls = iter(range(20))

    def interrupt_later(label: str, done: int, total: int) -> None:
        if next(calls, None) is None:
            raise KeyboardInterrupt

    before = tcp_connections()
    # The error keeps the frames of the call alive, and so the client that waits for the node.
    with pytest.raises(KeyboardInterrupt) as caught:
        start_node(spec, fake("red"), layout, tmp_path / "logs", interrupt_later)
    assert caught.value.__traceback__ is not None
    assert tcp_connections() == before


def test_preserved_data_is_kept(fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path) -> None:
    with start_node(replace(spec, preserve=True), fake("healthy"), layout, tmp_path / "logs") as node:
        pass
    assert (node.folder / "data").is_dir()
    assert not list(layout.registry.glob("*"))


def test_a_node_that_ignores_sigterm_is_killed(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_module, "STOP_TIMEOUT_S", 0.2)
    node = start_node(spec, fake("stubborn"), layout, tmp_path / "logs")
    node.stop()
    assert not node.is_running()
    assert nothing_left(layout)


def test_a_node_that_ends_during_startup_is_reported_with_the_cause(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    log = tmp_path / "engine.log"
    log.write_text("Caused by: an older problem: java.lang.OutOfMemoryError\n")
    with pytest.raises(EngineError) as caught:
        start_node(spec, fake("dies"), layout, log.parent)
    message = caught.value.message
    assert "exit code 3" in message
    assert "NoSuchFileException: /missing" in message
    assert str(log) in message
    assert "OutOfMemoryError" not in message
    assert "\n" not in message
    assert nothing_left(layout)


def test_a_node_that_is_not_healthy_in_time_is_reported(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    with pytest.raises(EngineError, match=r"not healthy after 3 s \(red\)"):
        start_node(replace(spec, start_timeout_s=3), fake("red"), layout, tmp_path / "logs")
    assert nothing_left(layout)


def test_startup_fails_after_three_attempts_on_ports_in_use(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    log = tmp_path / "engine.log"
    with pytest.raises(EngineError, match="Address already in use"):
        start_node(spec, fake("port"), layout, log.parent)
    assert log.read_text().count("engine says port") == 3
    assert nothing_left(layout)


def test_a_configured_port_in_use_is_not_retried(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    log = tmp_path / "engine.log"
    with pytest.raises(EngineError, match="Address already in use"):
        start_node(replace(spec, settings={"http.port": 1}), fake("port"), layout, log.parent)
    assert log.read_text().count("engine says port") == 1


def test_a_configured_port_that_is_taken_is_reported_before_startup(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for name in ("http.port", "transport.port"):
            with pytest.raises(EngineError, match=f"port {port} is taken: .* the {name} of the node"):
                start_node(replace(spec, settings={name: str(port)}), fake("port"), layout, tmp_path / "logs")
    assert not (tmp_path / "logs").exists()
    assert nothing_left(layout)


def test_a_jvm_that_crashes_is_reported_with_the_signal(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    with pytest.raises(EngineError) as caught:
        start_node(spec, fake("crash"), layout, tmp_path / "logs")
    assert (
        "killed by SIGABRT; the JVM crashed: SIGSEGV (0xb) at pc=0x1; in C [libzstd.so]"
        in caught.value.message
    )
    assert "hs_err_pid" in caught.value.hint
    assert nothing_left(layout)


def test_a_free_port_is_chosen_if_the_first_is_in_use(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = [(taken.getsockname()[1], 1), free_ports(2)]
        monkeypatch.setattr(fleet_module, "HEALTH_TIMEOUT_S", 0.1)
        monkeypatch.setattr(fleet_module, "free_ports", lambda count: given.pop(0))
        with start_node(spec, fake("healthy"), layout, tmp_path / "logs") as node:
            assert node.is_running()
    assert not given


def test_another_engine_on_the_port_is_detected(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with start_node(spec, fake("healthy"), layout, tmp_path / "first") as first:
        given = [(first.http_port, 1), free_ports(2)]
        monkeypatch.setattr(fleet_module, "free_ports", lambda count: given.pop(0))
        with start_node(spec, fake("healthy"), layout, tmp_path / "second") as second:
            assert second.http_port != first.http_port
            assert second.is_running()
            assert first.is_running()


def test_the_exit_reason_names_the_cause(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    with start_node(spec, fake("oom"), layout, tmp_path / "logs") as node:
        RestClient([node.host]).get("/die")
        deadline = time.monotonic() + 3
        while node.is_running() and time.monotonic() < deadline:
            time.sleep(0.01)
        reason = node.exit_reason() or ""
        assert "ended unexpectedly (OutOfMemoryError): exit code 127" in reason
        assert "Java heap space" in reason
    assert node.exit_reason() == reason


def test_the_exit_reason_names_the_signal(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    with start_node(spec, fake("healthy"), layout, tmp_path / "logs") as node:
        os.kill(node.pid, signal.SIGKILL)
        assert node._child is not None
        assert node._child.wait(3)
        assert "killed by SIGKILL" in (node.exit_reason() or "")


def test_too_large_a_heap_is_rejected_before_startup(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    with pytest.raises(EngineError, match="too little memory"):
        start_node(replace(spec, heap="4096g"), fake("healthy"), layout, tmp_path / "logs")
    assert nothing_left(layout)


def test_a_link_in_the_logs_is_not_followed(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    log = tmp_path / "race" / "engine.log"
    with start_node(spec, fake("healthy"), layout, log.parent) as node:
        (node.folder / "logs" / "extra.log").symlink_to(secret)
    assert not (log.parent / "extra.log").exists()


def test_nothing_is_written_through_a_link_in_the_config_folder(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    install = fake("symlink")
    victim = install.java.home / "victim"
    victim.write_text("precious")
    victim.chmod(0o600)
    with pytest.raises(EngineError, match="Address already in use"):
        start_node(spec, install, layout, tmp_path / "logs")
    assert victim.read_text() == "precious"
    assert victim.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "logs" / "engine.log").read_text().count("engine says symlink") == 3
    assert nothing_left(layout)


def test_the_config_is_written_before_the_nodes_user_can_write_to_its_folder(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def interrupt(folder: Path, *_: int) -> None:
        seen.append([each.name for each in (folder.parent / "config").iterdir()])
        raise KeyboardInterrupt

    monkeypatch.setattr("os.chown", interrupt)
    nobody = replace(layout, user=ProcessUser("nobody", 65534, 65534))
    with pytest.raises(KeyboardInterrupt):
        start_node(spec, fake("healthy"), nobody, tmp_path / "logs")
    assert seen == [["engine.json"]]


_OWNER = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from provision.conftest import FakeEngine
from pacenote.provision.java import JavaRange, JavaRuntime
from pacenote.provision.engine_program import AssembledProgram
from pacenote.provision.fleet import LocalFleet
from pacenote.provision.node_spec import NodeSpec
from pacenote.provision.layout import create_layout
tmp = Path({tmp!r})
layout = create_layout(tmp / "home", root=False)
java = JavaRuntime(tmp / "java", "21", "", frozenset(), "test")
program = AssembledProgram(FakeEngine("healthy"), tmp, java)
fleet = LocalFleet(program, layout, tmp / "logs")
fleet.start([NodeSpec("fake", "1", heap="128m")])
sys.stdout.write(str(fleet.nodes[0].pid)); sys.stdout.flush()
time.sleep(60)
"""


def test_the_node_dies_when_its_owner_is_killed(fake: Fake, layout: EngineLayout, tmp_path: Path) -> None:
    fake("healthy")
    code = _OWNER.format(tests=str(Path(__file__).parent.parent), tmp=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pid = int(os.read(owner.stdout.fileno(), 20))
        assert process_identity(pid) is not None
        owner.kill()
    deadline = time.monotonic() + 3
    while process_identity(pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process_identity(pid) is None
    assert len(cleanup_orphans(layout)) == 1
    assert nothing_left(layout)
