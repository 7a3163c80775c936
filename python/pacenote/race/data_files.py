"""One data file of a corpus: found, held against what the track declares, unpacked and counted."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import itertools
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from pacenote import _core
from pacenote.errors import CorpusError
from pacenote.fetch.space import check_space
from pacenote.model.progress import ProgressCallback
from pacenote.model.track import ARCHIVE_SUFFIXES, Corpus, Documents
from pacenote.race.generated_corpora import alone_in, core_call, not_written

AS_IS_HINT = "--corpus=as-is uses the file as it is; otherwise replace it"

_STREAMS = (".gz", ".bz2")
"""Archives whose beginning can be read without unpacking the rest."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """An unpacked data file, ready to be read; `documents` were counted, not believed."""

    path: Path
    documents: int


@dataclass(frozen=True, slots=True)
class Shelf:
    """Where the data of a corpus lies: `own` is our folder, `others` are looked into before it."""

    own: Path
    others: tuple[Path, ...] = ()

    def find(self, documents: Documents) -> Path | None:
        """The unpacked file or an archive of it, wherever it may be."""
        name = documents.document_file
        names = dict.fromkeys([name, documents.source_file, *(name + ending for ending in ARCHIVE_SUFFIXES)])
        folders = [Path()] if documents.is_local else [*self.others, self.own]
        candidates = (folder / name for folder in folders for name in names)
        return next((path.absolute() for path in candidates if path.is_file()), None)


def open_data(
    path: Path, documents: Documents, shelf: Shelf, progress: ProgressCallback, *, checked: bool
) -> DataFile:
    """The data file at `path`, unpacked if it is an archive, and counted.

    `checked` holds sizes and count against what the track declares; nothing is deleted when they differ.
    Raises CorpusError: another size or count, a broken archive, too little disk.
    """
    if path.name.endswith(ARCHIVE_SUFFIXES):
        if checked and path.name == Path(documents.source_file).name:
            _check_size(path, documents.compressed_bytes)
        path = _unpack(path, documents, shelf, progress, documents.uncompressed_bytes if checked else None)
    if checked:
        _check_size(path, documents.uncompressed_bytes)
    lines = core_call(lambda: _core.count_lines(str(path)))
    count = lines // _lines_each(documents)
    declared = documents.document_count
    if checked and declared is not None and declared != count:
        raise CorpusError(
            f"{path} holds {count:,} documents, the track declares {declared:,}", hint=AS_IS_HINT
        )
    return DataFile(path, count)


def first_documents(path: Path, documents: Documents, shelf: Shelf, progress: ProgressCallback) -> Path:
    """A file with the first documents of the one at `path`, which may be packed: as many as test mode wants.

    Made once, below our own folder. Raises CorpusError.
    """
    count = documents.document_count or 1
    # The mark tells it from namesakes; the rest of its path may lead out of our folder.
    target = shelf.own / f"first-{count}-{_mark(path)}" / Path(documents.document_file).name
    if target.is_file():
        return target
    ending = next((ending for ending in ARCHIVE_SUFFIXES if path.name.endswith(ending)), "")
    if ending and ending not in _STREAMS:
        path, ending = _unpack(path, documents, shelf, progress), ""
    with alone_in(target.parent):
        try:
            with _unpacking(path, ending) as source:
                lines = list(itertools.islice(source, count * _lines_each(documents)))
        except (OSError, EOFError, zlib.error) as error:
            raise CorpusError(f"{path} cannot be read: {error}", hint="get the file again") from error
        with whole_file(target) as out:
            out.writelines(lines)
    return target


def _unpacking(path: Path, ending: str) -> IO[bytes]:
    if ending == ".gz":
        return cast(IO[bytes], gzip.GzipFile(path))
    return cast(IO[bytes], bz2.BZ2File(path)) if ending == ".bz2" else path.open("rb")


@contextmanager
def whole_file(target: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when it is whole and on the disk. Raises CorpusError when it cannot."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, part = tempfile.mkstemp(".partial", f"{target.name}.", target.parent)
    except OSError as error:
        raise not_written(target, error) from error
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fsync(descriptor)
        Path(part).chmod(0o644)
        Path(part).replace(target)
    except OSError as error:
        raise not_written(target, error) from error
    finally:
        Path(part).unlink(missing_ok=True)


def inside(folder: Path, name: str, corpus: Corpus) -> Path:
    """The path of a name below a folder. Raises CorpusError for a name that leads out of it."""
    path = Path(os.path.normpath(folder / name))
    if path == folder or not path.is_relative_to(folder):
        raise CorpusError(f"corpus '{corpus.name}': {name} would be written outside {folder}")
    return path


def _check_size(path: Path, declared: int | None) -> None:
    size = path.stat().st_size
    if declared is not None and size != declared:
        raise CorpusError(
            f"{path} has {size:,} bytes, the track declares {declared:,}",
            hint="--corpus=as-is uses the file as it is; otherwise move it away, and it is had anew",
        )


def _lines_each(documents: Documents) -> int:
    return 2 if documents.includes_action_and_meta_data else 1


def _mark(path: Path) -> str:
    """Tells a file from its namesakes and from its own earlier contents."""
    status = path.stat()
    mark = f"{path}\n{status.st_size}\n{status.st_mtime_ns}"
    return hashlib.sha256(mark.encode()).hexdigest()[:16]


def _unpack(
    archive: Path, documents: Documents, shelf: Shelf, progress: ProgressCallback, most: int | None = None
) -> Path:
    """Unpacks an archive unless it was before; what comes out may have `most` bytes."""
    # A file of the user's own is unpacked into our folder, under a name of its own: it may have namesakes.
    is_ours = Path(os.path.normpath(archive)).is_relative_to(shelf.own.absolute())
    folder = archive.parent if is_ours else shelf.own / f"local-{_mark(archive)}"
    ending = next(ending for ending in ARCHIVE_SUFFIXES if archive.name.endswith(ending))
    target = folder / archive.name.removesuffix(ending)
    if target.is_file():
        return target
    check_space(folder, documents.uncompressed_bytes or 0, target.name)
    label = f"unpacking {archive.name}"
    with alone_in(folder):
        # Another race may have unpacked it while this one waited.
        if target.is_file():
            return target
        path, _ = core_call(
            lambda: _core.unpack(
                str(archive), str(folder), most, lambda done, total: progress(label, done, total)
            )
        )
    return Path(path)
