"""Nodes whose owners are dead are killed and removed; other nodes are not touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.model.node_options import NodeLimits
from pacenote.provision.control_groups import find_method
from pacenote.provision.data_folders import create_data_folder, data_folder, mount_point
from pacenote.provision.layout import EngineLayout, create_layout
from pacenote.provision.node_plan import node_names
from pacenote.provision.node_registry import (
    NodeEntry,
    cleanup_orphans,
    current_process,
    lock_node,
    node_id,
    register,
    registered_nodes,
    remove_node_dir,
    stop_detached,
    unregister,
)
from pacenote.system.process import ProcessIdentity, is_running, process_identity

DEAD = ProcessIdentity(2**22 + 1, 1, "no such boot")


@pytest.fixture
def sleeper(layout: EngineLayout) -> Iterator[ProcessIdentity]:
    """A process that works in the logs folder of the node `n`, as a node does."""
    logs = layout.nodes / "n" / "logs"
    logs.mkdir(parents=True)
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"], cwd=logs)
    who = process_identity(process.pid)
    assert who is not None
    yield who
    process.kill()
    process.wait()


def add_entry(layout: EngineLayout, owner: ProcessIdentity, process: ProcessIdentity | None) -> NodeEntry:
    folder = layout.nodes / "n"
    (folder / "data").mkdir(parents=True, exist_ok=True)
    entry = NodeEntry("n", folder, owner, None).with_process(process)
    register(layout, entry)
    return entry


def test_an_orphan_is_killed_and_its_files_removed(layout: EngineLayout, sleeper: ProcessIdentity) -> None:
    entry = add_entry(layout, DEAD, sleeper)
    assert cleanup_orphans(layout) == ("n",)
    assert not is_running(sleeper)
    assert not entry.folder.exists()
    assert not entry.file(layout).exists()


@pytest.mark.parametrize("change", ["started", "boot"])
def test_a_process_with_a_reused_pid_is_not_killed(
    layout: EngineLayout, sleeper: ProcessIdentity, change: str
) -> None:
    other = replace(sleeper, started=1) if change == "started" else replace(sleeper, boot="another boot")
    entry = add_entry(layout, DEAD, other)
    assert cleanup_orphans(layout) == ("n",)
    assert is_running(sleeper)
    assert not entry.folder.exists()


def copied(layout: EngineLayout, target: Path) -> EngineLayout:
    """Copies a home as `cp -a` does, and returns the layout of the copy."""
    subprocess.run(["cp", "-a", layout.home, target], check=True)
    return create_layout(target, root=False)


def test_a_copied_home_does_not_kill_the_node_of_the_original(
    layout: EngineLayout, sleeper: ProcessIdentity, tmp_path: Path
) -> None:
    entry = add_entry(layout, current_process(), sleeper)
    held = lock_node(layout, entry)
    copy = copied(layout, tmp_path / "copy")
    # Nobody holds the lock of the copy.
    assert cleanup_orphans(copy) == ()
    assert is_running(sleeper)
    assert (entry.folder / "data").is_dir()
    assert (copy.nodes / "n" / "data").is_dir()
    assert not list(copy.registry.iterdir())
    held.release()
    assert cleanup_orphans(layout) == ("n",)
    assert not is_running(sleeper)


@pytest.mark.parametrize("change", ["folder", "program", "unknown program"])
def test_a_process_that_is_not_certainly_the_node_is_left_alone(
    layout: EngineLayout, sleeper: ProcessIdentity, tmp_path: Path, change: str
) -> None:
    entry = add_entry(layout, DEAD, sleeper)
    if change == "folder":
        # As in a container that has a copy of the home at the same path.
        layout = copied(layout, tmp_path / "copy")
        register(layout, replace(entry, folder=layout.nodes / "n"))
    else:
        register(layout, replace(entry, executable="/other/java" if change == "program" else ""))
    assert cleanup_orphans(layout) == ()
    assert is_running(sleeper)
    assert (layout.nodes / "n" / "data").is_dir()
    assert entry.file(layout).exists()


@pytest.mark.parametrize("owner", [current_process(), DEAD], ids=["on this machine", "in another container"])
def test_a_node_with_a_running_owner_is_not_touched(
    layout: EngineLayout, sleeper: ProcessIdentity, owner: ProcessIdentity
) -> None:
    entry = add_entry(layout, owner, sleeper)
    held = lock_node(layout, entry)
    assert cleanup_orphans(layout) == ()
    assert is_running(sleeper)
    assert entry.folder.exists()
    held.release()
    held.release()
    assert cleanup_orphans(layout) == ("n",)
    assert not list(layout.registry.iterdir())


def test_an_owner_that_does_not_hold_the_lock_counts_as_dead(layout: EngineLayout) -> None:
    entry = add_entry(layout, current_process(), None)
    assert cleanup_orphans(layout) == ("n",)
    assert not entry.folder.exists()


def test_a_preserved_folder_is_not_removed(layout: EngineLayout) -> None:
    entry = add_entry(layout, current_process(), None)
    unregister(layout, entry, lock_node(layout, entry))
    assert cleanup_orphans(layout) == ()
    assert entry.folder.exists()
    assert not list(layout.registry.iterdir())


def test_data_on_a_disk_that_is_not_mounted_is_removed_later(
    layout: EngineLayout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = {disk}
    monkeypatch.setattr("os.path.ismount", lambda path: Path(path) in mounted)
    assert mount_point(disk) == disk
    folder = data_folder(disk, "n")
    entry = replace(add_entry(layout, DEAD, None), data_folders=(folder,), data_mounts=(disk,))
    create_data_folder(folder, "n", layout)
    register(layout, entry)
    mounted.clear()
    assert cleanup_orphans(layout) == ()
    assert registered_nodes(layout) == ()
    assert not entry.folder.exists()
    assert (folder / "data").is_dir(), "what is below the mount point is on another disk"
    mounted.add(disk)
    assert cleanup_orphans(layout) == ("n",)
    assert not folder.exists()
    assert not entry.file(layout).exists()


def test_a_lock_without_an_entry_is_removed(layout: EngineLayout) -> None:
    layout.registry.mkdir()
    (layout.registry / "n.lock").touch()
    (layout.registry / ".n.json.7.part").touch()
    assert cleanup_orphans(layout) == ()
    assert not list(layout.registry.iterdir())


_HOLDER = """
import sys, time
from pathlib import Path
from pacenote.provision.layout import create_layout
from pacenote.provision.node_registry import NodeEntry, current_process, lock_node
layout = create_layout(Path(sys.argv[1]), root=False)
held = lock_node(layout, NodeEntry("n", layout.nodes / "n", current_process(), None))
print("held", flush=True)
time.sleep(60)
"""


@pytest.mark.process
def test_the_lock_is_released_when_its_owner_is_killed(layout: EngineLayout) -> None:
    entry = add_entry(layout, DEAD, None)
    with subprocess.Popen([sys.executable, "-c", _HOLDER, layout.home], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"held\n"
        assert cleanup_orphans(layout) == ()
        assert entry.folder.exists()
        owner.kill()
    assert cleanup_orphans(layout) == ("n",)
    assert not entry.folder.exists()


def test_an_entry_without_a_process_is_removed(layout: EngineLayout) -> None:
    entry = add_entry(layout, DEAD, None)
    assert cleanup_orphans(layout) == ("n",)
    assert not entry.folder.exists()


def test_a_damaged_entry_is_removed(layout: EngineLayout) -> None:
    layout.registry.mkdir()
    (layout.registry / "x.json").write_text("{")
    assert cleanup_orphans(layout) == ()
    assert not list(layout.registry.iterdir())


def test_only_node_folders_are_removed(layout: EngineLayout, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    for folder in (tmp_path / "precious", layout.nodes, layout.nodes / "..", layout.jars):
        remove_node_dir(layout, folder)
        assert folder.exists()


def test_the_control_group_of_an_orphan_is_emptied_and_removed(layout: EngineLayout) -> None:
    limits = NodeLimits(memory=64 << 20)
    try:
        group = find_method(limits).create("n", limits)
    except EngineError:
        pytest.skip("control groups cannot be created here")
    entry = replace(add_entry(layout, DEAD, None), control_groups=group.folders)
    register(layout, entry)
    # The entry was written before the process was known, and this process is in no process group of the node.
    process = subprocess.Popen(
        [*group.wrapper, "sh", "-c", 'for file; do echo 0 > "$file"; done; echo; exec sleep 60', "sh"]
        + [str(file) for file in group.process_files],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    assert cleanup_orphans(layout) == ("n",)
    assert process.wait(5) == -9
    process.stdout.close()
    assert not any(folder.exists() for folder in group.folders)


def test_a_folder_that_is_not_the_group_of_the_node_is_ignored(
    layout: EngineLayout, sleeper: ProcessIdentity, tmp_path: Path
) -> None:
    (tmp_path / "cgroup.procs").write_text(f"{sleeper.pid}\n")
    entry = replace(add_entry(layout, DEAD, None), control_groups=(tmp_path,))
    register(layout, entry)
    assert cleanup_orphans(layout) == ("n",)
    assert is_running(sleeper)
    assert tmp_path.is_dir()


def test_a_command_that_looks_at_the_lock_of_an_orphan_is_not_killed(layout: EngineLayout) -> None:
    add_entry(layout, DEAD, None)
    run = layout.registry / "n.run"
    code = (
        "import fcntl, sys, time; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX); "
        "print(flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, run]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        cleanup_orphans(layout)
        assert other.poll() is None
        other.kill()


def test_nodes_with_long_names_have_different_ids() -> None:
    ids = {node_id(name, "i1") for name in node_names(f"-.{'x' * 60}", 3)}
    assert ids == {f"{'x' * 38}-{number}-i1" for number in range(3)}
    assert node_id("../a/b", "i1") == "a-b-i1"


def test_a_node_may_release_its_lock_a_moment_after_it_has_ended(
    layout: EngineLayout, sleeper: ProcessIdentity
) -> None:
    entry = add_entry(layout, DEAD, sleeper)
    code = (
        "import fcntl, sys, time; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX); "
        "print(flush=True); time.sleep(0.2)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, layout.registry / "n.run"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        stop_detached(layout, entry)
    assert not is_running(sleeper)
    assert not list(layout.registry.iterdir())


@pytest.mark.parametrize("name", ["n.json", "n.run"])
@pytest.mark.parametrize(
    "make",
    [
        os.mkfifo,
        os.mkdir,
        lambda path: Path(path).symlink_to("/dev/zero"),
        lambda path: Path(path).symlink_to(path),
    ],
)
def test_a_file_that_is_not_an_entry_is_passed_over(
    layout: EngineLayout, name: str, make: Callable[[Path], None]
) -> None:
    layout.registry.mkdir(parents=True, exist_ok=True)
    make(layout.registry / name)
    assert cleanup_orphans(layout) == ()
    assert registered_nodes(layout) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"pid": 2**70},
        {"pid": 2**31},
        {"pid": 0},
        {"pid": -1},
        {"pid": 1.5},
        {"pid": True},
        {"pid": "1"},
        {"started": None},
        {"boot": []},
    ],
)
def test_an_entry_with_an_odd_process_names_none(
    layout: EngineLayout, sleeper: ProcessIdentity, change: dict[str, Any]
) -> None:
    entry = add_entry(layout, DEAD, sleeper)
    document = json.loads(entry.file(layout).read_text())
    entry.file(layout).write_text(json.dumps(document | {"process": document["process"] | change}))
    assert registered_nodes(layout) == ()
    assert cleanup_orphans(layout) == ()
    assert is_running(sleeper)
    assert not entry.file(layout).exists()


@pytest.mark.parametrize(
    "change", [{"folder": "a\0b"}, {"folder": 5}, {"data_folders": [None]}, {"data_mounts": ["\0"]}]
)
def test_an_entry_with_an_odd_path_is_damaged(
    layout: EngineLayout, sleeper: ProcessIdentity, change: dict[str, Any]
) -> None:
    entry = add_entry(layout, DEAD, sleeper)
    document = json.loads(entry.file(layout).read_text())
    entry.file(layout).write_text(json.dumps(document | change))
    assert cleanup_orphans(layout) == ()
    assert is_running(sleeper)
