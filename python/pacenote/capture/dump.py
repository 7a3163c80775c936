"""Writes the documents of a cluster to compressed data files, and resumes after an abort."""

from __future__ import annotations

import bz2
import errno
import itertools
import json
import os
import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from msgspec import Struct, to_builtins

from pacenote.capture.foreign_folder import continued_file, new_file, opened_file, own_size
from pacenote.capture.raw_documents import ndjson_line
from pacenote.capture.readers import DocumentReader, Hit, PointInTimeExpired, ReadCursor
from pacenote.capture.sources import CaptureSource
from pacenote.errors import EngineError, StoreError
from pacenote.model.decoding import parse_json
from pacenote.model.progress import ProgressCallback
from pacenote.units import format_bytes

JOURNAL = ".create-track.json"
"""File with the progress of an unfinished capture."""

NEW_JOURNAL = f"{JOURNAL}.new"
"""The file that replaces it."""

EXCERPT_DOCUMENTS = 1000
"""Number of documents in the file for test mode."""

_MAX_ATTEMPTS = 3
"""Maximum number of times that a source is read from the beginning because its point in time has expired."""

_MORE_DOCUMENTS = 1_000_000
"""Number of documents that may be indexed since they were counted, besides as many as there were."""

_MAX_JOURNAL_BYTES = 64 << 20
"""Bytes of the journal that are read."""

_MAX_COUNT = 1 << 53
"""Largest number in a journal."""

_FREE_BYTES = 64 << 20
"""Bytes that stay free on the disk."""

_BLOCK = 900_000
"""Bytes of a bzip2 block. Blocks that are compressed in parallel form one valid archive."""


class DumpedFile(Struct, frozen=True):
    """The data file of one source, as a track declares it."""

    file: str
    """Name of the archive."""

    documents: int
    """Number of documents."""

    uncompressed_bytes: int
    """Size of the unpacked file in bytes."""

    compressed_bytes: int
    """Size of the archive in bytes."""


_START = ReadCursor()


class _SourceProgress(Struct):
    """The progress of one source: the documents in its file, and the position to continue from."""

    identity: str = ""
    """Identity of the source; documents of another source with the same name are not used."""

    documents: int = 0
    """Documents in the file."""

    bytes: int = 0
    """Length of the file in bytes up to the last complete page."""

    position: ReadCursor = _START
    """The position to continue reading from."""

    complete: bool = False
    """Whether all documents were written."""


def data_names(source: str) -> list[str]:
    """Returns the names of the files with the documents of a source."""
    files = (_documents_name(source), _excerpt_name(source))
    return [name for file in files for name in (file, f"{file}.bz2", _part_name(f"{file}.bz2"))]


def _documents_name(source: str) -> str:
    return f"{source}-documents.json"


def _excerpt_name(source: str) -> str:
    return f"{source}-documents-1k.json"


def _part_name(archive: str) -> str:
    return f".{archive}.new"


class CaptureJournal:
    """The progress of a capture, stored in the folder of its track. Raises StoreError."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / JOURNAL
        self._states: dict[str, _SourceProgress] = {}
        try:
            with opened_file(self._file) as stored:
                notes = parse_json(stored.read(_MAX_JOURNAL_BYTES))
            self._states = {name: _read_progress(note) for name, note in notes.items()}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            # Missing, damaged, or not from a capture: start from the beginning.
            self._states = {}

    def state(self, source: CaptureSource) -> _SourceProgress:
        """Returns the progress of a source, which starts from the beginning if its identity has changed."""
        stored = self._states.get(source.name)
        return stored if stored and stored.identity == source.identity else self.reset(source)

    def reset(self, source: CaptureSource) -> _SourceProgress:
        """Starts a source from the beginning."""
        self._states[source.name] = state = _SourceProgress(source.identity)
        return state

    def save(self) -> None:
        """Stores the progress of all sources."""
        new = self._file.with_name(NEW_JOURNAL)
        with store_errors(self._file):
            with new_file(new) as out:
                out.write(
                    json.dumps({name: to_builtins(state) for name, state in self._states.items()}).encode()
                )
            new.replace(self._file)

    def remove(self) -> None:
        """Deletes the journal of a finished capture."""
        self._file.unlink(missing_ok=True)


def _read_progress(note: Any) -> _SourceProgress:
    """Returns the progress in a journal, which someone else may have written. Raises ValueError, LookupError
    or TypeError if it is not of the form that `save` writes.
    """
    position = note["position"]
    counts = [note["documents"], note["bytes"], position["target"]]
    texts = [note["identity"], position["pit_id"]]
    if (
        any(type(count) is not int or not 0 <= count <= _MAX_COUNT for count in counts)
        or not all(isinstance(text, str) for text in texts)
        or not isinstance(position["after"], list)
        or not all(isinstance(value, str | int | float | None) for value in position["after"])
        or type(note["complete"]) is not bool
    ):
        raise ValueError("the journal has an unexpected form")
    documents, size, target = counts
    identity, pit_id = texts
    return _SourceProgress(
        identity, documents, size, ReadCursor(target, pit_id, tuple(position["after"])), note["complete"]
    )


@contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Converts an OSError inside the block to a StoreError with the file."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}",
            hint="free some space and run the same command again, or choose another --output-path",
        ) from error


def dump(
    source: CaptureSource,
    reader: DocumentReader,
    folder: Path,
    journal: CaptureJournal,
    progress: ProgressCallback,
) -> DumpedFile:
    """Writes the documents of a source, except those that an earlier capture has written.

    Raises EngineError if they cannot be read, and StoreError if they cannot be written. Written documents are
    kept.
    """
    file = folder / _documents_name(source.name)
    state = journal.state(source)
    if not state.complete or own_size(file) != state.bytes:
        state = _documents(source, reader, file, journal, progress)
    small = file.with_name(_excerpt_name(source.name))
    with store_errors(small), opened_file(file) as lines, new_file(small) as out:
        out.writelines(itertools.islice(lines, EXCERPT_DOCUMENTS))
    _compress(small, lambda *_: None)
    archive = _compress(file, progress)
    return DumpedFile(archive.name, state.documents, file.stat().st_size, archive.stat().st_size)


def _documents(
    source: CaptureSource,
    reader: DocumentReader,
    file: Path,
    journal: CaptureJournal,
    progress: ProgressCallback,
) -> _SourceProgress:
    label = f"reading {source.name}"
    state = journal.state(source)
    if not reader.resumable or own_size(file) < state.bytes:
        state = journal.reset(source)
    elif state.documents:
        progress(f"{label}: continuing after {state.documents:,} documents", 0, 0)
    for _ in range(_MAX_ATTEMPTS):
        try:
            return _append(source, reader, file, (journal, state), progress)
        except PointInTimeExpired:
            progress(f"{label}: the point in time has expired; starting from the beginning", 0, 0)
            state = journal.reset(source)
    raise EngineError(
        f"the documents of '{source.name}' cannot be read: its points in time expire too early",
        hint="read fewer documents per request with --batch-size",
    )


def _append(
    source: CaptureSource,
    reader: DocumentReader,
    file: Path,
    kept: tuple[CaptureJournal, _SourceProgress],
    progress: ProgressCallback,
) -> _SourceProgress:
    journal, state = kept
    with store_errors(file):
        if file.is_symlink():
            # It may lead to a disk with more room, and is therefore not replaced.
            raise OSError(errno.ELOOP, "it is a link")
        # The end of the file may be an incomplete page.
        stream = continued_file(file, state.bytes) if state.bytes else new_file(file)
    with stream as out:
        for page in reader.pages(source, state.position):
            _check_limits(source, file.parent, state.documents + len(page.hits))
            with store_errors(file):
                state.bytes += _write(source, page.hits, out)
                out.flush()
            state.documents += len(page.hits)
            state.position = page.next
            journal.save()
            progress(f"reading {source.name}", state.documents, source.documents)
        with store_errors(file):
            out.flush()
            os.fsync(out.fileno())
    state.complete = True
    journal.save()
    return state


def _check_limits(source: CaptureSource, folder: Path, documents: int) -> None:
    """Raises EngineError if the cluster sends documents without end, and StoreError if the disk is full."""
    if documents > 2 * source.documents + _MORE_DOCUMENTS:
        raise EngineError(
            f"received {documents:,} documents of '{source.name}', which has {source.documents:,}",
            hint="run the command again while no documents are indexed",
        )
    with store_errors(folder):
        if shutil.disk_usage(folder).free < _FREE_BYTES:
            raise OSError(errno.ENOSPC, f"less than {format_bytes(_FREE_BYTES)} are free")


def _write(source: CaptureSource, hits: Sequence[Hit], out: IO[bytes]) -> int:
    written = 0
    for hit in hits:
        if hit.source is None:
            raise EngineError(
                f"'{source.name}' does not store its documents (_source is disabled): they cannot be read",
                hint="exclude it from --indices",
            )
        written += out.write(ndjson_line(hit.source)) + out.write(b"\n")
    return written


def _compress(file: Path, progress: ProgressCallback) -> Path:
    """Compresses a file with bzip2 on all cores; a partial archive never has its final name."""
    target = file.with_name(f"{file.name}.bz2")
    total, done = file.stat().st_size, 0
    part = target.with_name(_part_name(target.name))
    with store_errors(target), opened_file(file) as source, new_file(part) as out:
        for block in _compressed_blocks(iter(lambda: source.read(_BLOCK), b"")):
            out.write(block.data)
            done += block.uncompressed_bytes
            progress(f"compressing {file.name}", done, total)
        out.flush()
        os.fsync(out.fileno())
    with store_errors(target):
        part.replace(target)
    return target


class _CompressedBlock(Struct, frozen=True):
    data: bytes
    uncompressed_bytes: int


def _compressed_blocks(blocks: Iterator[bytes]) -> Iterator[_CompressedBlock]:
    """Compresses blocks in parallel and returns them in order; a few are in memory at a time."""
    workers = len(os.sched_getaffinity(0))
    waiting: deque[tuple[Future[bytes], int]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for block in blocks:
            waiting.append((pool.submit(bz2.compress, block), len(block)))
            if len(waiting) > 2 * workers:
                future, length = waiting.popleft()
                yield _CompressedBlock(future.result(), length)
        while waiting:
            future, length = waiting.popleft()
            yield _CompressedBlock(future.result(), length)
