"""Limits of nodes: with real control groups where this machine allows it, and with copies of their files."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacenote.errors import EngineError
from pacenote.model.node_options import NodeLimits
from pacenote.provision.control_groups import (
    ControlGroup,
    check_limits,
    find_method,
    group_of_process,
    is_group_of,
    kill_group,
    ran_out_of_memory,
    remove_group,
)
from pacenote.system.child_process import ChildCommand, ProcessUser, spawn_child

LIMITS = NodeLimits(256 << 20, 0.5)
UNIFIED = next((path for path in map(Path, ("/sys/fs/cgroup/unified", "/sys/fs/cgroup"))
                if (path / "cgroup.controllers").exists()), None)  # fmt: skip


def limits_are_possible() -> bool:
    try:
        check_limits(LIMITS)
    except EngineError:
        return False
    return True


real = pytest.mark.skipif(not limits_are_possible(), reason="control groups cannot be created here")
unified = pytest.mark.skipif(
    UNIFIED is None or not os.access(UNIFIED, os.W_OK) or os.geteuid() != 0,
    reason="control groups of version 2 cannot be created here",
)


@pytest.fixture
def group() -> Iterator[ControlGroup]:
    made = find_method(LIMITS).create("test-1", LIMITS)
    yield made
    kill_group(made.folders)
    remove_group(made.folders)


@real
@pytest.mark.process
def test_a_process_is_limited_from_its_start(group: ControlGroup, tmp_path: Path) -> None:
    output = os.open(os.devnull, os.O_WRONLY)
    # Another user may not join the group itself.
    user = ProcessUser("nobody", 65534, 65534) if os.geteuid() == 0 else None
    child = spawn_child(
        ChildCommand(
            (*group.wrapper, "sleep", "60"),
            tmp_path,
            {"PATH": os.environ["PATH"], **group.environment},
            output,
            user,
            cpus=(min(os.sched_getaffinity(0)),),
            group_files=group.process_files,
        )
    )
    os.close(output)
    folders = group_of_process(child.pid, "test-1")
    assert set(folders) == set(group.folders)
    assert all(str(child.pid) in (folder / "cgroup.procs").read_text().split() for folder in folders)
    assert os.sched_getaffinity(child.pid) == {min(os.sched_getaffinity(0))}
    assert group_of_process(child.pid, "test-2") == ()
    limits = {
        file.name: file.read_text().strip()
        for folder in folders
        for file in folder.iterdir()
        if file.name in ("memory.max", "memory.limit_in_bytes", "cpu.max", "cpu.cfs_quota_us")
    }
    assert str(256 << 20) in limits.values()
    assert {"50000", "50000 100000"} & set(limits.values())
    assert kill_group(folders)
    assert child.wait(5)
    remove_group(folders)
    assert not any(folder.exists() for folder in folders)


@real
@pytest.mark.process
def test_a_process_that_exceeds_its_memory_is_recognized(tmp_path: Path) -> None:
    limits = NodeLimits(memory=32 << 20)
    group = find_method(limits).create("test-3", limits)
    try:
        join = "".join(f"open({str(file)!r}, 'w').write('0');" for file in group.process_files)
        program = (*group.wrapper, sys.executable, "-I", "-S", "-c", f"{join} bytearray(256 << 20)")
        assert not ran_out_of_memory(group.folders)
        assert subprocess.run(program, cwd=tmp_path, check=False).returncode == -9
        assert ran_out_of_memory(group.folders)
    finally:
        remove_group(group.folders)
    assert not ran_out_of_memory(group.folders)


@real
def test_the_check_leaves_no_group() -> None:
    before = {folder: sorted(folder.glob("pacenote-*")) for folder in parents()}
    check_limits(LIMITS)
    assert before == {folder: sorted(folder.glob("pacenote-*")) for folder in parents()}
    check_limits(NodeLimits())


@real
def test_a_group_that_a_killed_command_has_left_is_replaced(group: ControlGroup) -> None:
    again = find_method(LIMITS).create("test-1", LIMITS)
    assert again == group


def parents() -> list[Path]:
    return [parent.folder for parent in find_method(LIMITS).parents]


@unified
@pytest.mark.process
def test_all_processes_of_a_group_of_version_2_are_killed() -> None:
    assert UNIFIED is not None
    folder = UNIFIED / "pacenote-test-2"
    folder.mkdir()
    try:
        # The second process is in a session of its own, which a signal to a process group does not reach.
        script = (
            f"import os, subprocess, sys, time; open('{folder}/cgroup.procs', 'w').write('0');"
            "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True);"
            "print('ready', flush=True); time.sleep(60)"
        )
        process = subprocess.Popen([sys.executable, "-I", "-S", "-c", script], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        assert is_group_of(folder, "test-2")
        assert len((folder / "cgroup.procs").read_text().split()) == 2
        assert kill_group((folder,))
        assert process.wait(5) == -9
        process.stdout.close()
    finally:
        kill_group((folder,))
        remove_group((folder,))
    assert not folder.exists()


def fake_proc(tmp_path: Path, mountinfo: str, groups: str) -> Path:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "mountinfo").write_text(mountinfo)
    (tmp_path / "proc" / "self" / "cgroup").write_text(groups)
    return tmp_path / "proc"


def fake_group(folder: Path, handed_out: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cgroup.procs").write_text("")
    (folder / "cgroup.subtree_control").write_text(handed_out)


def test_version_2_uses_the_nearest_group_that_hands_out_the_controllers(tmp_path: Path) -> None:
    mount = tmp_path / "a mount"
    fake_group(mount, "cpu memory")
    fake_group(mount / "user.slice", "cpu memory pids")
    fake_group(mount / "user.slice" / "session", "pids")
    escaped = str(mount).replace(" ", "\\040")
    proc = fake_proc(tmp_path, f"1 0 0:1 / {escaped} rw - cgroup2 cgroup2 rw\n", "0::/user.slice/session\n")
    method = find_method(LIMITS, proc)
    (folder,) = method.create("n-1", LIMITS).folders
    assert folder == mount / "user.slice" / "pacenote-n-1"
    assert (folder / "memory.max").read_text() == str(256 << 20)
    assert (folder / "cpu.max").read_text() == "50000 100000"


def test_a_container_sees_only_a_part_of_a_hierarchy(tmp_path: Path) -> None:
    memory, cpu = tmp_path / "memory", tmp_path / "cpu,cpuacct"
    fake_group(memory / "inner")
    fake_group(cpu)
    proc = fake_proc(
        tmp_path,
        f"1 0 0:1 /docker/x {memory} rw - cgroup cgroup rw,memory\n"
        f"2 0 0:2 / {cpu} rw - cgroup cgroup rw,cpu,cpuacct\n",
        "4:memory:/docker/x/inner\n3:cpu,cpuacct:/docker/x\n",
    )
    group = find_method(LIMITS, proc).create("n-1", LIMITS)
    assert group.folders == (memory / "inner" / "pacenote-n-1", cpu / "pacenote-n-1")
    assert (group.folders[0] / "memory.limit_in_bytes").read_text() == str(256 << 20)
    assert (group.folders[1] / "cpu.cfs_quota_us").read_text() == "50000"


def test_only_the_controllers_of_the_limits_are_needed(tmp_path: Path) -> None:
    fake_group(tmp_path / "memory")
    proc = fake_proc(tmp_path, f"1 0 0:1 / {tmp_path}/memory rw - cgroup cgroup rw,memory\n", "4:memory:/\n")
    assert len(find_method(NodeLimits(memory=1), proc).parents) == 1


def test_limits_that_cannot_be_applied_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    proc = fake_proc(tmp_path, "", "")
    with pytest.raises(EngineError) as caught:
        find_method(LIMITS, proc)
    assert caught.value.message == (
        "--node-memory and --node-cpu-limit cannot be applied: no control group with the controller memory "
        "and cpu can be created here, and there is no systemd-run"
    )
    with pytest.raises(EngineError, match=r"^--node-cpu-limit cannot be applied: .* the controller cpu can"):
        find_method(NodeLimits(cpus=1), proc)


@pytest.fixture
def systemd_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in place of systemd-run: it runs the command without a scope, or fails."""
    script = tmp_path / "systemd-run"
    script.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return script


@pytest.mark.process
def test_a_scope_of_systemd_is_used_if_it_has_the_controllers(tmp_path: Path, systemd_run: Path) -> None:
    mount = tmp_path / "mount"
    fake_group(mount)
    groups = Path("/proc/self/cgroup").read_text().splitlines()
    own = next((line[3:] for line in groups if line.startswith("0::")), None)
    if own is None:
        pytest.skip("this machine has no control groups of version 2")
    fake_group(mount / own.lstrip("/"))
    proc = fake_proc(tmp_path, f"1 0 0:1 / {mount} rw - cgroup2 cgroup2 rw\n", f"0::{own}\n")
    with pytest.raises(EngineError, match=r"systemd-run fails: its scopes have no memory\.max$"):
        find_method(LIMITS, proc)
    for name in ("memory.max", "cpu.max"):
        (mount / own.lstrip("/") / name).write_text("max")
    group = find_method(LIMITS, proc).create("n-1", LIMITS)
    assert group.folders == group.process_files == ()
    assert group.environment == {"XDG_RUNTIME_DIR": "/run/user/1000"}
    assert group.wrapper == (
        *(str(systemd_run), "--user", "--scope", "--quiet", "--collect", "--unit=pacenote-n-1"),
        *("--property=MemoryMax=268435456", "--property=MemorySwapMax=0", "--property=CPUQuota=50%", "--"),
        *("env", "-u", "XDG_RUNTIME_DIR"),
    )
    ran = subprocess.run([*group.wrapper, "env"], capture_output=True, text=True, check=True)
    assert "XDG_RUNTIME_DIR" not in ran.stdout


def test_only_groups_of_the_node_are_recognized(tmp_path: Path) -> None:
    for name in ("pacenote-n-1", "pacenote-n-1.scope", "pacenote-n-2", "system.slice"):
        fake_group(tmp_path / name)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "pacenote-n-1").mkdir()
    assert is_group_of(tmp_path / "pacenote-n-1", "n-1")
    assert is_group_of(tmp_path / "pacenote-n-1.scope", "n-1")
    assert not is_group_of(tmp_path / "pacenote-n-2", "n-1")
    assert not is_group_of(tmp_path / "system.slice", "n-1")
    assert not is_group_of(tmp_path / "other" / "pacenote-n-1", "n-1")
    assert kill_group(())


def test_mounts_with_the_options_of_selinux_are_recognized(tmp_path: Path) -> None:
    fake_group(tmp_path / "memory")
    proc = fake_proc(
        tmp_path, f"1 0 0:1 / {tmp_path}/memory rw - cgroup cgroup rw,seclabel,memory\n", "4:memory:/\n"
    )
    (parent,) = find_method(NodeLimits(memory=1), proc).parents
    assert parent.folder == tmp_path / "memory"


def test_a_limit_that_the_kernel_refuses_is_reported_with_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        # As when a file is written: without its name.
        raise OSError(errno.EINVAL, "Invalid argument")

    fake_group(tmp_path / "memory")
    proc = fake_proc(tmp_path, f"1 0 0:1 / {tmp_path}/memory rw - cgroup cgroup rw,memory\n", "4:memory:/\n")
    method = find_method(NodeLimits(memory=1), proc)
    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(EngineError, match=r"cannot be applied: .*/memory/pacenote-n-1: Invalid argument$"):
        method.create("n-1", NodeLimits(memory=1))
    assert not (tmp_path / "memory/pacenote-n-1").exists()
