"""The registry of running nodes, used to find and remove nodes whose owners were killed.

The kernel already kills a node whose owner dies; the registry is used to remove its files, and to kill it if
the kernel did not.

A home folder may be a copy of one whose nodes run. A process is therefore killed only if its entry names a
folder of this home, and if it is the process of the entry (same id, start time and boot), runs the program of
the entry and works in the folder. Otherwise its files are left alone. Processes of the same session that work
in the folder are killed with it: some engines are started by a launcher.

ID.json is the entry of a node. Its owner keeps a lock on the file ID.lock while it runs. Only the lock shows
whether the owner is dead, because containers and machines that share a home folder do not see each other's
processes and have different boot ids.

A detached node (`pacenote start`) outlives its owner. Its process keeps a lock on the file ID.run until it
ends. It becomes detached when it has started completely: before that, it is removed like any other node if
its owner dies.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error, read_small_file, replace_text
from pacenote.model.decoding import parse_json
from pacenote.provision.control_groups import is_group_of, kill_group, remove_group
from pacenote.provision.data_folders import indices_folder, remove_data_folder
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node_facts import NodeFacts, facts_document, parse_facts
from pacenote.provision.node_lock import NodeLock, acquire_lock, is_locked, stays_locked, wait_for_lock
from pacenote.provision.node_logs import keep_logs, replace_log
from pacenote.system.folder_trees import remove_tree
from pacenote.system.paths import is_dir
from pacenote.system.process import (
    ProcessIdentity,
    can_identify_processes,
    is_running,
    kill_process,
    kill_processes_with_lock,
    process_executable,
    process_identity,
    session_members,
    terminate_process,
    works_below,
)

_MAX_PID = 2**31 - 1
"""The largest number that fits into the kernel's type for the ids of processes."""


class NodeEntry(Struct, frozen=True):
    """The registry entry of one node."""

    id: str
    """The id of the node: its name and a random suffix."""
    folder: Path
    """The folder of the node."""
    owner: ProcessIdentity
    """The process that started the node."""
    process: ProcessIdentity | None
    """The process of the node, or None until it is started."""
    executable: str = ""
    """The path of the program that the process runs; empty if it is not known."""
    detached: bool = False
    """Whether the node has started and needs no owner."""
    keeps_data: bool = False
    """Whether its data is kept when it ends."""
    facts: NodeFacts | None = None
    """What users are told about the node, or None if the entry does not say it."""
    data_folders: tuple[Path, ...] = ()
    """Its folders below data paths; empty if its data is in `folder`."""
    data_mounts: tuple[Path, ...] = ()
    """Where the disks of `data_folders` were mounted when it was started."""
    control_groups: tuple[Path, ...] = ()
    """The folders of its control group; empty if it has none."""

    def file(self, layout: EngineLayout) -> Path:
        """Returns the file of the entry."""
        return _entry_file(layout, self.id)

    @property
    def kept(self) -> tuple[str, ...]:
        """The names of the folders of the node that are kept when it ends."""
        return ("data", "repository") if self.keeps_data else ()

    @property
    def repository(self) -> Path:
        """The folder for repositories of snapshots."""
        return self.folder / "repository"

    @property
    def logs_folder(self) -> Path:
        """The folder of its logs, which is the working directory of the process, so that files with relative
        names in JVM options are kept.
        """
        return self.folder / "logs"

    @property
    def has_absent_disk(self) -> bool:
        """Whether a disk with its data is not mounted, so that its folder there cannot be removed."""
        return not all(map(os.path.ismount, self.data_mounts))

    @property
    def indices_folders(self) -> tuple[Path, ...]:
        """The folders that its indices are in."""
        return tuple(map(indices_folder, self.data_folders)) or (self.folder / "data",)

    def with_process(self, process: ProcessIdentity | None) -> NodeEntry:
        """Returns the entry for a process that was started, with the program that it runs now."""
        return replace(self, process=process, executable=process_executable(process.pid) if process else "")

    def is_node(self, pid: int) -> bool:
        """Returns whether the process with this id runs the program of the node in the folder of the node."""
        return process_executable(pid) == self.executable and works_below(pid, self.folder)


def node_id(name: str, suffix: str) -> str:
    """Returns the id of a node: its name as part of a file name, and a suffix that makes it unique."""
    # The names of the nodes of a cluster differ at the end.
    return f"{re.sub(r'[^A-Za-z0-9._-]', '-', name)[-40:].lstrip('.-')}-{suffix}"


def current_process() -> ProcessIdentity:
    """Returns the identity of this process, the owner of nodes.

    Raises EngineError on a system without /proc.
    """
    identity = process_identity(os.getpid())
    if identity is None:
        raise EngineError(
            "/proc is not available, so an engine that Pacenote starts cannot be supervised",
            hint="mount /proc, or race against an existing cluster with --pipeline=benchmark-only",
        )
    return identity


def lock_node(layout: EngineLayout, entry: NodeEntry) -> NodeLock:
    """Locks a node's entry. Must be called before the entry is written.

    Raises DiskError if files cannot be locked.
    """
    file = _lock_file(layout, entry.id)
    return wait_for_lock(file)


def claim_node(layout: EngineLayout, entry: NodeEntry) -> NodeLock:
    """Locks a node's entry, or raises EngineError if a node with this id runs or is being started.

    Removes a node with this id whose owner is dead. Raises DiskError if files cannot be locked.
    """
    _cleanup_orphan(layout, entry.id)
    lock, file = None, _lock_file(layout, entry.id)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = acquire_lock(file)
    except OSError as failure:
        raise disk_error(failure, file) from failure
    if lock is not None:
        # A node whose entry is damaged may run as well. Commands that list nodes hold its lock for a moment.
        run_file = _run_file(layout, entry.id)
        if read_entry(layout, entry.id) is None and not stays_locked(run_file, ended_now=True):
            return lock
        lock.release()
    raise EngineError(
        f"node {entry.id} already runs or is being started",
        hint="`pacenote list nodes` shows it, `pacenote stop` stops it; otherwise end its process yourself",
    )


def lock_run(layout: EngineLayout, entry: NodeEntry) -> NodeLock:
    """Returns the lock that the process of a detached node inherits, and so keeps until it ends.

    Raises DiskError if files cannot be locked.
    """
    return wait_for_lock(_run_file(layout, entry.id))


def try_lock_node(layout: EngineLayout, node_id: str) -> NodeLock | None:
    """Locks a node's entry if its owner is dead, or if the node is detached; otherwise returns None."""
    try:
        return acquire_lock(_lock_file(layout, node_id))
    except OSError:
        # The owner is alive, perhaps on another machine, or its state is unknown; data must not be lost.
        return None


def register(layout: EngineLayout, entry: NodeEntry) -> None:
    """Writes or replaces a node's entry atomically. Raises DiskError if it cannot be written."""
    document = {
        "id": entry.id,
        "folder": str(entry.folder),
        "owner": to_builtins(entry.owner),
        "process": to_builtins(entry.process) if entry.process else None,
        "executable": entry.executable,
        "detached": entry.detached,
        "keeps_data": entry.keeps_data,
        "facts": facts_document(entry.facts) if entry.facts else None,
        "data_folders": list(map(str, entry.data_folders)),
        "data_mounts": list(map(str, entry.data_mounts)),
        "control_groups": list(map(str, entry.control_groups)),
    }
    replace_text(entry.file(layout), json.dumps(document))


def unregister(layout: EngineLayout, entry: NodeEntry, lock: NodeLock | None) -> None:
    """Removes a node's entry, and then its lock."""
    # In this order: a process that gets the lock must not find an entry to clean up.
    _remove_entry(layout, entry.id)
    if lock is not None:
        lock.release()


def _remove_entry(layout: EngineLayout, node_id: str) -> None:
    """Removes the files of an entry, but not a folder of the same name, which Pacenote does not create."""
    for file in (_entry_file(layout, node_id), _run_file(layout, node_id)):
        with contextlib.suppress(IsADirectoryError):
            file.unlink(missing_ok=True)


def _entry_file(layout: EngineLayout, node_id: str) -> Path:
    return layout.registry / f"{node_id}.json"


def _lock_file(layout: EngineLayout, node_id: str) -> Path:
    return layout.registry / f"{node_id}.lock"


def _run_file(layout: EngineLayout, node_id: str) -> Path:
    return layout.registry / f"{node_id}.run"


def cleanup_orphans(layout: EngineLayout) -> tuple[str, ...]:
    """Kills every node whose owner is dead, removes its files and those of detached nodes that have ended,
    and returns the ids of the removed nodes.

    Does not affect nodes whose owners hold their locks, detached nodes that run, processes that are not
    certainly those of this home's nodes, and their files. Does nothing without /proc, which identifies
    processes. The entry of a node with data on a disk that is not mounted is kept until it is.
    """
    if not can_identify_processes():
        return ()
    return tuple(node_id for node_id in sorted(_ids(layout)) if _cleanup_orphan(layout, node_id))


def registered_nodes(layout: EngineLayout) -> tuple[NodeEntry, ...]:
    """Returns the entries of this home's nodes that run, or that are being started, sorted by id.

    Without /proc, which identifies processes, there are none.
    """
    entries = (read_entry(layout, node_id) for node_id in sorted(_ids(layout)))
    return tuple(entry for entry in entries if entry is not None and _may_run(layout, entry))


def stop_detached(layout: EngineLayout, entry: NodeEntry, timeout_s: float = 10.0) -> str:
    """Stops a detached node with SIGTERM, and with SIGKILL after `timeout_s`; keeps its logs and its data.
    Returns a line about logs that were left out; empty if none were.

    Raises EngineError, and leaves the node alone, if another command stops it, if its process is not
    certainly the node, or if it cannot be seen from here.
    """
    name = entry.facts.name if entry.facts else entry.id
    lock = try_lock_node(layout, entry.id)
    if lock is None:
        raise EngineError(f"node {name} is being started or stopped", hint="run the same command again later")
    try:
        ran_here = entry.process is not None and is_running(entry.process)
        if entry.process is not None and not terminate_process(entry.process, entry.is_node, timeout_s):
            raise EngineError(
                f"process {entry.process.pid} is not certainly node {name}, so it is left alone",
                hint="stop it yourself if it is",
            )
        if entry.process is not None:
            _end_children(entry, entry.process)
        end_group(entry)
        if stays_locked(_run_file(layout, entry.id), ended_now=ran_here):
            raise EngineError(
                f"node {name} runs in another container or on another machine",
                hint="run the same command there",
            )
        problem = _keep_logs(entry)
        remove_files(layout, entry)
        _remove_entry(layout, entry.id)
        return problem
    finally:
        lock.release()


def _ids(layout: EngineLayout) -> set[str]:
    return {file.stem for pattern in ("*.json", "*.lock", "*.run") for file in layout.registry.glob(pattern)}


def _may_run(layout: EngineLayout, entry: NodeEntry) -> bool:
    """Returns whether an entry is one of this home whose process, or whose owner before there is a process,
    runs.
    """
    if not _is_node_dir(layout, entry.folder):
        return False
    if entry.process is None:
        return is_running(entry.owner)
    return is_running(entry.process) or is_locked(_run_file(layout, entry.id))


def _cleanup_orphan(layout: EngineLayout, node_id: str) -> bool:
    lock = try_lock_node(layout, node_id)
    if lock is None:
        return False
    try:
        # The entry is read under the lock, because the owner may have ended normally and kept the folder on
        # request.
        entry = read_entry(layout, node_id)
        ours = entry is not None and _is_node_dir(layout, entry.folder)
        if entry is not None and ours:
            if entry.detached and _may_run(layout, entry):
                return False
            ran_here = _kill_holders(layout, entry) or (
                entry.process is not None and is_running(entry.process)
            )
            if entry.process is not None and not _end_process(entry, entry.process):
                return False
            if not end_group(entry) or stays_locked(_run_file(layout, node_id), ended_now=ran_here):
                return False
            _keep_logs(entry)
            if entry.has_absent_disk and not entry.keeps_data:
                # The next command that finds the disk removes what is there.
                remove_node_dir(layout, entry.folder)
                return False
            remove_files(layout, entry)
        elif is_locked(_run_file(layout, node_id)):
            # Another container may see this home under another path.
            return False
        # An entry that names another home was copied with it. A damaged entry names no process, which the
        # kernel has already killed.
        _remove_entry(layout, node_id)
        for partial in layout.registry.glob(f".{node_id}.json.*.part"):
            partial.unlink(missing_ok=True)
        return ours
    finally:
        lock.release()


def end_group(entry: NodeEntry) -> bool:
    """Kills all processes of a node's control group and removes it; returns whether they have ended."""
    folders = [folder for folder in entry.control_groups if is_group_of(folder, entry.id)]
    if not kill_group(folders):
        return False
    remove_group(folders)
    return True


def remove_files(layout: EngineLayout, entry: NodeEntry) -> None:
    """Removes the folders of a node, except its data if that is kept; ignores folders that Pacenote did not
    make for it.
    """
    for folder in () if entry.keeps_data else entry.data_folders:
        remove_data_folder(folder, entry.id, layout)
    remove_node_dir(layout, entry.folder, entry.kept)


def _keep_logs(entry: NodeEntry) -> str:
    """Keeps the logs of a node that has ended, apart from those in its folder if it is not of an
    installation, and returns a line about those that were left out.
    """
    if entry.facts is None:
        return ""
    problems = [replace_log(entry.facts.log_file)]
    if entry.facts.installation_id:
        problems.append(keep_logs(entry.logs_folder, entry.facts.log_file.parent))
    return "; ".join(filter(None, problems))


def _kill_holders(layout: EngineLayout, entry: NodeEntry) -> bool:
    """Kills the processes that inherited the lock of a node that was never detached, and returns whether
    there were any.

    The owner may have been killed before it noted the process, or the program that a script runs. Another
    command that tests the lock meanwhile does not work in the folder of the node.
    """
    file = _run_file(layout, entry.id)
    return is_locked(file) and kill_processes_with_lock(file, lambda pid: works_below(pid, entry.folder))


def _end_process(entry: NodeEntry, process: ProcessIdentity) -> bool:
    """Kills the process of an entry and those that it started, and returns whether all have ended."""
    return kill_process(process, entry.is_node) and _end_children(entry, process)


def _end_children(entry: NodeEntry, process: ProcessIdentity) -> bool:
    """Kills what a process left running: a launcher may have started the engine, and the engine native
    programs.
    """
    children = [member for member in session_members(process) if works_below(member.pid, entry.folder)]
    ended = [kill_process(child, lambda pid: works_below(pid, entry.folder)) for child in children]
    return all(ended)


def remove_node_dir(layout: EngineLayout, folder: Path, kept: tuple[str, ...] = ()) -> None:
    """Removes a node's folder with everything in it except `kept`; ignores a path that is not a node's
    folder.
    """
    if not _is_node_dir(layout, folder):
        return
    if not any(is_dir(folder / name) for name in kept):
        remove_tree(folder)
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name in kept:
                continue
            if entry.is_dir(follow_symlinks=False):
                remove_tree(entry.path)
            else:
                Path(entry.path).unlink(missing_ok=True)


def _is_node_dir(layout: EngineLayout, folder: Path) -> bool:
    # The path comes from a file, so it is not trusted.
    return folder.parent == layout.nodes and folder.name not in ("", ".", "..")


def read_entry(layout: EngineLayout, node_id: str) -> NodeEntry | None:
    """Returns a node's entry, or None if there is none or if it is damaged."""
    try:
        document = parse_json(read_small_file(_entry_file(layout, node_id)))
        process, facts = document["process"], document.get("facts")
        return NodeEntry(
            id=node_id,
            folder=_path(document["folder"]),
            owner=_identity(document["owner"]),
            process=_identity(process) if process else None,
            executable=str(document.get("executable", "")),
            detached=document.get("detached") is True,
            keeps_data=document.get("keeps_data") is True,
            facts=parse_facts(facts) if facts else None,
            data_folders=tuple(map(_path, document.get("data_folders", ()))),
            data_mounts=tuple(map(_path, document.get("data_mounts", ()))),
            control_groups=tuple(map(_path, document.get("control_groups", ()))),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _identity(document: Mapping[str, object]) -> ProcessIdentity:
    """Returns the identity of a process. Raises ValueError, also for an id that no process has: the kernel
    takes 0 and negative ones for groups of processes.
    """
    pid, started, boot = document["pid"], document["started"], document["boot"]
    if type(pid) is not int or type(started) is not int or not isinstance(boot, str):
        raise ValueError("it does not identify a process")
    if not 0 < pid <= _MAX_PID:
        raise ValueError(f"{pid} is not the id of a process")
    return ProcessIdentity(pid, started, boot)


def _path(text: object) -> Path:
    """Returns a path. Raises ValueError for what cannot be one."""
    if not isinstance(text, str) or "\0" in text:
        raise ValueError("it is not a path")
    return Path(text)
