"""Connections of urllib3 with limits for whole responses, not only for the silence between two parts of them.

Imported when the first pool is opened, because importing urllib3 is slow.
"""

from __future__ import annotations

import io
import math
import time
from http.client import HTTPException, HTTPResponse
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from pacenote.net.reply_limits import MIN_BYTES_PER_S, ReplyLimits
from pacenote.net.tls_watch import unwatch, watched_reads


def pool_classes(reply_limits: ReplyLimits) -> dict[str, type[HTTPConnectionPool]]:
    """Returns the classes of connection pools, by scheme, whose responses keep to limits."""

    class Response(_LimitedResponse):
        limits = reply_limits

    class Connection(HTTPConnection):
        response_class = Response

    class SecureConnection(HTTPSConnection):
        response_class = Response

    class Pool(HTTPConnectionPool):
        ConnectionCls = Connection

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = SecureConnection

    return {"http": Pool, "https": SecurePool}


class _LimitedResponse(HTTPResponse):
    """A response that raises TimeoutError while it is read if it exceeds a limit."""

    limits: ReplyLimits

    def __init__(self, sock: Any, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self._pace = _Pace(self.limits)
        self.fp = _PacedReader(_TimedStream(sock, self._pace), self._pace)

    def begin(self) -> None:
        """Reads the head."""
        super().begin()
        # The time that a server needs for its head is not part of the body's.
        self._pace.restart()


class _Pace:
    """The time that the reader of a response has spent, and the bytes of the body that it got for it.

    Time between two reads after a part of the body was returned belongs to the caller, which may write it to
    a slow disk.
    """

    def __init__(self, limits: ReplyLimits) -> None:
        self._stalled_s = limits.stalled_s
        self._deadline = time.monotonic() + limits.whole_s
        self.reads_body = False
        self._received = 0
        self._spent_s = 0.0
        self._bytes = 0
        self._last_s = time.monotonic()
        self._is_paused = False

    def restart(self) -> None:
        """Begins a new interval when the caller reads next, for the body."""
        self._spent_s, self._bytes, self._is_paused = 0.0, 0, True

    def resume(self) -> None:
        """Notes that a read begins."""
        if self._is_paused:
            self._last_s, self._is_paused = time.monotonic(), False

    def receive(self, stream_bytes: int) -> None:
        """Notes bytes that the stream received for a read of the body, which may still wait for more."""
        self._received += stream_bytes
        self._bytes += stream_bytes

    def count(self, body_bytes: int) -> None:
        """Notes bytes of the body that the reader got, in place of those that the stream received for it."""
        self._bytes = max(0, self._bytes + body_bytes - self._received)
        self._received = 0

    def pause(self) -> None:
        """Notes that a part of the body is returned to the caller."""
        self._spend()
        self._is_paused = True

    def left_s(self) -> float:
        """Returns the seconds after which to ask again. Raises TimeoutError if a limit is exceeded."""
        now = self._spend()
        if self._spent_s >= self._stalled_s:
            if self._bytes < self._stalled_s * MIN_BYTES_PER_S:
                raise TimeoutError("the response makes no progress")
            self._spent_s, self._bytes = 0.0, 0
        left_s = min(self._stalled_s - self._spent_s, self._deadline - now)
        if left_s <= 0:
            raise TimeoutError("the response is not complete")
        return left_s

    def _spend(self) -> float:
        now = time.monotonic()
        self._spent_s += now - self._last_s
        self._last_s = now
        return now


class _PacedReader(io.BufferedReader):
    """Reads lines of a head, of chunks and of trailers, and parts of a body, which alone are progress."""

    def __init__(self, raw: _TimedStream, pace: _Pace) -> None:
        super().__init__(raw)
        self._pace = pace

    def readline(self, size: int | None = -1, /) -> bytes:
        # Lines of which the buffer has many do not read from the stream.
        self._pace.resume()
        self._pace.left_s()
        return super().readline(size)

    def read(self, size: int | None = -1, /) -> bytes:
        _check_size(size)
        with _BodyRead(self._pace) as part:
            data = super().read(size)
            part.size = len(data)
        return data

    def read1(self, size: int = -1, /) -> bytes:
        _check_size(size)
        with _BodyRead(self._pace) as part:
            data = super().read1(size)
            part.size = len(data)
        return data

    def readinto(self, buffer: Any, /) -> int:
        with _BodyRead(self._pace) as part:
            part.size = super().readinto(buffer)
        return part.size


def _check_size(size: int | None) -> None:
    """Raises HTTPException unless a part of a limited size is read.

    The parsers of http.client and urllib3 accept a chunk of the size -1, and would read everything that the
    server sends into memory for it.
    """
    if size is None or size < 0:
        raise HTTPException("a part of the response has no size, or a negative one")


class _BodyRead:
    """A read of a part of the body. While it lasts, what the stream receives counts as body, too."""

    def __init__(self, pace: _Pace) -> None:
        self._pace = pace
        self.size = 0

    def __enter__(self) -> _BodyRead:
        self._pace.resume()
        self._pace.reads_body = True
        return self

    def __exit__(self, *_: object) -> None:
        self._pace.reads_body = False
        self._pace.count(self.size)
        if self.size:
            self._pace.pause()


class _TimedStream(io.RawIOBase):
    """Reads from a socket as long as the limits allow."""

    def __init__(self, sock: Any, pace: _Pace) -> None:
        self._sock = sock
        self._pace = pace
        silence_s: float | None = sock.gettimeout()
        self._silence_s = math.inf if silence_s is None else silence_s
        # Keeps the socket open until the response is closed.
        self._raw = sock.makefile("rb", buffering=0)
        self._watched = watched_reads(sock)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        begin_s = time.monotonic()
        while True:
            # A time that has passed just now is no timeout of 0 s, which would not wait.
            silent_s = max(begin_s + self._silence_s - time.monotonic(), 1e-3)
            wait_s = min(self._pace.left_s(), silent_s)
            self._sock.settimeout(None if wait_s == math.inf else wait_s)
            try:
                received = self._receive(buffer, wait_s)
            except TimeoutError:
                is_over = self._watched is not None and self._watched.is_ended
                if is_over or time.monotonic() >= begin_s + self._silence_s:
                    raise
            else:
                if self._pace.reads_body:
                    self._pace.receive(received)
                return received

    def _receive(self, buffer: Any, wait_s: float) -> int:
        """Returns the number of bytes that were received. Raises TimeoutError."""
        if self._watched is None:
            return int(self._sock.recv_into(buffer))
        self._watched.begin(wait_s)
        try:
            received = int(self._sock.recv_into(buffer))
        except OSError:
            if self._watched.is_ended:
                raise TimeoutError("the server sends messages of TLS without data") from None
            raise
        finally:
            self._watched.end()
        if self._watched.is_ended:
            raise TimeoutError("the server sends messages of TLS without data")
        return received

    def close(self) -> None:
        if self._watched is not None:
            unwatch(self._watched)
        self._raw.close()
        super().close()
