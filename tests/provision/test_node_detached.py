"""Nodes of installations outlive the process that started them, once they have started completely."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.net.hosts import parse_hosts
from pacenote.net.rest import RestClient
from pacenote.provision import node_lock
from pacenote.provision.engine_program import AssembledProgram
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_facts import NodePurpose
from pacenote.provision.node_registry import (
    cleanup_orphans,
    register,
    registered_nodes,
    stop_detached,
)
from pacenote.provision.node_spec import NodeSpec
from pacenote.system.process import is_running, kill_process, processes_with_lock
from provision.conftest import start_node

pytestmark = pytest.mark.process

Fake = Callable[[str], AssembledProgram]

_OWNER = """\
import os, sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from provision.conftest import FakeEngine
from pacenote.provision import node_registry
from pacenote.provision.engine_program import AssembledProgram
from pacenote.provision.java import JavaRuntime
from pacenote.provision.layout import create_layout
from pacenote.provision.fleet import LocalFleet
from pacenote.provision.node_spec import NodeSpec
from pacenote.provision.node_facts import NodePurpose
tmp = Path({tmp!r})
layout = create_layout(tmp / "home", root=False)
if {mode!r} == "unnoted":
    node_registry.NodeEntry.with_process = lambda entry, process: entry
java = JavaRuntime(tmp / "java", "21", "", frozenset(), "test")
program = AssembledProgram(FakeEngine({mode!r}), tmp, java)
spec = NodeSpec("fake", "1.0", name="a", heap="128m", purpose=NodePurpose(installation_id="i1"))
def say(label, done, total):
    sys.stdout.write("starting\\n"); sys.stdout.flush()
fleet = LocalFleet(program, layout, tmp / "logs")
fleet.start([spec], say)
fleet.detach()
sys.stdout.write("detached\\n"); sys.stdout.flush()
time.sleep(60)
"""


@pytest.fixture
def detached_spec(spec: NodeSpec) -> NodeSpec:
    return replace(spec, name="a", purpose=NodePurpose(installation_id="i1"))


@pytest.fixture
def nothing_runs_afterwards(layout: EngineLayout) -> Iterator[None]:
    yield
    for entry in registered_nodes(layout):
        if entry.process is not None:
            kill_process(entry.process, entry.is_node)


def killed_owner(tmp_path: Path, mode: str, when: str) -> None:
    """Starts a node in another process, and kills that process when it says `when`."""
    code = _OWNER.format(tests=str(Path(__file__).parents[1]), tmp=str(tmp_path), mode=mode)
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    for line in owner.stdout:
        if line.strip() == when:
            break
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    owner.stdout.close()


@pytest.mark.usefixtures("fake", "nothing_runs_afterwards")
@pytest.mark.parametrize("mode", ["healthy", "reads"])
def test_a_detached_node_outlives_its_owner(layout: EngineLayout, tmp_path: Path, mode: str) -> None:
    killed_owner(tmp_path, mode, "detached")
    assert cleanup_orphans(layout) == ()
    (entry,) = registered_nodes(layout)
    assert entry.process is not None
    assert entry.facts is not None
    assert is_running(entry.process)
    assert RestClient(parse_hosts(entry.facts.address).hosts).get("/")
    kill_process(entry.process, entry.is_node)
    assert registered_nodes(layout) == ()
    assert cleanup_orphans(layout) == ("a-i1",)
    # Its data and snapshots belong to the installation, and its logs are kept.
    assert sorted(each.name for each in entry.folder.iterdir()) == ["data", "repository"]
    assert (entry.facts.log_file.parent / "gc.log").read_text() == "gc line\n"
    assert not list(layout.registry.iterdir())


@pytest.mark.usefixtures("fake", "nothing_runs_afterwards")
@pytest.mark.parametrize("mode", ["red", "unnoted"])
def test_a_node_that_was_not_started_completely_is_removed(
    layout: EngineLayout, tmp_path: Path, mode: str
) -> None:
    killed_owner(tmp_path, mode, "starting")
    running = processes_with_lock(layout.registry / "a-i1.run", lambda _: True)
    assert len(running) == 1
    # Nothing else shows which process belongs to an entry without one.
    noted = [entry.process for entry in registered_nodes(layout)]
    assert noted == ([] if mode == "unnoted" else list(running))
    assert cleanup_orphans(layout) == ("a-i1",)
    assert not any(is_running(process) for process in running)
    assert not list(layout.registry.iterdir())


def test_a_node_of_an_installation_runs_once_and_keeps_its_data(
    fake: Fake, layout: EngineLayout, detached_spec: NodeSpec, tmp_path: Path
) -> None:
    kept = replace(detached_spec, purpose=NodePurpose(installation_id="i1", keeps_data=True))
    with start_node(kept, fake("healthy"), layout, tmp_path) as node:
        (node.folder / "data" / "index").write_text("documents")
        (node.folder / "repository" / "backups").write_text("snapshots")
        with pytest.raises(EngineError, match="node a-i1 already runs or is being started"):
            start_node(detached_spec, fake("healthy"), layout, tmp_path)
        assert node.is_running()
    with pytest.raises(EngineError, match="ended"):
        start_node(kept, fake("dies"), layout, tmp_path)
    with start_node(kept, fake("healthy"), layout, tmp_path) as node:
        assert (node.folder / "data" / "index").read_text() == "documents"
        assert (node.folder / "repository" / "backups").read_text() == "snapshots"
    with start_node(detached_spec, fake("healthy"), layout, tmp_path):
        pass
    assert not node.folder.exists()
    assert not list(layout.registry.iterdir())


def test_a_detached_node_is_stopped_by_its_entry(
    fake: Fake, layout: EngineLayout, detached_spec: NodeSpec, tmp_path: Path
) -> None:
    node = start_node(detached_spec, fake("healthy"), layout, tmp_path / "logs")
    node.detach()
    with pytest.raises(EngineError, match="node a-i1 already runs"):
        start_node(detached_spec, fake("healthy"), layout, tmp_path / "log")
    (entry,) = registered_nodes(layout)
    stop_detached(layout, entry)
    assert not node.is_running()
    assert registered_nodes(layout) == ()
    assert (node.folder / "data").is_dir()
    assert not (node.folder / "config").exists()
    assert (tmp_path / "logs" / "gc.log").exists()
    assert not list(layout.registry.iterdir())


def test_a_process_that_is_not_the_node_is_not_stopped(
    fake: Fake, layout: EngineLayout, detached_spec: NodeSpec, tmp_path: Path
) -> None:
    with start_node(detached_spec, fake("healthy"), layout, tmp_path) as node:
        node.detach()
        (entry,) = registered_nodes(layout)
        with pytest.raises(EngineError, match=f"process {node.pid} is not certainly node a"):
            stop_detached(layout, replace(entry, executable="/other/java"))
        assert node.is_running()


def test_a_node_that_runs_in_another_container_is_left_alone(
    fake: Fake, layout: EngineLayout, detached_spec: NodeSpec, tmp_path: Path
) -> None:
    with start_node(detached_spec, fake("healthy"), layout, tmp_path) as node:
        node.detach()
        (entry,) = registered_nodes(layout)
        assert entry.process is not None
        # Its id means nothing in this container.
        elsewhere = replace(entry, process=replace(entry.process, boot="of another machine"))
        register(layout, elsewhere)
        with pytest.raises(EngineError, match="node a runs in another container or on another machine"):
            stop_detached(layout, elsewhere)
        assert cleanup_orphans(layout) == ()
        assert (node.folder / "data").is_dir()
        assert node.is_running()


@pytest.mark.usefixtures("fake")
def test_a_process_that_reads_the_files_of_the_registry_is_not_killed(
    layout: EngineLayout, tmp_path: Path
) -> None:
    killed_owner(tmp_path, "unnoted", "starting")
    run = layout.registry / "a-i1.run"
    with run.open("rb") as opened, subprocess.Popen(["sleep", "60"], stdin=opened) as reader:
        try:
            assert cleanup_orphans(layout) == ("a-i1",)
            assert reader.poll() is None
        finally:
            reader.kill()


def test_the_entry_of_a_node_that_runs_is_kept_where_its_home_has_another_path(
    fake: Fake, layout: EngineLayout, detached_spec: NodeSpec, tmp_path: Path
) -> None:
    with start_node(detached_spec, fake("healthy"), layout, tmp_path) as node:
        node.detach()
        elsewhere = replace(layout, root=tmp_path / "mounted" / "engines")
        assert cleanup_orphans(elsewhere) == ()
        (entry,) = registered_nodes(layout)
        stop_detached(layout, entry)
    assert cleanup_orphans(elsewhere) == ()


@pytest.mark.usefixtures("nothing_runs_afterwards")
def test_a_node_whose_entry_is_damaged_is_not_waited_for(
    fake: Fake,
    layout: EngineLayout,
    detached_spec: NodeSpec,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(node_lock, "_UNLOCK_TIMEOUT_S", 0.05)
    node = start_node(detached_spec, fake("healthy"), layout, tmp_path / "logs")
    node.detach()
    entry = layout.registry / "a-i1.json"
    text = entry.read_text()
    entry.write_text("{")
    with pytest.raises(EngineError, match="node a-i1 already runs"):
        start_node(detached_spec, fake("healthy"), layout, tmp_path / "logs")
    assert node.is_running()
    assert (node.folder / "config").is_dir()
    entry.write_text(text)
