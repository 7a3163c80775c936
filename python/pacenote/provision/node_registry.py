"""The registry of running nodes, used to find and remove nodes whose owners were killed.

The kernel already kills a node whose owner dies; the registry is used to remove its files, and to kill it if
the kernel did not.

A home folder may be a copy of one whose nodes run. A process is therefore killed only if its entry names a
folder of this home, and if it is the process of the entry (same id, start time and boot), runs the program of
the entry and works in the folder. Otherwise its files are left alone.

ID.json is the entry of a node. Its owner keeps a lock on the file ID.lock while it runs. Only the lock shows
whether the owner is dead, because containers and machines that share a home folder do not see each other's
processes and have different boot ids.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error, replace_text
from pacenote.provision.layout import EngineLayout
from pacenote.provision.process import (
    ProcessIdentity,
    can_identify_processes,
    kill_process,
    process_executable,
    process_identity,
    works_in,
)


@dataclass(frozen=True, slots=True)
class NodeEntry:
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

    def file(self, layout: EngineLayout) -> Path:
        """Returns the file of the entry."""
        return layout.registry / f"{self.id}.json"

    @property
    def working_folder(self) -> Path:
        """The working directory of the process: the logs folder, so that files with relative names in JVM
        options are kept.
        """
        return self.folder / "logs"

    def with_process(self, process: ProcessIdentity | None) -> NodeEntry:
        """Returns the entry for a process that was started, with the program that it runs now."""
        return replace(self, process=process, executable=process_executable(process.pid) if process else "")


class NodeLock:
    """The lock on a node's entry. Made by `lock_node`; the kernel releases it when the process ends."""

    def __init__(self, file: Path, descriptor: int) -> None:
        self._file = file
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Removes and releases the lock. May be called again."""
        if self._descriptor is None:
            return
        try:
            self._file.unlink(missing_ok=True)
        finally:
            os.close(self._descriptor)
            self._descriptor = None


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
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = _acquire(file, fcntl.LOCK_EX)
        while lock is None:
            lock = _acquire(file, fcntl.LOCK_EX)
    except OSError as failure:
        raise disk_error(failure, file) from failure
    return lock


def register(layout: EngineLayout, entry: NodeEntry) -> None:
    """Writes or replaces a node's entry atomically. Raises DiskError if it cannot be written."""
    document = {
        "id": entry.id,
        "folder": str(entry.folder),
        "owner": asdict(entry.owner),
        "process": asdict(entry.process) if entry.process else None,
        "executable": entry.executable,
    }
    replace_text(entry.file(layout), json.dumps(document))


def unregister(layout: EngineLayout, entry: NodeEntry, lock: NodeLock | None) -> None:
    """Removes a node's entry, and then its lock."""
    # In this order: a process that gets the lock must not find an entry to clean up.
    entry.file(layout).unlink(missing_ok=True)
    if lock is not None:
        lock.release()


def _lock_file(layout: EngineLayout, node_id: str) -> Path:
    return layout.registry / f"{node_id}.lock"


def _acquire(file: Path, operation: int) -> NodeLock | None:
    """Acquires a lock. Returns None if the file was removed while this process waited, because the lock is
    then invalid.
    """
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, operation)
        if os.path.samestat(os.fstat(descriptor), file.lstat()):
            return NodeLock(file, descriptor)
    except FileNotFoundError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def cleanup_orphans(layout: EngineLayout) -> tuple[str, ...]:
    """Kills every node whose owner is dead, removes its files, and returns the ids of the removed nodes.

    Does not affect nodes whose owners hold their locks, processes that are not certainly those of this home's
    nodes, and their files. Does nothing without /proc, which identifies processes.
    """
    if not can_identify_processes():
        return ()
    ids = {file.stem for pattern in ("*.json", "*.lock") for file in layout.registry.glob(pattern)}
    return tuple(node_id for node_id in sorted(ids) if _cleanup_orphan(layout, node_id))


def _cleanup_orphan(layout: EngineLayout, node_id: str) -> bool:
    try:
        lock = _acquire(_lock_file(layout, node_id), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # The owner is alive, perhaps on another machine, or its state is unknown; data must not be lost.
        return False
    if lock is None:
        return False
    try:
        # The entry is read under the lock, because the owner may have ended normally and kept the folder on
        # request.
        file = layout.registry / f"{node_id}.json"
        entry = _read(file)
        ours = entry is not None and _is_node_dir(layout, entry.folder)
        if entry is not None and ours:
            if entry.process is not None and not _end_process(entry, entry.process):
                return False
            remove_node_dir(layout, entry.folder)
        # An entry that names another home was copied with it. A damaged entry names no process, which the
        # kernel has already killed.
        file.unlink(missing_ok=True)
        for partial in layout.registry.glob(f".{file.name}.*.part"):
            partial.unlink(missing_ok=True)
        return ours
    finally:
        lock.release()


def _end_process(entry: NodeEntry, process: ProcessIdentity) -> bool:
    """Kills the process of an entry, and returns whether it has ended."""

    def is_expected(pid: int) -> bool:
        return process_executable(pid) == entry.executable and works_in(pid, entry.working_folder)

    return kill_process(process, is_expected)


def remove_node_dir(layout: EngineLayout, folder: Path) -> None:
    """Removes a node's folder with everything in it; ignores a path that is not a node's folder."""
    if _is_node_dir(layout, folder):
        shutil.rmtree(folder, ignore_errors=True)


def _is_node_dir(layout: EngineLayout, folder: Path) -> bool:
    # The path comes from a file, so it is not trusted.
    return folder.parent == layout.nodes and folder.name not in ("", ".", "..")


def _read(file: Path) -> NodeEntry | None:
    try:
        document = json.loads(file.read_text("utf-8"))
        process = document["process"]
        return NodeEntry(
            id=file.stem,
            folder=Path(document["folder"]),
            owner=ProcessIdentity(**document["owner"]),
            process=ProcessIdentity(**process) if process else None,
            executable=str(document.get("executable", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
