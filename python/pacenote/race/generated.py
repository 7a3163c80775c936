"""Generated corpora and the note beside them that says what they are."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pacenote import _core
from pacenote.errors import CorpusError

MANIFEST = "generated.json"
"""Says which generator made a folder of data, and what is in it. Written last: a folder without it is not
complete.
"""

LOCK = ".lock"
"""Held while a folder of data is filled."""

T = TypeVar("T")


def generated_corpus(
    name: str, documents: int, seed: int, folder: Path, progress: Callable[[str, int, int], None]
) -> Mapping[str, int]:
    """Documents by file name of a generated corpus; made now unless it is there. Raises CorpusError.

    The same name, number and seed give the same bytes, so a complete folder is as good as a new one.
    """
    wanted: dict[str, Any] = {"generator": name, "documents": documents, "seed": seed}
    known = _read(folder, wanted)
    if known is not None:
        return known
    with alone_in(folder):
        # Another race may have made it while this one waited.
        return _read(folder, wanted) or _make(wanted, folder, progress)


def _make(
    wanted: Mapping[str, Any], folder: Path, progress: Callable[[str, int, int], None]
) -> Mapping[str, int]:
    name, documents, seed = wanted["generator"], wanted["documents"], wanted["seed"]
    label = f"generating {documents:,} documents of {name}"
    version, files = core_call(
        lambda: _core.generate(
            name, (documents, seed), str(folder), lambda done, total: progress(label, done, total)
        )
    )
    progress(label, documents, documents)
    listed = [{"name": file, "documents": count, "bytes": size} for file, count, size in files]
    note = {**wanted, "version": version, "files": listed}
    _write_manifest(folder / MANIFEST, json.dumps(note, indent=1) + "\n")
    return {file: count for file, count, _ in files}


def _read(folder: Path, wanted: Mapping[str, Any]) -> Mapping[str, int] | None:
    """What a complete folder holds; None if it is not complete, or holds something else."""
    try:
        note = json.loads((folder / MANIFEST).read_text())
        sizes = all((folder / file["name"]).stat().st_size == file["bytes"] for file in note["files"])
        same = sizes and all(note[key] == value for key, value in wanted.items())
        current = note["version"] == _core.generator_version(str(wanted["generator"]))
        return {file["name"]: file["documents"] for file in note["files"]} if same and current else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


@contextmanager
def alone_in(folder: Path) -> Generator[None, None, None]:
    """Makes a folder of data and keeps other races out while it is filled; what a killed race left half-made
    is removed. Raises CorpusError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("w")
    except OSError as error:
        raise _not_written(folder, error) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in folder.glob("*.partial"):
            left.unlink(missing_ok=True)
        yield


def _write_manifest(target: Path, text: str) -> None:
    """Whole or not at all, since it stands for completeness."""
    part = target.with_name(f".{target.name}.part")
    try:
        part.write_text(text)
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _not_written(target, error) from error


def _not_written(path: Path, error: OSError) -> CorpusError:
    hint = "free some space, or set PACENOTE_HOME to a folder that can be written"
    return CorpusError(f"cannot write {path}: {error.strerror}", hint=hint)


def core_call(call: Callable[[], T]) -> T:
    """Calls into the core; its errors become ours."""
    try:
        return call()
    except _core.CoreError as error:
        raise CorpusError(str(error)) from None
