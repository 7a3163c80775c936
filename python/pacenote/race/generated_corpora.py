"""Generated corpora, each in a folder with a manifest that identifies its content."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Mapping
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


@dataclass(frozen=True, slots=True)
class GeneratedFiles:
    """The files of a generated corpus."""

    documents: Mapping[str, int]
    """Number of documents by file name."""

    verify: Callable[[], None] = lambda: None
    """Waits until the checksums of existing files are compared. Raises CorpusError if a file was changed."""


def ensure_generated(corpus: GeneratedCorpus, folder: Path, progress: ProgressCallback) -> GeneratedFiles:
    """Generates a corpus unless the folder already contains it.

    Existing files are generated again if their size is wrong, or if their time and their checksum are. If
    size and time are right, the checksum is compared in the background, unless that was done since the last
    change of the file. Raises CorpusError.
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
    corpus = GeneratedCorpus(name, counts, seed)
    try:
        ensure_generated(corpus, folder, progress).verify()
    except _ChangedFile:
        with exclusive_folder(folder, tuple(counts)):
            _generate(corpus, folder, progress)


def _generate(corpus: GeneratedCorpus, folder: Path, progress: ProgressCallback) -> GeneratedFiles:
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
            {
                "name": file.name,
                "documents": file.documents,
                "bytes": file.bytes,
                "modified_ns": (folder / file.name).stat().st_mtime_ns,
                "compared": _change_mark(folder / file.name),
                "crc32c": _checksum(folder / file.name),
            }
            for file in generated.files
        ],
    }
    _write_manifest(folder / MANIFEST, manifest)
    return GeneratedFiles({file.name: file.documents for file in generated.files})


def _read_manifest(folder: Path, corpus: GeneratedCorpus) -> GeneratedFiles | None:
    """Returns the files of a folder, or None if it is incomplete, was changed or contains another corpus."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        files = manifest["files"]
        same = all(manifest[key] == value for key, value in _identity(corpus).items())
        current = manifest["version"] == _core.generator_version(corpus.generator)
        if not (same and current and all(_is_intact(folder, file) for file in files)):
            return None
        documents = {file["name"]: file["documents"] for file in files}
        if all(file.get("compared") == _change_mark(folder / file["name"]) for file in files):
            return GeneratedFiles(documents)
        comparison = _Comparison(folder, manifest)
        comparison.start()
        return GeneratedFiles(documents, comparison.wait)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_intact(folder: Path, file: Mapping[str, Any]) -> bool:
    """Returns whether a file has the size of the manifest, and its time or its checksum."""
    path, checksum = folder / file["name"], file["crc32c"]
    status = path.stat()
    if status.st_size != file["bytes"]:
        return False
    # A copied folder has other times.
    return bool(status.st_mtime_ns == file["modified_ns"] or _checksum(path) == checksum)


def _change_mark(path: Path) -> str:
    """Returns a string that differs after every change of a file, even if its time is restored: only the
    kernel sets the time at which an inode was last changed.
    """
    status = path.stat()
    return f"{status.st_dev}:{status.st_ino}:{status.st_ctime_ns}"


def _checksum(path: Path) -> int:
    return call_core(lambda: _core.crc32c(str(path)))


class _ChangedFile(CorpusError):
    """A generated file has other bytes than those that were generated."""


class _Comparison(threading.Thread):
    """Compares the checksums of files in the background. A daemon, so that a race can end before it."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        super().__init__(name="pacenote-checksums", daemon=True)
        self._folder = folder
        self._manifest = manifest
        self._error: CorpusError | None = None

    def run(self) -> None:
        """Reads the files; called by the thread. If they are as generated, the manifest says so."""
        try:
            for file in self._manifest["files"]:
                path = self._folder / file["name"]
                # Read before the content, so that a change in the meantime is noticed the next time.
                file["compared"] = _change_mark(path)
                if _checksum(path) != file["crc32c"]:
                    self._error = _ChangedFile(
                        f"{path} was changed since it was generated",
                        hint=f"remove {self._folder / MANIFEST}; the corpus is then generated again",
                    )
                    return
        except OSError as error:
            self._error = CorpusError(f"{self._folder} cannot be read: {error.strerror}")
        except CorpusError as error:
            self._error = error
        else:
            # In a folder that cannot be written, files are compared in every race.
            with contextlib.suppress(CorpusError):
                _write_manifest(self._folder / MANIFEST, self._manifest)

    def wait(self) -> None:
        """Waits for the result. Raises CorpusError."""
        self.join()
        if self._error is not None:
            raise self._error


def _identity(corpus: GeneratedCorpus) -> Mapping[str, Any]:
    """Returns the keys of the manifest that identify a corpus."""
    counts = [[file, count] for file, count in corpus.counts.items()]
    return {"generator": corpus.generator, "counts": counts, "seed": corpus.seed}


def _write_manifest(target: Path, manifest: Mapping[str, Any]) -> None:
    """Writes the manifest atomically, because its presence means that the folder is complete."""
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        partial.write_text(json.dumps(manifest, indent=1) + "\n")
        partial.replace(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise write_error(target, error) from error
