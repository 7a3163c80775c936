"""Several nodes are started together, form one cluster, and are always stopped together."""

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
from pacenote.model.node_options import NodeLimits
from pacenote.net.http_pool import ClientConfig
from pacenote.net.rest import RestClient
from pacenote.provision import fleet as fleet_module
from pacenote.provision import node_files
from pacenote.provision.cluster_access import ClusterAccess
from pacenote.provision.control_groups import check_limits
from pacenote.provision.engine_program import AssembledProgram, NodePorts
from pacenote.provision.fleet import LocalFleet
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_registry import cleanup_orphans
from pacenote.provision.node_spec import NodeSpec
from pacenote.provision.ports import free_ports, listening_users
from pacenote.system.process import process_identity

pytestmark = pytest.mark.process

Fake = Callable[[str], AssembledProgram]


@pytest.fixture
def specs(spec: NodeSpec) -> tuple[NodeSpec, ...]:
    return tuple(replace(spec, name=f"n{index}") for index in range(3))


def nothing_left(layout: EngineLayout) -> bool:
    return not list(layout.nodes.iterdir()) and not list(layout.registry.glob("*"))


def test_nodes_form_one_cluster_and_stop_together(
    fake: Fake, layout: EngineLayout, specs: tuple[NodeSpec, ...], tmp_path: Path
) -> None:
    labels: list[str] = []
    fleet = LocalFleet(fake("healthy"), layout, tmp_path)
    fleet.start(specs, lambda label, *_: labels.append(label))
    assert labels[0] == "starting fake 1.0 with 3 nodes"
    assert len(set(fleet.hosts)) == 3
    assert all(node.is_running() for node in fleet.nodes)
    settings = [json.loads((node.folder / "config" / "engine.json").read_text()) for node in fleet.nodes]
    assert {tuple(each["cluster.initial_master_nodes"]) for each in settings} == {("n0", "n1", "n2")}
    repository = fleet.nodes[0].folder / "repository"
    assert [each["path.repo"] for each in settings] == [[str(repository)]] * 3
    user = layout.user.uid if layout.user else os.geteuid()
    assert (repository.stat().st_uid, repository.stat().st_mode & 0o777) == (user, 0o700)
    assert fleet.exit_reason() is None
    assert 0 < fleet.startup_s < 5
    fleet.stop()
    assert not any(node.is_running() for node in fleet.nodes)
    assert fleet.exit_reason() is None
    assert nothing_left(layout)
    assert fleet.logs == tuple(tmp_path / name / "engine.log" for name in ("n0", "n1", "n2"))
    assert all("engine says healthy" in log.read_text() for log in fleet.logs)
    assert all((log.parent / "gc.log").exists() for log in fleet.logs)


def test_a_node_that_ends_is_named(
    fake: Fake, layout: EngineLayout, specs: tuple[NodeSpec, ...], tmp_path: Path
) -> None:
    fleet = LocalFleet(fake("healthy"), layout, tmp_path)
    fleet.start(specs)
    os.kill(fleet.nodes[1].pid, signal.SIGKILL)
    assert fleet.nodes[1].wait(3)
    reason = fleet.exit_reason() or ""
    assert reason.startswith("node n1 ended unexpectedly: killed by SIGKILL")
    fleet.stop()
    assert fleet.exit_reason() == reason
    assert nothing_left(layout)


def test_a_node_that_exceeds_its_memory_is_reported_with_its_limit(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    limits = NodeLimits(memory=64 << 20)
    try:
        check_limits(limits)
    except EngineError:
        pytest.skip("control groups cannot be created here")
    fleet = LocalFleet(fake("greedy"), layout, tmp_path)
    fleet.start([replace(spec, limits=limits)])
    (node,) = fleet.nodes
    assert node.control_groups
    RestClient([node.host]).get("/die")
    assert node.wait(5)
    assert "killed by the kernel because it needed more than its 64.0 MiB" in (fleet.exit_reason() or "")
    fleet.stop()
    assert not any(folder.exists() for folder in node.control_groups)
    assert nothing_left(layout)


def test_a_node_that_does_not_join_is_reported(
    fake: Fake, layout: EngineLayout, specs: tuple[NodeSpec, ...], tmp_path: Path
) -> None:
    late = [replace(spec, start_timeout_s=1) for spec in specs]
    with pytest.raises(EngineError, match=r"node n0 is not healthy after 1 s \(1 of 3 nodes joined\)"):
        LocalFleet(fake("alone"), layout, tmp_path).start(late)
    assert nothing_left(layout)


def test_if_one_node_cannot_start_all_are_stopped(
    fake: Fake, layout: EngineLayout, specs: tuple[NodeSpec, ...], tmp_path: Path
) -> None:
    fleet = LocalFleet(fake("dies"), layout, tmp_path)
    with pytest.raises(EngineError, match=r"node n\d ended unexpectedly: exit code 3; .*/missing") as caught:
        fleet.start(specs)
    assert caught.value.message.count("engine.log") == 1
    assert caught.value.hint == "check what --car, --jvm, --set and --env change"
    assert not any(node.is_running() for node in fleet.nodes)
    assert nothing_left(layout)


def test_all_nodes_get_other_ports_if_one_is_in_use(
    fake: Fake,
    layout: EngineLayout,
    specs: tuple[NodeSpec, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = free_ports(6)
    given = [(*first[:4], first[0], first[5]), free_ports(6)]
    expected = given[1]
    monkeypatch.setattr(fleet_module, "free_ports", lambda count: given.pop(0))
    fleet = LocalFleet(fake("healthy"), layout, tmp_path)
    fleet.start(specs)
    assert tuple(host.port for host in fleet.hosts) == expected[::2]
    fleet.stop()
    assert nothing_left(layout)


def test_the_memory_of_all_nodes_is_checked(
    fake: Fake, layout: EngineLayout, specs: tuple[NodeSpec, ...], tmp_path: Path
) -> None:
    large = [replace(spec, heap="2048g") for spec in specs]
    message = r"too little memory: 3 nodes with 2\.0 TiB of heap each need 6\.0 TiB, but only"
    with pytest.raises(EngineError, match=message):
        LocalFleet(fake("healthy"), layout, tmp_path).start(large)


def test_data_is_written_to_the_data_paths_and_removed(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    disks = tmp_path / "a", tmp_path / "b"
    for disk in disks:
        disk.mkdir()
    fleet = LocalFleet(fake("healthy"), layout, tmp_path / "logs")
    fleet.start([replace(spec, data_paths=disks)])
    (node,) = fleet.nodes
    assert node.data_paths == tuple(disk / f"pacenote-{node.id}" / "data" for disk in disks)
    assert all(path.is_dir() for path in node.data_paths)
    assert not (node.folder / "data").exists()
    fleet.stop()
    assert not any(list(disk.iterdir()) for disk in disks)
    preserved = LocalFleet(fake("healthy"), layout, tmp_path / "logs")
    preserved.start([replace(spec, data_paths=disks, preserve=True)])
    preserved.stop()
    assert all(path.is_dir() for path in preserved.nodes[0].data_paths)


_OWNER = """
import sys, time
from msgspec.structs import replace
from pathlib import Path
sys.path.insert(0, {tests!r})
from provision.conftest import FakeEngine
from pacenote.provision.engine_program import AssembledProgram
from pacenote.provision.fleet import LocalFleet
from pacenote.provision.java import JavaRuntime
from pacenote.provision.layout import create_layout
from pacenote.provision.node_spec import NodeSpec
tmp = Path({tmp!r})
java = JavaRuntime(tmp / "java", "21", "", frozenset(), "test")
program = AssembledProgram(FakeEngine("healthy"), tmp, java)
fleet = LocalFleet(program, create_layout(tmp / "home", root=False), tmp / "logs")
spec = NodeSpec("fake", "1", heap="128m", data_paths=(tmp / "disk",))
fleet.start([spec, replace(spec, name="n1")])
sys.stdout.write(",".join(str(node.pid) for node in fleet.nodes)); sys.stdout.flush()
time.sleep(60)
"""


def test_after_sigkill_of_the_owner_the_next_command_removes_the_data(
    fake: Fake, layout: EngineLayout, tmp_path: Path
) -> None:
    fake("healthy")
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "precious").write_text("of the user")
    code = _OWNER.format(tests=str(Path(__file__).parent.parent), tmp=str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in os.read(owner.stdout.fileno(), 40).split(b",")]
        assert len(list(disk.iterdir())) == 3
        owner.kill()
    deadline = time.monotonic() + 3
    while any(map(process_identity, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(process_identity, pids))
    assert len(cleanup_orphans(layout)) == 2
    assert [each.name for each in disk.iterdir()] == ["precious"]
    assert nothing_left(layout)


def test_no_node_waits_in_vain_while_the_data_of_another_is_copied(
    fake: Fake,
    layout: EngineLayout,
    specs: tuple[NodeSpec, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    any_started: list[bool] = []

    def copied(*_: object) -> None:
        any_started.append(any(tmp_path.glob("logs/*/engine.log")))

    monkeypatch.setattr(node_files, "copy_data", copied)
    fleet = LocalFleet(fake("healthy"), layout, tmp_path / "logs")
    fleet.start([replace(spec, initial_data=(tmp_path,)) for spec in specs])
    fleet.stop()
    assert any_started == [False, False, False]
    assert nothing_left(layout)


ACCESS = ClusterAccess(starting=ClientConfig((("authorization", "Basic c2VjcmV0"),)))


def listening(user: int, address: str = "127.0.0.1") -> socket.socket:
    """Returns a socket of a user that listens at a port."""
    before = os.geteuid()
    os.seteuid(user)
    try:
        return socket.create_server((address, 0))
    finally:
        os.seteuid(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can listen as another user")
def test_credentials_are_not_sent_to_another_user(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    """Who listens at the port before the node does."""
    fleet = LocalFleet(fake("healthy"), layout, tmp_path)
    with listening(4242) as server:
        port = server.getsockname()[1]
        (other,) = free_ports(1)
        secured = replace(spec, access=ACCESS, ports=NodePorts(port, other))
        with pytest.raises(EngineError):
            fleet.start((secured,))
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_credentials_are_sent_to_the_node(
    fake: Fake, layout: EngineLayout, spec: NodeSpec, tmp_path: Path
) -> None:
    fleet = LocalFleet(fake("healthy"), layout, tmp_path)
    fleet.start((replace(spec, access=ACCESS),))
    assert fleet.nodes[0].is_running()
    fleet.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can listen as another user")
@pytest.mark.parametrize("address", ["127.0.0.1", ""])
def test_users_who_listen_at_a_port_are_known(address: str) -> None:
    with listening(4242, address) as server:
        assert listening_users(server.getsockname()[1]) == {4242}
    assert listening_users(free_ports(1)[0]) == frozenset()
