"""Generated corpora and the note beside them that says what they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from pacenote import _core
from pacenote.errors import CorpusError

MANIFEST = "generated.json"
"""Says which generator made a folder of data, and what is in it. Written last: a folder without it is not
complete.
"""

T = TypeVar("T")


def generated_corpus(
    name: str, documents: int, seed: int, folder: Path, progress: Callable[[str, int, int], None]
) -> Mapping[str, int]:
    """Documents by file name of a generated corpus; made now unless it is there. Raises CorpusError.

    The same name, number and seed give the same bytes, so a complete folder is as good as a new one.
    """
    wanted = {"generator": name, "documents": documents, "seed": seed}
    known = _read(folder, wanted)
    if known is not None:
        return known
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CorpusError(f"cannot create {folder}: {error.strerror}") from error
    label = f"generating {documents:,} documents of {name}"
    version, files = core_call(
        lambda: _core.generate(
            name, (documents, seed), str(folder), lambda done, total: progress(label, done, total)
        )
    )
    progress(label, documents, documents)
    listed = [{"name": file, "documents": count, "bytes": size} for file, count, size in files]
    note = {**wanted, "version": version, "files": listed}
    (folder / MANIFEST).write_text(json.dumps(note, indent=1) + "\n")
    return {file: count for file, count, _ in files}


def _read(folder: Path, wanted: Mapping[str, object]) -> Mapping[str, int] | None:
    """What a complete folder holds; None if it is not complete, or holds something else."""
    try:
        note = json.loads((folder / MANIFEST).read_text())
        sizes = all((folder / file["name"]).stat().st_size == file["bytes"] for file in note["files"])
        same = sizes and all(note[key] == value for key, value in wanted.items())
        current = note["version"] == _core.generator_version(str(wanted["generator"]))
        return {file["name"]: file["documents"] for file in note["files"]} if same and current else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def core_call(call: Callable[[], T]) -> T:
    """Calls into the core; its errors become ours."""
    try:
        return call()
    except _core.CoreError as error:
        raise CorpusError(str(error)) from None
