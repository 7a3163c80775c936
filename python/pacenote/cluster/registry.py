"""The note of every running node, so that one left behind by a dead owner is found and removed.

The kernel already kills a node whose owner dies; this cleans up its files, and covers what the kernel missed.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from pacenote.cluster.maven import disk_error
from pacenote.cluster.place import Place
from pacenote.cluster.process import Identity, identify, is_running, kill_other
from pacenote.errors import EngineError


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


def forget(place: Place, entry: Entry) -> None:
    """Remove a node's note."""
    entry.file(place).unlink(missing_ok=True)


def sweep(place: Place) -> tuple[str, ...]:
    """End every node whose owner is dead and remove its files; returns the ids of those that are gone.

    A node of a living owner, and a process that only has a dead node's number, are left alone.
    """
    swept: list[str] = []
    for file in sorted(place.registry.glob("*.json")):
        entry = _read(file)
        if entry is None:
            # Nothing can be learnt from it any more; the kernel has seen to the process.
            file.unlink(missing_ok=True)
        elif not is_running(entry.owner) and (entry.process is None or kill_other(entry.process)):
            remove_node_dir(place, entry.folder)
            file.unlink(missing_ok=True)
            swept.append(entry.id)
    return tuple(swept)


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
