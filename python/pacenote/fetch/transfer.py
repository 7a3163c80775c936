"""The transfer of one file from one server. It is resumable, and large files are transferred in parallel
segments.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from pacenote.fetch.cancellation import Cancellation
from pacenote.fetch.http_file import (
    FileChanged,
    FileVersion,
    HttpFile,
    RangeResponse,
    RequestRejected,
    TransientError,
)
from pacenote.fetch.options import DownloadOptions
from pacenote.fetch.partial_file import FileSegment, PartialFile
from pacenote.fetch.retry import with_retries
from pacenote.fetch.transfer_progress import ProgressMeter
from pacenote.net.failures import describe_failure
from pacenote.units import format_bytes

_CHUNK_BYTES = 1 << 16
_MAX_VERSIONS = 3
"""Maximum number of times that a transfer starts because the file keeps changing on the server."""

_CHECK_EVERY_BYTES = 64 << 20
"""Bytes of a file of unknown size between two checks whether the disk has room."""


class SizeMismatch(TransientError):
    """The server announces a size other than the expected one, for example because a proxy truncates
    files.
    """


class Transfer:
    """Downloads one file into a `PartialFile`."""

    def __init__(
        self, source: HttpFile, partial: PartialFile, meter: ProgressMeter, options: DownloadOptions
    ) -> None:
        self._source = source
        self._partial = partial
        self._meter = meter
        self._options = options
        self._size: int | None = None
        self._max_size: int | None = None
        self._check_space: Callable[[int], None] = lambda _: None
        self._checked_bytes = 0

    def run(
        self,
        size: int | None,
        check_space: Callable[[int], None],
        cancellation: Cancellation,
        max_size: int | None = None,
    ) -> FileVersion:
        """Downloads the whole file and returns its version.

        `size` is the expected size in bytes, `max_size` the largest one (None: any size). `check_space` is
        called before anything is written, with the number of bytes to write, and repeatedly if that is not
        known; it raises an error if the disk does not have enough space.
        Raises TransientError if retries did not help, RequestRejected and OSError. Downloaded bytes are kept.
        """
        self._size, self._max_size, self._check_space = size, max_size, check_space
        resumed = self._partial.resume()
        previous = self._partial.version
        if previous is not None and size not in (None, previous.size):
            # The size of the partial file is not the expected one, so it belongs to a different version.
            resumed = False
        if resumed and previous is not None:
            self._check_limit(previous.size or 0)
        for _ in range(_MAX_VERSIONS):
            try:
                with cancellation.scope() as scope:
                    return self._attempt(size, check_space, scope, resumed=resumed)
            except FileChanged:
                resumed = False
        raise TransientError("the file keeps changing on the server")

    def _attempt(
        self,
        size: int | None,
        check_space: Callable[[int], None],
        cancellation: Cancellation,
        *,
        resumed: bool,
    ) -> FileVersion:
        first: RangeResponse | None = None
        if not resumed:
            first = with_retries(self._options.retry, cancellation, lambda: self._first_response(size))
            try:
                check_space(first.version.size or size or 0)
                self._partial.create(first.version, self._split(first.version))
            except BaseException:
                first.body.close()
                raise
        version = self._partial.version or FileVersion(None, "", ranges=False)
        if resumed:
            check_space((version.size or 0) - self._partial.downloaded_bytes)
        self._meter.total, self._meter.done = version.size or size or 0, self._partial.downloaded_bytes
        try:
            self._download_segments(version, first, cancellation)
        finally:
            self._partial.save()
        return version

    def _first_response(self, size: int | None) -> RangeResponse:
        response = self._source.get()
        announced = response.version.size
        if announced is not None and size is not None and announced != size:
            response.body.close()
            raise SizeMismatch(f"the server announces {announced:,} bytes instead of {size:,}")
        try:
            self._check_limit(announced or 0)
        except RequestRejected:
            response.body.close()
            raise
        return response

    def _split(self, version: FileVersion) -> list[FileSegment]:
        length = self._options.segment_bytes
        if version.size is None or not version.ranges or version.size < 2 * length:
            return [FileSegment(0, version.size, 0)]
        starts = range(0, version.size, length)
        return [FileSegment(start, min(start + length, version.size), start) for start in starts]

    def _download_segments(
        self, version: FileVersion, first: RangeResponse | None, cancellation: Cancellation
    ) -> None:
        missing = [segment for segment in self._partial.segments if not segment.complete]
        if not missing:
            if first is not None:
                first.body.close()
            return
        if len(missing) == 1:
            self._download_segment(missing[0], version, first, cancellation)
            return
        pool = ThreadPoolExecutor(self._options.connections, thread_name_prefix="pacenote-segment")
        try:
            # The first response starts with the first segment.
            responses = [first, *[None] * len(missing)]
            futures = [
                pool.submit(self._download_segment, segment, version, response, cancellation)
                for segment, response in zip(missing, responses, strict=False)
            ]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        finally:
            # This also runs after Ctrl-C, so that the program does not wait for servers.
            cancellation.cancel()
            pool.shutdown(wait=True, cancel_futures=True)

    def _download_segment(
        self,
        segment: FileSegment,
        version: FileVersion,
        response: RangeResponse | None,
        cancellation: Cancellation,
    ) -> None:
        retry, failures = self._options.retry, 0
        while not segment.complete:
            before = segment.position
            try:
                response = response or self._request_rest(segment, version)
                self._receive(segment, response, cancellation)
            except TransientError as failure:
                progressed = version.ranges and segment.position - before >= _CHUNK_BYTES
                failures = 1 if progressed else failures + 1
                if cancellation.cancelled or failures >= retry.attempts:
                    raise
                cancellation.wait(retry.pause_s(failures, failure.retry_after_s))
            response = None

    def _request_rest(self, segment: FileSegment, version: FileVersion) -> RangeResponse:
        """Requests the rest of a segment, or all of it from a server without ranges."""
        if not version.ranges:
            self._meter.add(-self._partial.restart(segment))
        last = None if segment.end is None or not version.ranges else segment.end - 1
        response = self._source.get(segment.position, last, version.validator if version.ranges else "")
        if not response.version.is_same(version):
            response.body.close()
            raise FileChanged
        return response

    def _receive(self, segment: FileSegment, response: RangeResponse, cancellation: Cancellation) -> None:
        import urllib3

        with cancellation.reading(response.body):
            try:
                for chunk in response.body.stream(_CHUNK_BYTES, decode_content=False):
                    if cancellation.cancelled:
                        raise TransientError("the download was cancelled")
                    if segment.end is None:
                        self._check_length(segment.position + len(chunk))
                    piece = chunk if segment.end is None else chunk[: segment.end - segment.position]
                    self._partial.write(segment, piece)
                    self._meter.add(len(piece))
                    if segment.complete:
                        return
            except (urllib3.exceptions.HTTPError, ValueError) as failure:
                # ValueError: shut down by `cancel`.
                raise TransientError(describe_failure(failure).reason) from None
        if segment.end is not None:
            raise TransientError("the response ended early")
        segment.end = segment.position

    def _check_limit(self, size: int) -> None:
        """Raises RequestRejected for a file that is larger than any that is expected."""
        if self._max_size is not None and size > self._max_size:
            raise RequestRejected(200, f"it is larger than {format_bytes(self._max_size)}")

    def _check_length(self, received: int) -> None:
        """Raises RequestRejected or the error of `check_space` if a body whose length the server does not
        announce has become too long.
        """
        if self._size is not None and received > self._size:
            raise RequestRejected(200, f"the server sends more than the expected {self._size:,} bytes")
        self._check_limit(received)
        if received >= self._checked_bytes:
            # Most bodies of unknown length are small.
            self._check_space(min(received, _CHECK_EVERY_BYTES))
            self._checked_bytes = received + min(received, _CHECK_EVERY_BYTES)
