"""Generates documents, and a track that indexes them, which both Pacenote and Rally can run."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import peers
from machine import PACENOTE, run

BULK_SIZE = 5000


@dataclass(frozen=True, slots=True)
class Corpus:
    """A file with documents of http_logs."""

    path: Path
    """Path of the file."""

    documents: int
    """Number of documents in it."""

    bytes: int
    """Size of the file in bytes."""

    @property
    def note(self) -> str:
        """Number and mean size of the documents, in one line."""
        return f"{self.documents:,} documents of http_logs, {self.bytes / self.documents:.0f} B each"

    def track(self, name: str, clients: int, seconds: int = 0) -> Path:
        """Writes a track that indexes the file repeatedly for `seconds`, or once if that is 0."""
        operation = {"operation-type": "bulk", "bulk-size": BULK_SIZE, "looped": seconds > 0}
        duration = {"warmup-time-period": 0, "time-period": seconds} if seconds else {}
        data = {
            "source-file": self.path.name,
            "document-count": self.documents,
            "uncompressed-bytes": self.bytes,
        }
        parameters = {"clients": clients, **duration}
        track = peers.write_track(self.path.parent, name, operation, parameters, data)
        _link(self.path, track / self.path.name)
        return track


def generate(folder: Path, documents: int) -> Corpus:
    """Generates `documents` documents of http_logs as one file in `folder`."""
    output = folder / "generated"
    output.mkdir()
    run([PACENOTE, "generate", "http_logs", f"--docs={documents}", f"--output-path={output}", "--quiet"])
    path = folder / "documents.json"
    with path.open("wb") as out:
        for file in json.loads((output / "generated.json").read_text())["files"]:
            out.write((output / file["name"]).read_bytes())
    return Corpus(path, documents, path.stat().st_size)


def _link(source: Path, target: Path) -> None:
    """Links a file, or copies it if links are not possible."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
