"""Generated corpora, each in a folder with a manifest that identifies its content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacenote import _core
from pacenote.errors import CorpusError
from pacenote.model.progress import ProgressCallback
from pacenote.race.data_folder import call_core, exclusive_folder, write_error

MANIFEST = "generated.json"
"""File name of the manifest, which contains the generator, the seed and the files of a folder.

The manifest is written last: a folder without it is incomplete.
"""


@dataclass(frozen=True, slots=True)
class GeneratedCorpus:
    """The parameters of a generated corpus. Equal parameters produce identical files."""

    generator: str
    """Name of the generator in the Rust core."""

    counts: Mapping[str, int]
    """Number of documents by file name, in the order in which they are generated."""

    seed: int
    """Seed of the random numbers."""

    @property
    def folder_name(self) -> str:
        """The name of the folder for these files; it differs for different document counts or seeds."""
        digest = hashlib.sha256(json.dumps(dict(self.counts), sort_keys=True).encode()).hexdigest()
        return f"generated-{sum(self.counts.values())}-seed-{self.seed}-{digest[:8]}"


def ensure_generated(corpus: GeneratedCorpus, folder: Path, progress: ProgressCallback) -> Mapping[str, int]:
    """Generates a corpus unless the folder already contains it, and returns the number of documents by file
    name.

    Raises CorpusError.
    """
    present = _read_manifest(folder, corpus)
    if present is not None:
        return present
    with exclusive_folder(folder, tuple(corpus.counts)):
        # Another race may have generated it while this race waited for the lock.
        return _read_manifest(folder, corpus) or _generate(corpus, folder, progress)


def generate(name: str, documents: int, seed: int, folder: Path, progress: ProgressCallback) -> None:
    """Writes `documents` generated documents to a folder (`pacenote generate`). Raises CorpusError."""
    available = _core.generators()
    if name not in available:
        raise CorpusError(f"there is no generator for '{name}'", hint=f"generators: {', '.join(available)}")
    counts = _core.generator_files(name, documents)
    ensure_generated(GeneratedCorpus(name, counts, seed), folder, progress)


def _generate(corpus: GeneratedCorpus, folder: Path, progress: ProgressCallback) -> Mapping[str, int]:
    documents = sum(corpus.counts.values())
    label = f"generating {documents:,} documents of {corpus.generator}"
    generated = call_core(
        lambda: _core.generate(
            corpus.generator,
            dict(corpus.counts),
            corpus.seed,
            str(folder),
            lambda done, total: progress(label, done, total),
        )
    )
    progress(label, documents, documents)
    manifest = {
        **_identity(corpus),
        "version": generated.version,
        "files": [
            {"name": file.name, "documents": file.documents, "bytes": file.bytes} for file in generated.files
        ],
    }
    _write_manifest(folder / MANIFEST, json.dumps(manifest, indent=1) + "\n")
    return {file.name: file.documents for file in generated.files}


def _read_manifest(folder: Path, corpus: GeneratedCorpus) -> Mapping[str, int] | None:
    """Returns the number of documents by file name, or None if the folder is incomplete or contains another
    corpus.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        complete = all((folder / file["name"]).stat().st_size == file["bytes"] for file in manifest["files"])
        same = complete and all(manifest[key] == value for key, value in _identity(corpus).items())
        current = manifest["version"] == _core.generator_version(corpus.generator)
        return {file["name"]: file["documents"] for file in manifest["files"]} if same and current else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _identity(corpus: GeneratedCorpus) -> Mapping[str, Any]:
    """Returns the keys of the manifest that identify a corpus."""
    counts = [[file, count] for file, count in corpus.counts.items()]
    return {"generator": corpus.generator, "counts": counts, "seed": corpus.seed}


def _write_manifest(target: Path, text: str) -> None:
    """Writes the manifest atomically, because its presence means that the folder is complete."""
    partial = target.with_name(f".{target.name}.part")
    try:
        partial.write_text(text)
        partial.replace(target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise write_error(target, error) from error
