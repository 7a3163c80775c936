"""Downloads each file from the first source that has it, and verifies it before giving it its final name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

from msgspec import Struct

from pacenote.errors import DiskError, DownloadError
from pacenote.fetch.cancellation import Cancellation
from pacenote.fetch.disk import check_free_space, disk_error
from pacenote.fetch.http_file import (
    DOWNLOAD_LIMITS,
    Digest,
    FileVersion,
    HttpFile,
    RequestRejected,
    TransientError,
)
from pacenote.fetch.options import DownloadOptions
from pacenote.fetch.partial_file import PartialFile
from pacenote.fetch.remote_file import MissingCredentials, RemoteFile, presign
from pacenote.fetch.transfer import Transfer
from pacenote.fetch.transfer_progress import BatchProgress, ByteCallback, FileProgress, ProgressMeter
from pacenote.model.progress import ProgressCallback
from pacenote.net.http_pool import ConnectionPools

_HASH_CHUNK_BYTES = 1 << 20
_REPORT_HASH_BYTES = 64 << 20
_DENIED = (401, 403)


class ContentMismatch(Exception):
    """The received bytes are not those of the expected file."""


class ChecksumMismatch(ContentMismatch):
    """The checksum of the received bytes differs from the expected one."""


SourceError = TransientError | RequestRejected | ContentMismatch | MissingCredentials | DiskError
"""An error that prevented a download from one source."""


class Download(Struct, frozen=True):
    """A file to download."""

    target: Path
    """Path that the file is written to; missing folders are created."""
    sources: tuple[RemoteFile, ...]
    """Sources of the file, in the order in which they are tried."""
    size: int | None = None
    """The expected size in bytes, or None if it is not known."""
    max_size: int | None = None
    """The largest size in bytes, or None for any that the disk has room for."""
    digest: Digest | None = None
    """The expected checksum; a checksum that the server declares is verified as well."""
    crc32c: Callable[[Path], int] | None = None
    """Computes the CRC-32C of a file; if it is None, a declared CRC-32C is not verified."""
    public: bool = False
    """Whether every user may read the file, whatever the umask."""
    hint: str = "check the network"
    """The hint of the error if no source has the file."""


class SourceFailure(Struct, frozen=True):
    """The reason why a file could not be downloaded from one source."""

    source: RemoteFile
    """The source."""
    error: SourceError
    """The error from that source."""


class NotAvailable(DownloadError):
    """The file cannot be downloaded from any of its sources."""

    def __init__(self, download: Download, failures: Sequence[SourceFailure]) -> None:
        reasons = "; ".join(f"{failure.source.display_url}: {failure.error}" for failure in failures)
        super().__init__(
            f"{download.target.name} cannot be downloaded: {reasons or 'no address is known'}",
            hint=_hint(download, failures),
        )
        self.download = download
        self.failures = tuple(failures)


def download_file(
    download: Download, progress: ProgressCallback, options: DownloadOptions = DownloadOptions()
) -> RemoteFile:
    """Downloads a file and returns the source it came from.

    An interrupted download of the same version is continued. The file gets its final name once its size and
    checksum are verified and it is synced to disk. Raises NotAvailable with the error from every source, or
    DiskError if the file cannot be written; if its size is not known and there are several sources, a lack of
    room is an error of the one that states the size.
    """
    job = _Job(ConnectionPools(options.connections, DOWNLOAD_LIMITS), Cancellation(), options)
    try:
        return job.run(download, FileProgress.labelled(download.target.name, progress))
    finally:
        job.pools.close()


def download_files(
    downloads: Sequence[Download],
    label: str,
    progress: ProgressCallback,
    options: DownloadOptions = DownloadOptions(),
) -> None:
    """Downloads several files in parallel, reporting their bytes together under `label`.

    Raises the same errors as `download_file` for the first file that fails, and cancels the others.
    """
    sizes = [download.size for download in downloads]
    # The total is known only if every size is known.
    total = sum(size for size in sizes if size) if all(sizes) else 0
    batch = BatchProgress(label, total, progress)
    job = _Job(ConnectionPools(options.parallel_files, DOWNLOAD_LIMITS), Cancellation(), options)
    pool = ThreadPoolExecutor(options.parallel_files, thread_name_prefix="pacenote-download")
    try:
        futures = [pool.submit(job.run, download, batch.file()) for download in downloads]
        done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
    finally:
        # After a failure or Ctrl-C, this does not wait for servers or for queued downloads.
        job.cancellation.cancel()
        pool.shutdown(wait=True, cancel_futures=True)
        job.pools.close()


class _Job(Struct, frozen=True):
    """The state that the downloads of one call share."""

    pools: ConnectionPools
    cancellation: Cancellation
    options: DownloadOptions

    def run(self, download: Download, progress: FileProgress) -> RemoteFile:
        failures: list[SourceFailure] = []
        for source in download.sources:
            try:
                self._from_source(source, download, progress)
            except (TransientError, RequestRejected, ContentMismatch, MissingCredentials) as error:
                failures.append(SourceFailure(source, error))
            except DiskError as error:
                # Without a declared size, only this server says how large the file is.
                if download.size is not None or len(download.sources) == 1:
                    raise
                failures.append(SourceFailure(source, error))
            except OSError as failure:
                raise disk_error(failure, download.target) from failure
            else:
                return source
        raise NotAvailable(download, failures)

    def _from_source(self, source: RemoteFile, download: Download, progress: FileProgress) -> None:
        try:
            self._transfer(source, download, progress)
        except RequestRejected as failure:
            # A public object is read without credentials, even if credentials are configured.
            if failure.status not in _DENIED or not source.bucket:
                raise
            self._transfer(presign(source), download, progress)

    def _transfer(self, source: RemoteFile, download: Download, progress: FileProgress) -> None:
        target = download.target
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = PartialFile(target, source.display_url)
        try:
            meter = ProgressMeter(progress.transferred)
            transfer = Transfer(HttpFile(source, self.pools), partial, meter, self.options)
            version = transfer.run(
                download.size,
                lambda needed: check_free_space(target.parent, needed, target.name),
                self.cancellation,
                download.max_size,
            )
            partial.check_name()
            try:
                _verify(partial.path, download, version, progress.verified)
            except ContentMismatch:
                partial.discard()
                raise
            if download.public:
                partial.make_public()
            partial.commit(target)
            size = target.stat().st_size
            progress.transferred(size, size)
        finally:
            partial.close()


def _verify(file: Path, download: Download, version: FileVersion, progress: ByteCallback) -> None:
    size = file.stat().st_size
    if download.size is not None and size != download.size:
        raise ContentMismatch(f"received {size:,} bytes instead of {download.size:,}")
    for expected in filter(None, dict.fromkeys((download.digest, version.digest))):
        if expected.algorithm != "crc32c":
            checksum = _hash(file, expected.algorithm, lambda done: progress(done, size))
        elif download.crc32c is not None:
            checksum = download.crc32c(file).to_bytes(4, "big")
        else:
            continue
        if checksum != expected.value:
            raise ChecksumMismatch(
                f"wrong checksum: {expected.algorithm} {checksum.hex()} instead of {expected.value.hex()}"
            )


def _hash(file: Path, algorithm: str, progress: Callable[[int], None]) -> bytes:
    digest, done = hashlib.new(algorithm, usedforsecurity=False), 0
    with file.open("rb") as source:
        while chunk := source.read(_HASH_CHUNK_BYTES):
            digest.update(chunk)
            done += len(chunk)
            if done % _REPORT_HASH_BYTES == 0:
                progress(done)
    return digest.digest()


def _hint(download: Download, failures: Sequence[SourceFailure]) -> str:
    if any(isinstance(failure.error, MissingCredentials) for failure in failures):
        return "pip install boto3, and set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
    denied = any(
        isinstance(failure.error, RequestRejected) and failure.error.status in _DENIED for failure in failures
    )
    if denied and any(source.display_url.startswith("gs://") for source in download.sources):
        return "set GOOGLE_AUTH_TOKEN to the token of an account that may read it"
    return download.hint
