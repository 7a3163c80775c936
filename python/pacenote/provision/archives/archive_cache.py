"""Downloads archives, compares their checksums, and keeps them until they have not been used for a while.

    ROOT/archives/HASH/ARCHIVE          one folder per address, named by its whole SHA-256
    ROOT/archives/HASH/ARCHIVE.sha512   the checksum; present only when the archive is complete

An interrupted download is continued. An archive of a user is not copied: it is used where it is, and
compared with its checksum again when it is unpacked. Folders of earlier versions, which have 12 digits of the
hash, are not used, because the address of what is in them is not known; they are removed like other old ones.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from pacenote.errors import DownloadError, EngineError, UsageError
from pacenote.fetch.cancellation import Cancellation
from pacenote.fetch.disk import disk_error
from pacenote.fetch.download import ChecksumMismatch, Download, NotAvailable, download_file
from pacenote.fetch.http_file import DOWNLOAD_LIMITS, Digest, HttpFile, RequestRejected, TransientError
from pacenote.fetch.options import DownloadOptions
from pacenote.fetch.remote_file import RemoteFile, remote_files
from pacenote.fetch.retry import read_text
from pacenote.model.engine_archive import EngineArchive
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.net.http_pool import ConnectionPools
from pacenote.provision.archives.addresses import ArchiveSource
from pacenote.provision.public_files import make_public_dir, write_public
from pacenote.system.folder_trees import discard_tree
from pacenote.system.locks import locked
from pacenote.system.ownership import replaceable_file
from pacenote.system.paths import is_file
from pacenote.system.regular_files import open_regular_file, read_regular_file

DEFAULT_CACHE_DAYS = 30
DEFAULT_CACHE_BYTES = 20 << 30

CHECKSUM_SUFFIX = ".sha512"

_CHECKSUM = re.compile(r"\s*([0-9a-fA-F]{128})(?:\s|$)")
_CHUNK_BYTES = 1 << 20
_MAX_CHECKSUM_BYTES = 1 << 16
"""Size of the largest file with a checksum; it may name many files."""

_SHOWN_DIGITS = 16
_MIRROR_HINT = "check the network, or name a server that has the archives with --archive-mirror"


class CachedArchive(Struct, frozen=True):
    """A verified archive on this machine."""

    path: Path
    """The file."""
    origin: EngineArchive
    """Where it comes from, and its checksum."""


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """How archives are downloaded."""

    mirrors: tuple[str, ...] = field(default=(), repr=False)
    """URLs that are tried before the address of the archive; they may contain credentials."""
    offline: bool = False
    """Whether downloads are forbidden."""
    options: DownloadOptions = DownloadOptions()
    """Settings of the downloader."""
    suffix_hint: str = "--distribution-version"
    """The option that selects the file, for the message if no server has it."""


def fetch_archive(
    source: ArchiveSource,
    cache: Path,
    settings: FetchSettings = FetchSettings(),
    progress: ProgressCallback = no_progress,
) -> CachedArchive:
    """Returns an archive, downloaded if it is not in the cache.

    Raises UsageError for a file that does not exist, DownloadError if no server has the archive or if its
    checksum is wrong, EngineError for a file with a wrong checksum, and DiskError.
    """
    if source.is_file:
        return _local_archive(source, progress)
    target = cached_path(source, cache)
    try:
        make_public_dir(target.parent)
        with locked(target.parent / ".lock"):
            archive = _cached(source, target) if source.reused or settings.offline else None
            if archive is None:
                archive = _download(source, target, settings, progress)
            # Marks it as used, for the removal of old archives.
            os.utime(target)
    except OSError as failure:
        raise disk_error(failure, target) from failure
    return archive


def check_archive(source: ArchiveSource, cache: Path, settings: FetchSettings = FetchSettings()) -> None:
    """Raises an error if an archive is known not to exist, before it is downloaded. Creates no files.

    Only the checksum beside an archive is requested, so an archive that need not have one may be missing.
    """
    if is_available_offline(source, cache) and (source.is_file or source.reused or settings.offline):
        return
    if source.is_file:
        raise _no_file(source)
    if settings.offline:
        raise _offline(source)
    if source.checked:
        _published_checksum(source, _beside(source, settings), settings.options)


def cached_path(source: ArchiveSource, cache: Path) -> Path:
    """Returns the path of a downloaded archive, which may not exist."""
    # The query may select the archive, as in https://example.org/archive?build=17.
    query = source.location.partition("?")[2]
    key = f"{source.address}?{query}" if query else source.address
    return cache / hashlib.sha256(key.encode()).hexdigest() / source.file_name


def is_available_offline(source: ArchiveSource, cache: Path) -> bool:
    """Returns whether an archive is on this machine."""
    path = Path(source.location) if source.is_file else cached_path(source, cache)
    return is_file(path) and (source.is_file or is_file(_checksum_file(path)))


class CacheLimits(Struct, frozen=True):
    """What is kept of archives."""

    days: float = DEFAULT_CACHE_DAYS
    """Days after which an archive that was not used is removed."""
    size: int = DEFAULT_CACHE_BYTES
    """Bytes above which the archives that were not used for the longest time are removed."""

    @property
    def oldest_use(self) -> float:
        """The time before which an archive must have been used to be removed."""
        return time.time() - self.days * 86400


def prune_archives(cache: Path, limits: CacheLimits = CacheLimits()) -> None:
    """Removes archives that are not kept, and the downloads that nothing has continued. Ignores errors."""
    oldest, total = limits.oldest_use, 0
    for entry in sorted(_entries(cache), reverse=True):
        total += entry.size
        if entry.used < oldest or total > limits.size:
            with contextlib.suppress(OSError), locked(entry.folder / ".lock"):
                # Another command may have used it while this one waited.
                if _entry(entry.folder) == entry:
                    discard_tree(entry.folder)
                    total -= entry.size


def sha512_of(path: Path, report: Callable[[int], None] = lambda _: None) -> str:
    """Returns the checksum of a file; `report` is called with the number of bytes read. Raises OSError."""
    digest, done = hashlib.sha512(), 0
    with open_regular_file(path) as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            done += len(chunk)
            if done % (64 * _CHUNK_BYTES) == 0:
                report(done)
    return digest.hexdigest()


class _CacheEntry(Struct, frozen=True, order=True):
    used: float
    size: int
    folder: Path


def _entries(cache: Path) -> list[_CacheEntry]:
    """Returns the time of the last use, the size and the folder of each archive."""
    return [entry for folder in cache.glob("*/") if (entry := _entry(folder)) is not None]


def _entry(folder: Path) -> _CacheEntry | None:
    try:
        files = [path.stat() for path in folder.iterdir() if path.name != ".lock"]
    except OSError:
        return None
    if not files:
        return None
    return _CacheEntry(max(file.st_mtime for file in files), sum(file.st_size for file in files), folder)


def _local_archive(source: ArchiveSource, progress: ProgressCallback) -> CachedArchive:
    path = Path(source.location)
    if not is_file(path):
        raise _no_file(source)
    label = f"verifying {path.name}"
    try:
        size = path.stat().st_size
        sha512 = sha512_of(path, lambda done: progress(label, done, size))
    except OSError as failure:
        raise EngineError(f"{path} cannot be read: {failure.strerror}") from failure
    expected = _local_checksum(path)
    if expected not in ("", sha512):
        raise EngineError(
            f"{path} is not the file that {_checksum_file(path).name} describes: its SHA-512 checksum is "
            f"{_short(sha512)}, not {_short(expected)}",
            hint="copy it again, or remove the file with the wrong checksum",
        )
    return CachedArchive(path, EngineArchive(str(path), sha512, verified=bool(expected)))


def _local_checksum(path: Path) -> str:
    """Returns the checksum in the file beside an archive; empty if there is none, or if another user could
    have written it, in a folder such as /tmp. Raises EngineError.
    """
    file = _checksum_file(path)
    try:
        return "" if replaceable_file(file) else _read_checksum(file)
    except OSError as failure:
        raise EngineError(f"{file} cannot be read: {failure.strerror}", hint="remove it") from failure


def _cached(source: ArchiveSource, target: Path) -> CachedArchive | None:
    """Returns the archive in the cache. It is not read again, because it was verified before it got its
    name.
    """
    sha512 = _read_checksum(_checksum_file(target))
    if not sha512 or not is_file(target):
        return None
    return CachedArchive(target, EngineArchive(source.address, sha512, not _is_unverified(target)))


def _download(
    source: ArchiveSource, target: Path, settings: FetchSettings, progress: ProgressCallback
) -> CachedArchive:
    if settings.offline:
        raise _offline(source)
    plain, _, query = source.location.partition("?")
    base, _, name = plain.rpartition("/")
    sources = remote_files(base, f"{name}?{query}" if query else name, "", settings.mirrors)
    expected = _published_checksum(source, _beside(source, settings), settings.options)
    cached = _cached(source, target)
    if cached is not None and expected == cached.origin.sha512:
        return cached
    _checksum_file(target).unlink(missing_ok=True)
    digest = Digest("sha512", bytes.fromhex(expected)) if expected else None
    try:
        download_file(
            Download(target, sources, digest=digest, public=True, hint=_MIRROR_HINT),
            progress,
            settings.options,
        )
    except NotAvailable as failure:
        raise _unavailable(source, failure, settings) from None
    sha512 = expected or sha512_of(target)
    mark = "" if expected else f"# not compared: there was no {CHECKSUM_SUFFIX} file\n"
    write_public(_checksum_file(target), f"{sha512}  {target.name}\n{mark}")
    return CachedArchive(target, EngineArchive(source.address, sha512, verified=bool(expected)))


def _beside(source: ArchiveSource, settings: FetchSettings) -> tuple[RemoteFile, ...]:
    """Returns the checksum file beside an archive on each server."""
    # A query is part of the address of the archive, and not of that of its checksum.
    base, _, name = source.location.partition("?")[0].rpartition("/")
    return remote_files(base, f"{name}{CHECKSUM_SUFFIX}", "", settings.mirrors)


def _no_file(source: ArchiveSource) -> UsageError:
    return UsageError(f"the archive {source.location} does not exist or is not a file", hint="check the path")


def _offline(source: ArchiveSource) -> EngineError:
    return EngineError(
        f"{source} is not on this machine, and --offline forbids downloading it",
        hint="run once without --offline",
    )


def _published_checksum(source: ArchiveSource, beside: Sequence[RemoteFile], options: DownloadOptions) -> str:
    """Returns the checksum in the file beside an archive, from the first server that has it, or an empty
    string. Raises DownloadError if there must be one.
    """
    pools = ConnectionPools(options.connections, DOWNLOAD_LIMITS)
    reasons = []
    try:
        for file in beside:
            try:
                text = read_text(HttpFile(file, pools), options.retry, Cancellation())
            except (TransientError, RequestRejected) as failure:
                reasons.append(f"{file.display_url}: {failure}")
                continue
            if match := _CHECKSUM.match(text or ""):
                return match[1].lower()
            reasons.append(f"{file.display_url}: {'no checksum in it' if text else 'HTTP status 404'}")
    finally:
        pools.close()
    if not source.checked:
        return ""
    raise DownloadError(
        f"{source.distribution} {source.version} cannot be downloaded: "
        f"the checksum of its archive cannot be read: {'; '.join(reasons)}",
        hint=f"check the version, or {_MIRROR_HINT.removeprefix('check the network, or ')}",
    )


def _unavailable(source: ArchiveSource, failure: NotAvailable, settings: FetchSettings) -> DownloadError:
    last = failure.failures[-1].error if failure.failures else None
    if isinstance(last, ChecksumMismatch):
        return DownloadError(
            f"{source.address} has another SHA-512 checksum than its {CHECKSUM_SUFFIX} file states; the "
            "download was removed",
            hint="try again; if this persists, the server or a proxy sends a different file",
        )
    if isinstance(last, RequestRejected) and last.status == 404:
        return DownloadError(f"{source} does not exist on the server", hint=f"check {settings.suffix_hint}")
    return failure


def _checksum_file(path: Path) -> Path:
    return path.with_name(path.name + CHECKSUM_SUFFIX)


def _read_checksum(file: Path) -> str:
    """Returns the checksum in a file, or an empty string if it does not exist. Raises OSError."""
    try:
        text = _checksum_text(file)
    except FileNotFoundError:
        return ""
    match = _CHECKSUM.match(text)
    return match[1].lower() if match else ""


def _is_unverified(path: Path) -> bool:
    return "\n#" in _checksum_text(_checksum_file(path))


def _checksum_text(file: Path) -> str:
    return read_regular_file(file, _MAX_CHECKSUM_BYTES).decode("utf-8", "replace")


def _short(checksum: str) -> str:
    return f"{checksum[:_SHOWN_DIGITS]}…"
