"""Generated corpora and the note beside them that says what they are."""

from __future__ import annotations

import fcntl
import glob
import hashlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pacenote import _core
from pacenote.errors import CorpusError
from pacenote.model.progress import ProgressCallback

MANIFEST = "generated.json"
"""Says which generator made a folder of data, and what is in it. Written last: a folder without it is not
complete.
"""

LOCK = ".lock"
"""Held while a folder of data is filled."""

T = TypeVar("T")


def generated_corpus(
    name: str, files: Mapping[str, int], seed: int, folder: Path, progress: ProgressCallback
) -> Mapping[str, int]:
    """Documents by file name of a generated corpus; made now unless it is there. Raises CorpusError.

    `files` says how many documents each file gets. The same name, files and seed give the same bytes, so a
    complete folder is as good as a new one.
    """
    counts = [[file, count] for file, count in files.items()]
    wanted: dict[str, Any] = {"generator": name, "counts": counts, "seed": seed}
    known = _read(folder, wanted)
    if known is not None:
        return known
    with alone_in(folder, tuple(files)):
        # Another race may have made it while this one waited.
        return _read(folder, wanted) or _make(wanted, folder, progress)


def generate(name: str, documents: int, seed: int, folder: Path, progress: ProgressCallback) -> None:
    """Writes a generated corpus into a folder (`pacenote generate`). Raises CorpusError."""
    known = _core.generators()
    if name not in known:
        raise CorpusError(f"there is no generator for '{name}'", hint=f"there is one for {', '.join(known)}")
    generated_corpus(name, dict(_core.generator_files(name, documents)), seed, folder, progress)


def folder_name(files: Mapping[str, int], seed: int) -> str:
    """The name of the folder for generated files: another set of files is another folder."""
    mark = hashlib.sha256(json.dumps(dict(files), sort_keys=True).encode()).hexdigest()[:8]
    return f"generated-{sum(files.values())}-seed-{seed}-{mark}"


def _make(wanted: Mapping[str, Any], folder: Path, progress: ProgressCallback) -> Mapping[str, int]:
    name, seed = wanted["generator"], wanted["seed"]
    documents = sum(count for _, count in wanted["counts"])
    label = f"generating {documents:,} documents of {name}"
    version, files = core_call(
        lambda: _core.generate(
            name,
            [(file, count) for file, count in wanted["counts"]],
            seed,
            str(folder),
            lambda done, total: progress(label, done, total),
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
def alone_in(folder: Path, names: Sequence[str] | None = None) -> Generator[None, None, None]:
    """Makes a folder of data and keeps other races out while it is filled; what a killed race left half-made
    is removed: of the files `names` (None: of all, in a folder that is ours). Raises CorpusError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("w")
    except OSError as error:
        raise not_written(folder, error) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in ("*",) if names is None else map(glob.escape, names):
            for left in folder.glob(f"{name}.*.partial"):
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
        raise not_written(target, error) from error


def not_written(path: Path, error: OSError) -> CorpusError:
    """What to say when a file of data cannot be written."""
    hint = "free some space, or set PACENOTE_HOME to a folder that can be written"
    return CorpusError(f"cannot write {path}: {error.strerror}", hint=hint)


def core_call(call: Callable[[], T]) -> T:
    """Calls into the core; its errors become ours."""
    try:
        return call()
    except _core.CoreError as error:
        raise CorpusError(str(error)) from None
