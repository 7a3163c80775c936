"""Documents on disk, and a track that posts them which both Pacenote and Rally can run."""

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
    """A file of documents of http_logs."""

    path: Path
    documents: int
    bytes: int

    @property
    def note(self) -> str:
        """What it holds."""
        return f"{self.documents:,} documents of http_logs, {self.bytes / self.documents:.0f} B each"

    def track(self, name: str, clients: int, seconds: int = 0) -> Path:
        """A track that posts it again and again for so long; of 0 seconds, once."""
        operation = {"operation-type": "bulk", "bulk-size": BULK_SIZE, "looped": seconds > 0}
        until = {"warmup-time-period": 0, "time-period": seconds} if seconds else {}
        data = {
            "source-file": self.path.name,
            "document-count": self.documents,
            "uncompressed-bytes": self.bytes,
        }
        how = {"clients": clients, **until}
        track = peers.write_track(self.path.parent, name, operation, how, data)
        _link(self.path, track / self.path.name)
        return track


def generate(folder: Path, documents: int) -> Corpus:
    """Generates so many documents."""
    made = folder / "generated"
    made.mkdir()
    command = [PACENOTE, "generate", "http_logs", f"--docs={documents}", f"--output-path={made}", "--quiet"]
    run(command)
    path = folder / "documents.json"
    with path.open("wb") as out:
        for file in json.loads((made / "generated.json").read_text())["files"]:
            out.write((made / file["name"]).read_bytes())
    return Corpus(path, documents, path.stat().st_size)


def _link(source: Path, target: Path) -> None:
    """Gives a file a second place."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
