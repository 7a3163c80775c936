"""Documents of a cluster as files of a track: whole, small and packed; a run that was cut is gone on with."""

from __future__ import annotations

import bz2
import itertools
import json
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from pacenote.capture.raw_documents import ndjson_line
from pacenote.capture.readers import Expired, Hit, Position, Reading
from pacenote.capture.sources import Source
from pacenote.errors import EngineError, StoreError
from pacenote.model.progress import ProgressCallback

JOURNAL = ".create-track.json"
"""How far a run has come; gone when the track is whole."""

SMALL = 1000
"""Documents of the file for test mode."""

_POINTS = 3
"""How often a source is begun anew because its point in time is gone."""

_BLOCK = 900_000
"""Bytes packed at once: a block of bzip2. Packed side by side, they are still one archive to everybody."""


@dataclass(frozen=True, slots=True)
class Dumped:
    """The data file of one index or data stream, and its archive."""

    file: str
    documents: int
    uncompressed_bytes: int
    compressed_bytes: int


_BEGINNING = Position()


@dataclass(slots=True)
class _State:
    """How far one source has come: what is in its file, and where to go on.

    `identity` is that of the source: what was read of another one of the same name is of no use.
    """

    identity: str = ""
    documents: int = 0
    bytes: int = 0
    position: Position = _BEGINNING
    complete: bool = False


class Journal:
    """The notes of a run in the folder of its track. Raises StoreError when they cannot be written."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / JOURNAL
        self._states: dict[str, _State] = {}
        try:
            for name, note in json.loads(self._file.read_text()).items():
                position = Position(**{**note["position"], "after": tuple(note["position"]["after"])})
                self._states[name] = _State(**{**note, "position": position})
        except (OSError, ValueError, KeyError, TypeError):
            # None, or a damaged one: begun anew.
            self._states = {}

    def state(self, source: Source) -> _State:
        """How far a source has come."""
        known = self._states.get(source.name)
        return known if known and known.identity == source.identity else self.reset(source)

    def reset(self, source: Source) -> _State:
        """Begins a source anew."""
        self._states[source.name] = state = _State(source.identity)
        return state

    def save(self) -> None:
        """Writes the notes down."""
        new = self._file.with_name(f"{JOURNAL}.new")
        with writing(self._file):
            new.write_text(json.dumps({name: asdict(state) for name, state in self._states.items()}))
            new.replace(self._file)

    def remove(self) -> None:
        """The run has ended."""
        self._file.unlink(missing_ok=True)


class writing:  # noqa: N801  # reads as a word in a `with`
    """Turns errors of the disk into StoreErrors that name the file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, OSError):
            raise StoreError(
                f"cannot write {self._path}: {error.strerror or error}",
                hint="free some space, or choose another --output-path; the same command goes on then",
            ) from error


def dump(
    source: Source, reading: Reading, folder: Path, journal: Journal, progress: ProgressCallback
) -> Dumped:
    """Writes the documents of a source, or what is missing of them.

    Raises EngineError when they cannot be read, StoreError when they cannot be written; what is there is
    kept.
    """
    file = folder / f"{source.name}-documents.json"
    state = journal.state(source)
    if not state.complete or _length(file) != state.bytes:
        state = _documents(source, reading, file, journal, progress)
    small = file.with_name(f"{source.name}-documents-1k.json")
    with writing(small), file.open("rb") as lines, small.open("wb") as out:
        out.writelines(itertools.islice(lines, SMALL))
    _pack(small, lambda *_: None)
    packed = _pack(file, progress)
    return Dumped(packed.name, state.documents, file.stat().st_size, packed.stat().st_size)


def _documents(
    source: Source, reading: Reading, file: Path, journal: Journal, progress: ProgressCallback
) -> _State:
    label = f"reading {source.name}"
    state = journal.state(source)
    if not reading.resumable or _length(file) < state.bytes:
        state = journal.reset(source)
    elif state.documents:
        progress(f"{label}: going on after {state.documents:,} documents", 0, 0)
    for _ in range(_POINTS):
        try:
            return _append(source, reading, file, (journal, state), progress)
        except Expired:
            progress(f"{label}: its point in time is no more, it is read from the beginning", 0, 0)
            state = journal.reset(source)
    raise EngineError(
        f"the documents of '{source.name}' cannot be read: its points in time do not last",
        hint="give fewer documents at once with --batch-size",
    )


def _length(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _append(
    source: Source,
    reading: Reading,
    file: Path,
    kept: tuple[Journal, _State],
    progress: ProgressCallback,
) -> _State:
    journal, state = kept
    with writing(file):
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    with os.fdopen(descriptor, "r+b") as out:
        # What came after the last note may be half a page.
        out.truncate(state.bytes)
        out.seek(state.bytes)
        for hits, position in reading.pages(source, state.position):
            with writing(file):
                state.bytes += _write(source, hits, out)
                out.flush()
            state.documents += len(hits)
            state.position = position
            journal.save()
            progress(f"reading {source.name}", state.documents, source.documents)
        with writing(file):
            os.fsync(descriptor)
    state.complete = True
    journal.save()
    return state


def _write(source: Source, hits: Sequence[Hit], out: IO[bytes]) -> int:
    written = 0
    for hit in hits:
        if hit.source is None:
            raise EngineError(
                f"'{source.name}' does not keep its documents (_source is off), so they cannot be taken over",
                hint="leave it out of --indices",
            )
        written += out.write(ndjson_line(hit.source))
    return written


def _pack(file: Path, progress: ProgressCallback) -> Path:
    """Packs a file with bzip2 on all cores; the archive gets its name when it is whole."""
    target = file.with_name(f"{file.name}.bz2")
    total, done = file.stat().st_size, 0
    part = target.with_name(f".{target.name}.new")
    with writing(target), file.open("rb") as source, part.open("wb") as out:
        for packed, length in _packed(iter(lambda: source.read(_BLOCK), b"")):
            out.write(packed)
            done += length
            progress(f"packing {file.name}", done, total)
        out.flush()
        os.fsync(out.fileno())
    with writing(target):
        part.replace(target)
    return target


def _packed(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, int]]:
    """Packed blocks with their former lengths, in order; only a few are held at once."""
    workers = len(os.sched_getaffinity(0))
    waiting: deque[tuple[Future[bytes], int]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for block in blocks:
            waiting.append((pool.submit(bz2.compress, block), len(block)))
            if len(waiting) > 2 * workers:
                future, length = waiting.popleft()
                yield future.result(), length
        while waiting:
            future, length = waiting.popleft()
            yield future.result(), length
