"""Control groups of the kernel that limit memory and CPU time of a node, and contain all its processes.

    version 2   a group below the nearest group that hands out the controllers and that may be changed here
    version 1   a group below the current one, in the hierarchy of each controller
    systemd     a scope of the user's service manager, if neither is possible

A node's group has its id in its name. A group of version 2 that contains processes cannot hand out
controllers, so a group below the current one is rarely possible there; a group beside it is.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from pacenote.errors import EngineError
from pacenote.model.node_options import NodeLimits
from pacenote.system.paths import exists, is_dir, is_file

_PREFIX = "pacenote-"
_PERIOD_US = 100_000
"""Period of CPU limits in microseconds, the kernel's default."""
_TIMEOUT_S = 5.0
"""Seconds within which killed processes must end, and a trial scope must start."""
_PROCESSES = "cgroup.procs"
_MEMORY_FILES = {
    1: ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    2: ("memory.max", "memory.swap.max"),
}
"""The files that limit memory, and memory or swap space, by version; in version 1, the second is the sum."""
_BUS_VARIABLES = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""Environment variables with which systemd-run finds the user's service manager."""
_HAS_FILES = """\
folder="$0$(sed -n 's/^0:://p' /proc/self/cgroup)"
for file; do test -e "$folder/$file" || { echo "its scopes have no $file" >&2; exit 1; }; done
"""
"""A script that fails if its control group lacks a file, because systemd ignores limits without a
controller.
"""
_ESCAPED = re.compile(r"\\([0-7]{3})")


class _Mount(Struct, frozen=True):
    """A hierarchy of control groups as it is mounted."""

    folder: Path
    """Where it is mounted."""
    root: str
    """The group that is mounted."""
    controllers: frozenset[str]
    """The controllers of a hierarchy of version 1, with other options of its mount; empty for version 2."""


class GroupParent(Struct, frozen=True):
    """A group below which groups of nodes can be created."""

    folder: Path
    """Its folder."""
    controllers: frozenset[str]
    """The controllers that limit a node there."""
    version: int
    """The version of control groups."""


class ControlGroup(Struct, frozen=True):
    """The control group of one node: one folder for each hierarchy."""

    folders: tuple[Path, ...] = ()
    """The folders of the group."""
    wrapper: tuple[str, ...] = ()
    """The program, with its arguments, that starts a command in the group; empty if the child joins it."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that only this program needs."""

    @property
    def process_files(self) -> tuple[Path, ...]:
        """The files that a process writes to in order to join the group."""
        return () if self.wrapper else tuple(folder / _PROCESSES for folder in self.folders)


class LimitMethod(Struct, frozen=True):
    """How limits are applied here. Made by `find_method`."""

    parents: tuple[GroupParent, ...]
    """The groups below which a node gets one; empty with systemd."""

    def folders(self, node_id: str) -> tuple[Path, ...]:
        """Returns the folders of the control group that a node gets; empty with systemd."""
        return tuple(parent.folder / f"{_PREFIX}{node_id}" for parent in self.parents)

    def create(self, node_id: str, limits: NodeLimits) -> ControlGroup:
        """Creates the control group of a node. Raises EngineError."""
        if not self.parents:
            bus = {name: os.environ[name] for name in _BUS_VARIABLES if name in os.environ}
            unset = (part for name in bus for part in ("-u", name))
            return ControlGroup((), (*_scope_command(node_id, limits), "env", *unset), bus)
        created: list[Path] = []
        try:
            for parent, folder in zip(self.parents, self.folders(node_id), strict=True):
                with contextlib.suppress(OSError):
                    # Of a command that was killed; the kernel does not remove a group with processes.
                    folder.rmdir()
                folder.mkdir()
                created.append(folder)
                _write_limits(folder, parent, limits)
        except OSError as failure:
            for folder in created:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise EngineError(
                f"the limits of a node cannot be applied: {failure.filename or folder}: {failure.strerror}",
                hint="omit --node-memory and --node-cpu-limit, or run Pacenote as root",
            ) from failure
        return ControlGroup(tuple(created))


def find_method(limits: NodeLimits, proc: Path = Path("/proc")) -> LimitMethod:
    """Returns how these limits can be applied. Raises EngineError if that is not possible here."""
    limit_options = (("memory", "--node-memory", limits.memory), ("cpu", "--node-cpu-limit", limits.cpus))
    options = {controller: option for controller, option, limit in limit_options if limit is not None}
    parents, missing = _find_parents(set(options), proc)
    if not missing:
        return LimitMethod(parents)
    problem = _scope_problem(limits, proc)
    if not problem:
        return LimitMethod(())
    controllers = " and ".join(name for name in options if name in missing)
    raise EngineError(
        f"{' and '.join(options.values())} cannot be applied: no control group with the controller "
        f"{controllers} can be created here, and {problem}",
        hint="omit the limits, run Pacenote as root, or in a control group that is delegated to this user",
    )


def check_limits(limits: NodeLimits) -> None:
    """Applies limits to a group without processes, and removes it. Raises EngineError if that fails."""
    if limits:
        remove_group(find_method(limits).create(f"trial-{os.getpid()}", limits).folders)


def group_of_process(pid: int, node_id: str, proc: Path = Path("/proc")) -> tuple[Path, ...]:
    """Returns the folders of a node's control group that a process is in."""
    mounts = _mounts(proc)
    folders = (_group_folder(mount, path) for mount, path in _groups(proc / str(pid) / "cgroup", mounts))
    return tuple(folder for folder in folders if is_group_of(folder, node_id))


def is_group_of(folder: Path, node_id: str) -> bool:
    """Returns whether this is the folder of a control group of this node, and not any other folder."""
    name = f"{_PREFIX}{node_id}"
    return folder.name in (name, f"{name}.scope") and is_file(folder / _PROCESSES)


def ran_out_of_memory(folders: Sequence[Path]) -> bool:
    """Returns whether the kernel has killed a process of a group because of its memory limit."""
    texts = (_read(folder / name) for folder in folders for name in ("memory.events", "memory.oom_control"))
    counts = (re.search(r"^oom_kill (\d+)$", text, re.MULTILINE) for text in texts)
    return any(count is not None and int(count[1]) > 0 for count in counts)


def kill_group(folders: Sequence[Path]) -> bool:
    """Kills all processes of a control group, and returns whether none is left."""
    deadline = time.monotonic() + _TIMEOUT_S
    while any(_processes(folder) for folder in folders):
        if time.monotonic() > deadline:
            return False
        for folder in folders:
            _kill_all(folder)
        time.sleep(0.01)
    return True


def remove_group(folders: Sequence[Path]) -> None:
    """Removes a control group whose processes have ended, if possible."""
    for folder in folders:
        # A process that has ended leaves its group a little later.
        for _ in range(50):
            try:
                folder.rmdir()
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.01)
            else:
                break


def _kill_all(folder: Path) -> None:
    try:
        (folder / "cgroup.kill").write_text("1")
        return
    except OSError:
        pass  # Version 1, or a kernel before 5.14.
    for pid in _processes(folder):
        with contextlib.suppress(OSError):
            descriptor = os.pidfd_open(pid)
            try:
                # The descriptor refers to this process; if it is still in the group, it is the right one.
                if pid in _processes(folder):
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)


def _processes(folder: Path) -> frozenset[int]:
    try:
        return frozenset(map(int, (folder / _PROCESSES).read_text("ascii").split()))
    except OSError:
        return frozenset()


def _write_limits(folder: Path, parent: GroupParent, limits: NodeLimits) -> None:
    """Writes the limits of a group, in the order that the kernel requires."""
    memory, swap = _MEMORY_FILES[parent.version]
    if "memory" in parent.controllers and limits.memory is not None:
        (folder / memory).write_text(str(limits.memory))
        # A node that swaps would not measure the limit. Not every kernel limits swap space.
        if exists(folder / swap):
            (folder / swap).write_text("0" if parent.version == 2 else str(limits.memory))
    if "cpu" in parent.controllers and limits.cpus is not None:
        quota = max(round(limits.cpus * _PERIOD_US), 1000)
        if parent.version == 2:
            (folder / "cpu.max").write_text(f"{quota} {_PERIOD_US}")
        else:
            (folder / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
            (folder / "cpu.cfs_quota_us").write_text(str(quota))


def _find_parents(controllers: set[str], proc: Path) -> tuple[tuple[GroupParent, ...], set[str]]:
    """Returns the groups below which a node can be limited, and the controllers for which there is none."""
    mounts, parents, missing = _mounts(proc), list[GroupParent](), set(controllers)
    for mount, path in _groups(proc / "self/cgroup", mounts):
        wanted = frozenset(missing & mount.controllers)
        folder = _group_folder(mount, path)
        if wanted and _is_writable(folder):
            parents.append(GroupParent(folder, wanted, 1))
            missing -= wanted
    for mount, path in _groups(proc / "self/cgroup", mounts) if missing else ():
        delegating = _delegating_group(mount, _group_folder(mount, path), missing)
        if not mount.controllers and delegating is not None:
            parents.append(GroupParent(delegating, frozenset(missing), 2))
            return tuple(parents), set()
    return tuple(parents), missing


def _delegating_group(mount: _Mount, current: Path, controllers: set[str]) -> Path | None:
    """Returns the nearest group of version 2, beginning with the current one, that hands out controllers and
    may be changed.
    """
    for folder in (current, *current.parents):
        if not folder.is_relative_to(mount.folder):
            return None
        if controllers <= set(_read(folder / "cgroup.subtree_control").split()) and _is_writable(folder):
            return folder
    return None


def _is_writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK) and os.access(folder / _PROCESSES, os.W_OK)


def _mounts(proc: Path) -> tuple[_Mount, ...]:
    mounts = []
    for line in _read(proc / "self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.partition(" ")
        fields = left.split()
        if kind in ("cgroup", "cgroup2") and len(fields) > 4:
            names = options.split()[-1].split(",") if kind == "cgroup" and options else []
            controllers = frozenset(name for name in names if name not in ("rw", "ro"))
            mounts.append(_Mount(Path(_unescaped(fields[4])), _unescaped(fields[3]), controllers))
    return tuple(mounts)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text)


def _groups(file: Path, mounts: Sequence[_Mount]) -> list[tuple[_Mount, str]]:
    """Returns the hierarchies and paths of the groups in a file `cgroup` of `/proc`."""
    groups = []
    for line in _read(file).splitlines():
        names, _, path = line.partition(":")[2].partition(":")
        controllers = frozenset(names.split(",")) if names else frozenset[str]()
        # A mount may have more options, such as `seclabel` of SELinux.
        groups += [
            (mount, path)
            for mount in mounts
            if controllers <= mount.controllers and bool(controllers) == bool(mount.controllers)
        ][:1]
    return groups


def _group_folder(mount: _Mount, path: str) -> Path:
    """Returns the folder of a group. In a container, only a part of the hierarchy may be mounted."""
    root = mount.root.rstrip("/")
    inner = path.removeprefix(root) if path == root or path.startswith(f"{root}/") else path
    folder = mount.folder / inner.lstrip("/")
    return folder if is_dir(folder) else mount.folder


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace")
    except OSError:
        return ""


def _scope_command(node_id: str, limits: NodeLimits) -> tuple[str, ...]:
    """Returns the command that starts another one in a scope of the user's service manager.

    It then becomes that command, so the process keeps its id.
    """
    properties = [f"--property=MemoryMax={limits.memory}", "--property=MemorySwapMax=0"]
    quota = [] if limits.cpus is None else [f"--property=CPUQuota={limits.cpus * 100:g}%"]
    return (
        shutil.which("systemd-run") or "systemd-run",
        *("--user", "--scope", "--quiet", "--collect", f"--unit={_PREFIX}{node_id}"),
        *(properties if limits.memory is not None else ()),
        *quota,
        "--",
    )


def _scope_problem(limits: NodeLimits, proc: Path) -> str:
    """Returns why systemd-run cannot apply limits; empty if it can."""
    if os.geteuid() == 0:
        return "root has no service manager of its own"
    if shutil.which("systemd-run") is None:
        return "there is no systemd-run"
    mount = next((str(mount.folder) for mount in _mounts(proc) if not mount.controllers), "")
    files = [
        name for name, limit in (("memory.max", limits.memory), ("cpu.max", limits.cpus)) if limit is not None
    ]
    command = (*_scope_command(f"trial-{os.getpid()}", limits), "sh", "-c", _HAS_FILES, mount, *files)
    try:
        tried = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        return f"systemd-run fails: {failure}"
    error = " ".join(tried.stderr.split())[:200]
    return f"systemd-run fails: {error or f'exit code {tried.returncode}'}" if tried.returncode else ""
