"""The note of every running node, so that one left behind by a dead owner is found and removed.

The kernel already kills a node whose owner dies; this cleans up its files, and covers what the kernel missed.

ID.json is the note, ID.lock beside it is locked by the owner for as long as it lives. Only the lock tells who
is dead: a home folder may be shared by containers and machines, which see neither each other's processes nor
the same boot.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.fetch.disk import disk_error
from pacenote.provision.layout import Place
from pacenote.provision.process import Identity, identify, kill_other


@dataclass(frozen=True, slots=True)
class Entry:
    """One node: its id, its folder, who runs it, and its process (None while it is being started)."""

    id: str
    folder: Path
    owner: Identity
    process: Identity | None

    def file(self, place: Place) -> Path:
        """Where the note is kept."""
        return place.registry / f"{self.id}.json"


def ourselves() -> Identity:
    """This process as an owner. Raises EngineError on a system without /proc."""
    me = identify(os.getpid())
    if me is None:
        raise EngineError("/proc is not available, so nodes cannot be watched", hint="start engines on Linux")
    return me


def note(place: Place, entry: Entry) -> None:
    """Write or replace a node's note, whole or not at all. Raises EngineError when it cannot be written."""
    target = entry.file(place)
    part = target.with_name(f".{target.name}.part")
    document = {
        "id": entry.id,
        "folder": str(entry.folder),
        "owner": asdict(entry.owner),
        "process": asdict(entry.process) if entry.process else None,
    }
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(document), "utf-8")
        part.replace(target)
    except OSError as failure:
        raise disk_error(failure, target) from failure


class Hold:
    """The lock on a node's note. Made by `hold`; the kernel lets go of it when its process ends, however."""

    def __init__(self, file: Path, descriptor: int) -> None:
        self._file = file
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Remove the lock and let go. May be called again."""
        if self._descriptor is None:
            return
        try:
            self._file.unlink(missing_ok=True)
        finally:
            os.close(self._descriptor)
            self._descriptor = None


def hold(place: Place, entry: Entry) -> Hold:
    """Lock a node's note, before it is written. Raises EngineError where files cannot be locked."""
    file = _lock_file(place, entry.id)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        held = _lock(file, fcntl.LOCK_EX)
        while held is None:
            held = _lock(file, fcntl.LOCK_EX)
    except OSError as failure:
        raise disk_error(failure, file) from failure
    return held


def forget(place: Place, entry: Entry, held: Hold | None) -> None:
    """Remove a node's note, and then its lock."""
    # In this order: whoever gets the lock must see that there is nothing left to clean up.
    entry.file(place).unlink(missing_ok=True)
    if held is not None:
        held.release()


def _lock_file(place: Place, node_id: str) -> Path:
    return place.registry / f"{node_id}.lock"


def _lock(file: Path, how: int) -> Hold | None:
    """Take a lock; None when a sweep removed the file while we waited, so that the lock means nothing."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, how)
        if os.path.samestat(os.fstat(descriptor), file.lstat()):
            return Hold(file, descriptor)
    except FileNotFoundError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def sweep(place: Place) -> tuple[str, ...]:
    """End every node whose owner is dead and remove its files; returns the ids of those that are gone.

    A node whose owner holds its lock, and a process that only has a dead node's number, are left alone.
    """
    ids = {file.stem for pattern in ("*.json", "*.lock") for file in place.registry.glob(pattern)}
    return tuple(node_id for node_id in sorted(ids) if _sweep_one(place, node_id))


def _sweep_one(place: Place, node_id: str) -> bool:
    try:
        held = _lock(_lock_file(place, node_id), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # Its owner lives, here or elsewhere; or it cannot be known, which must not cost anyone's data.
        return False
    if held is None:
        return False
    try:
        # Read under the lock: until then the owner may have finished, and kept the folder on purpose.
        file = place.registry / f"{node_id}.json"
        entry = _read(file)
        if entry is not None:
            if entry.process is not None and not kill_other(entry.process):
                return False
            remove_node_dir(place, entry.folder)
        # From a damaged note nothing can be learnt any more; the kernel has seen to the process.
        file.unlink(missing_ok=True)
        file.with_name(f".{file.name}.part").unlink(missing_ok=True)
        return entry is not None
    finally:
        held.release()


def remove_node_dir(place: Place, folder: Path) -> None:
    """Remove a node's folder with everything in it; nothing that is not a node's folder of this place."""
    # The path comes from a file. Whatever is in it, only our own nodes' folders may go.
    if folder.parent == place.nodes and folder.name not in ("", ".", ".."):
        shutil.rmtree(folder, ignore_errors=True)


def _read(file: Path) -> Entry | None:
    try:
        document = json.loads(file.read_text("utf-8"))
        process = document["process"]
        return Entry(
            id=file.stem,
            folder=Path(document["folder"]),
            owner=Identity(**document["owner"]),
            process=Identity(**process) if process else None,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
