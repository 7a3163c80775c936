"""Finds, unpacks and counts one data file of a corpus, and compares it with its declaration in the track."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from msgspec import Struct

from pacenote import _core
from pacenote.errors import CorpusError
from pacenote.fetch.disk import check_free_space
from pacenote.model.decoding import parse_json
from pacenote.model.progress import ProgressCallback
from pacenote.model.track import ARCHIVE_SUFFIXES, Documents
from pacenote.operations.base import DataFile
from pacenote.race.data_folder import WriteError, atomic_file, call_core, check_data_file, exclusive_folder
from pacenote.system.paths import real_path
from pacenote.units import format_bytes

AS_IS_HINT = "use the file unchanged with --corpus=as-is, or replace it"

_STREAMABLE = (".gz", ".bz2")
"""Archives whose first documents can be read without unpacking the rest."""


_MAX_FIRST_LINE = 1 << 20
"""Bytes up to which the first line of a file is read to check it."""

_MAX_LINE_BYTES = 100 << 20
"""Length of the longest line in an excerpt; Elasticsearch rejects a larger request by default."""

_MAX_EXCERPT_BYTES = 1 << 30
"""Size of the largest excerpt."""


class DataDirs(Struct, frozen=True):
    """The folders that are searched for the data files of a corpus."""

    cache: Path
    """Folder below Pacenote's home: files are downloaded and unpacked here."""

    searched_first: tuple[Path, ...] = ()
    """The user's folders, which are searched before the cache and never written to."""

    allowed: tuple[Path, ...] | None = ()
    """Folders without symbolic links that may contain data files besides the cache; None means any folder."""

    named_by_user: frozenset[str] = frozenset()
    """The values of `--track-params`: a path among them may lead anywhere, because the user typed it."""

    other_cache: Path | None = None
    """Folder below Pacenote's home if the cache is another one; searched last and never written to."""

    def find(self, documents: Documents) -> Path | None:
        """Returns the absolute path of the unpacked file or of an archive of it, or None if neither exists.

        Raises CorpusError if it is outside of the allowed folders, or if another user could replace a file in
        the cache. Links in the cache are followed, because a user who is trusted has created them.
        """
        name = documents.document_file
        archives = (name + suffix for suffix in ARCHIVE_SUFFIXES)
        names = dict.fromkeys([name, documents.source_file, *archives])
        folders = [Path()] if documents.is_local else [*self.searched_first, *self._caches]
        candidates = (folder / name for folder in folders for name in names)
        path = next((path.absolute() for path in candidates if path.is_file()), None)
        cached = path is not None and any(_is_below(cache, path) for cache in self._caches)
        if path is not None and cached:
            check_data_file(path)
        elif path is not None and not self._is_allowed(path, documents):
            raise CorpusError(
                f"{documents.source_file} leads to {real_path(path)}, outside of the folders of the track "
                "and its data",
                hint=f"put it or a link to it into {self.cache}, or use --allow-outside-paths if you trust "
                "the track",
            )
        return path

    def is_cached(self, path: Path) -> bool:
        """Returns whether an absolute path is below the cache, without following links."""
        return _is_below(self.cache, path)

    @property
    def _caches(self) -> tuple[Path, ...]:
        return (self.cache,) if self.other_cache is None else (self.cache, self.other_cache)

    def _is_allowed(self, path: Path, documents: Documents) -> bool:
        if self.allowed is None or (documents.is_local and documents.source_file in self.named_by_user):
            return True
        folders = (*(real_path(cache) for cache in self._caches), *self.allowed)
        return any(real_path(path).is_relative_to(folder) for folder in folders)


def _is_below(folder: Path, path: Path) -> bool:
    """Returns whether an absolute path is below a folder, without following links."""
    absolute = folder.absolute()
    # With a link before it, `..` leads elsewhere.
    return path.is_relative_to(absolute) and ".." not in path.relative_to(absolute).parts


def open_data_file(
    path: Path, documents: Documents, dirs: DataDirs, progress: ProgressCallback, *, checked: bool
) -> DataFile:
    """Returns the data file at `path`, unpacked if it is an archive, and counted.

    With `checked`, its size and number of documents must be those that the track declares; a file that
    differs is not deleted. Raises CorpusError for a file that differs, a damaged archive, or a full disk.
    """
    if path.name.endswith(ARCHIVE_SUFFIXES):
        if checked and path.name == Path(documents.source_file).name:
            _check_size(path, documents.compressed_bytes)
        path = _unpack(path, documents, dirs, progress, documents.uncompressed_bytes if checked else None)
    if checked:
        _check_size(path, documents.uncompressed_bytes)
    if documents.is_local:
        _check_first_line(path, documents.source_file)
    original, path = path, path if dirs.is_cached(path) else _linked(path, dirs)
    check_data_file(path)
    lines = call_core(lambda: _core.count_lines(str(path)))
    count = lines // _lines_per_document(documents)
    declared = documents.document_count
    if checked and declared is not None and declared != count:
        raise CorpusError(
            f"{original} holds {count:,} documents, but the track declares {declared:,}", hint=AS_IS_HINT
        )
    return DataFile(path, count)


def _linked(path: Path, dirs: DataDirs) -> Path:
    """Returns a link in the cache to a file elsewhere. Its offset table is written beside the link."""
    link = dirs.cache / f"local-{_fingerprint(path)}" / path.name
    if link.exists():
        return link
    with exclusive_folder(link.parent, (link.name,)):
        try:
            link.unlink(missing_ok=True)
            link.symlink_to(path)
        except OSError as error:
            raise WriteError(link, error) from error
    return link


def write_excerpt(path: Path, documents: Documents, dirs: DataDirs, progress: ProgressCallback) -> Path:
    """Returns a file in the cache with the first documents of the file or archive at `path`, for test mode.

    An existing excerpt is reused. Raises CorpusError.
    """
    count = documents.document_count or 1
    # The fingerprint distinguishes files of the same name; the original path may lead outside the cache.
    target = dirs.cache / f"first-{count}-{_fingerprint(path)}" / Path(documents.document_file).name
    if target.is_file():
        return target
    suffix = next((suffix for suffix in ARCHIVE_SUFFIXES if path.name.endswith(suffix)), "")
    if suffix and suffix not in _STREAMABLE:
        path, suffix = _unpack(path, documents, dirs, progress), ""
    with exclusive_folder(target.parent, (target.name,)), atomic_file(target) as out:
        for line in _first_lines(path, suffix, count * _lines_per_document(documents)):
            out.write(line)
    return target


def _first_lines(path: Path, suffix: str, count: int) -> Iterator[bytes]:
    """Yields the first lines of a file or archive. Raises CorpusError, also if they are too large: a few
    bytes of an archive may contain a line that fills the memory.
    """
    total = 0
    try:
        with _open_stream(path, suffix) as source:
            for number in range(1, count + 1):
                line = source.readline(_MAX_LINE_BYTES + 1)
                total += len(line)
                if len(line) > _MAX_LINE_BYTES:
                    raise CorpusError(
                        f"line {number:,} of {path} is longer than {format_bytes(_MAX_LINE_BYTES)}",
                        hint="the file must have one JSON document per line, as `jq -c` writes them",
                    )
                if total > _MAX_EXCERPT_BYTES:
                    raise CorpusError(
                        f"the first {number:,} lines of {path} have more than "
                        f"{format_bytes(_MAX_EXCERPT_BYTES)}, too much for test mode",
                        hint="run without --test-mode, or use smaller documents",
                    )
                if not line:
                    return
                yield line
    except (OSError, EOFError, zlib.error) as error:
        raise CorpusError(f"{path} cannot be read: {error}", hint="download the file again") from error


def _open_stream(path: Path, suffix: str) -> IO[bytes]:
    if suffix == ".gz":
        return cast(IO[bytes], gzip.GzipFile(path))
    return cast(IO[bytes], bz2.BZ2File(path)) if suffix == ".bz2" else path.open("rb")


def _check_size(path: Path, declared: int | None) -> None:
    size = path.stat().st_size
    if declared is not None and size != declared:
        raise CorpusError(
            f"{path} has {size:,} bytes, but the track declares {declared:,}",
            hint="use the file unchanged with --corpus=as-is, or move it away and run again to download it",
        )


def _check_first_line(path: Path, name: str) -> None:
    """Raises CorpusError if the first line of the user's own file is not a JSON object, so that the mistake
    is found before an engine starts.
    """
    with path.open("rb") as file:
        line = file.readline(_MAX_FIRST_LINE)
    # The end of a longer line is not known.
    if not line or len(line) == _MAX_FIRST_LINE:
        return
    try:
        is_document = isinstance(parse_json(line), dict)
    except (ValueError, RecursionError):
        is_document = False
    if not is_document:
        raise CorpusError(
            f"line 1 of {name} is not a JSON document",
            hint="the file must have one JSON document per line, as `jq -c` writes them",
        )


def _lines_per_document(documents: Documents) -> int:
    return 2 if documents.includes_action_and_meta_data else 1


def _fingerprint(path: Path) -> str:
    """Returns a string that differs between files of the same name, and between versions of a file."""
    status = path.stat()
    identity = f"{path}\n{status.st_size}\n{status.st_mtime_ns}"
    return hashlib.sha256(identity.encode()).hexdigest()[:16]


def _unpack(
    archive: Path,
    documents: Documents,
    dirs: DataDirs,
    progress: ProgressCallback,
    max_bytes: int | None = None,
) -> Path:
    """Returns the unpacked file of an archive, which is unpacked once.

    Raises CorpusError above `max_bytes`.
    """
    # A user's archive is unpacked to a separate folder in the cache, because other archives may have the same
    # name.
    folder = archive.parent if dirs.is_cached(archive) else dirs.cache / f"local-{_fingerprint(archive)}"
    suffix = next(suffix for suffix in ARCHIVE_SUFFIXES if archive.name.endswith(suffix))
    target = folder / archive.name.removesuffix(suffix)
    if target.is_file():
        return target
    check_free_space(folder, documents.uncompressed_bytes or 0, target.name)
    label = f"unpacking {archive.name}"
    with exclusive_folder(folder, (target.name,)):
        # Another race may have unpacked it while this race waited for the lock.
        if target.is_file():
            return target
        unpacked = call_core(
            lambda: _core.unpack(
                str(archive), str(folder), max_bytes, lambda done, total: progress(label, done, total)
            )
        )
    return unpacked.path
