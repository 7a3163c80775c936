"""One file from one server: in pieces side by side where it is big, and on from where it was cut."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pacenote.fetch.partial import Part, Partial
from pacenote.fetch.server import Again, Changed, Server, Version
from pacenote.net.http_pool import plain_reason

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

_CHUNK = 1 << 16
_TELL_EVERY_S = 0.1
_VERSIONS = 3
"""How often a file may change on the server while it is downloaded."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """How hard to try: bytes of a part, connections, tries of one part without progress, and of the first
    request; seconds to wait before the second try, twice that before the next, at most `longest_pause`.
    """

    part: int = 64 << 20
    connections: int = 4
    tries: int = 6
    first_tries: int = 3
    pause: float = 0.5
    longest_pause: float = 10.0


class WrongSize(Exception):
    """The server has a file of another size than the one that is wanted."""


class Meter:
    """Bytes of all threads, told to one callback ten times a second, one call at a time."""

    def __init__(self, tell: Callable[[int, int], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._next = 0.0
        self.total = 0
        self.done = 0

    def add(self, count: int) -> None:
        """So many bytes more; fewer, if negative."""
        with self._lock:
            self.done += count
            now = time.monotonic()
            if now >= self._next or self.done == self.total:
                self._next = now + _TELL_EVERY_S
                self._tell(self.done, self.total)


class Transfer:
    """The download of one file into a `Partial`."""

    def __init__(self, server: Server, partial: Partial, meter: Meter, tuning: Tuning = Tuning()) -> None:
        self._server = server
        self._partial = partial
        self._meter = meter
        self._tuning = tuning
        self._stop = threading.Event()
        self._replies: set[BaseHTTPResponse] = set()

    def run(self, size: int | None, room: Callable[[int], None]) -> Version:
        """Has the whole file in the partial; returns its version.

        `size` is the one that is wanted (None: any). `room` is asked before anything is written whether so
        many bytes more fit; it raises if not.

        Raises Again when retrying did not help, Refused, WrongSize, OSError; what is here is kept.
        """
        resumed = self._partial.resume()
        begun = self._partial.version
        if begun is not None and size not in (None, begun.total):
            # Of a version that is no longer wanted; the server may have another one by now.
            resumed = False
        for _ in range(_VERSIONS):
            try:
                return self._attempt(size, room, resumed=resumed)
            except Changed:
                resumed = False
        raise Again("the file goes on changing on the server")

    def _attempt(self, size: int | None, room: Callable[[int], None], *, resumed: bool) -> Version:
        self._stop = threading.Event()
        reply = None
        if not resumed:
            reply, version = self._first()
            try:
                _check(version, size)
                room(version.total or size or 0)
                self._partial.begin(version, self._split(version))
            except BaseException:
                reply.close()
                raise
        version = self._partial.version or Version(None, "", ranges=False)
        if resumed:
            room((version.total or 0) - self._partial.here)
        self._meter.total, self._meter.done = version.total or size or 0, self._partial.here
        try:
            self._all_parts(version, reply)
        finally:
            self._partial.save()
        return version

    def _first(self) -> tuple[BaseHTTPResponse, Version]:
        for tried in range(1, self._tuning.first_tries + 1):
            try:
                return self._server.get(0, None, "")
            except Again as failure:
                if tried == self._tuning.first_tries:
                    raise
                self._pause(tried, failure)
        raise AssertionError

    def _split(self, version: Version) -> list[Part]:
        size = self._tuning.part
        if version.total is None or not version.ranges or version.total < 2 * size:
            return [Part(0, version.total, 0)]
        starts = range(0, version.total, size)
        return [Part(first, min(first + size, version.total), first) for first in starts]

    def _all_parts(self, version: Version, reply: BaseHTTPResponse | None) -> None:
        missing = [part for part in self._partial.parts if not part.complete]
        if not missing and reply is not None:
            reply.close()
        pool = ThreadPoolExecutor(self._tuning.connections, thread_name_prefix="pacenote-fetch")
        try:
            # The first reply is the beginning of the first part already.
            replies = [reply, *[None] * len(missing)]
            futures = [
                pool.submit(self._part, part, version, reply)
                for part, reply in zip(missing, replies, strict=False)
            ]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        finally:
            # Also for Ctrl-C, which must not wait for servers.
            self._stop.set()
            for each in list(self._replies):
                # Its thread may have closed it just now.
                with contextlib.suppress(OSError, ValueError, RuntimeError):
                    each.shutdown()
            pool.shutdown(wait=True, cancel_futures=True)

    def _part(self, part: Part, version: Version, reply: BaseHTTPResponse | None) -> None:
        failures = 0
        while not part.complete:
            before = part.at
            try:
                reply = reply or self._again(part, version)
                self._receive(part, reply)
            except Again as failure:
                further = version.ranges and part.at - before >= _CHUNK
                failures = 1 if further else failures + 1
                if self._stop.is_set() or failures == self._tuning.tries:
                    raise
                self._pause(failures, failure)
            reply = None

    def _again(self, part: Part, version: Version) -> BaseHTTPResponse:
        """The rest of a part, or all of it anew from a server that knows no pieces."""
        if not version.ranges:
            self._meter.add(-self._partial.restart(part))
        last = None if part.end is None or not version.ranges else part.end - 1
        reply, found = self._server.get(part.at, last, version.validator if version.ranges else "")
        same = (found.total, found.validator, found.ranges) == (
            version.total,
            version.validator,
            version.ranges,
        )
        if not same:
            reply.close()
            raise Changed
        return reply

    def _receive(self, part: Part, reply: BaseHTTPResponse) -> None:
        import urllib3

        self._replies.add(reply)
        try:
            for chunk in reply.stream(_CHUNK, decode_content=False):
                if self._stop.is_set():
                    raise Again("given up because another part failed")
                piece = chunk if part.end is None else chunk[: part.end - part.at]
                self._partial.write(part, piece)
                self._meter.add(len(piece))
                if part.complete:
                    return
            if part.end is not None:
                raise Again("the reply ended early")
            part.end = part.at
        except (urllib3.exceptions.HTTPError, ValueError) as failure:
            # ValueError: shut down by the thread that waits for us.
            raise Again(plain_reason(failure)) from None
        finally:
            self._replies.discard(reply)
            reply.close()

    def _pause(self, failures: int, failure: Again) -> None:
        pause = max(self._tuning.pause * 2 ** (failures - 1), failure.wait_s)
        self._stop.wait(min(pause, self._tuning.longest_pause))


def _check(version: Version, size: int | None) -> None:
    if None not in (version.total, size) and version.total != size:
        raise WrongSize(f"it has {version.total:,} bytes there, the track declares {size:,}")
