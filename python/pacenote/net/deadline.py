"""Connections of urllib3 on which a whole response must arrive within a time, not only each part of it.

Imported when the first pool is opened, because importing urllib3 is slow.
"""

from __future__ import annotations

import io
import time
from http.client import HTTPResponse
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool


def pool_classes(reply_timeout_s: float) -> dict[str, type[HTTPConnectionPool]]:
    """Returns the classes of connection pools, by scheme, whose responses must be complete in this time."""

    class Response(_TimedResponse):
        limit_s = reply_timeout_s

    class Connection(HTTPConnection):
        response_class = Response

    class SecureConnection(HTTPSConnection):
        response_class = Response

    class Pool(HTTPConnectionPool):
        ConnectionCls = Connection

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = SecureConnection

    return {"http": Pool, "https": SecurePool}


class _TimedResponse(HTTPResponse):
    """A response that must be read completely within a time after its request was sent."""

    limit_s: float
    """The time in seconds."""

    def __init__(self, sock: Any, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_TimedStream(sock, time.monotonic() + self.limit_s))


class _TimedStream(io.RawIOBase):
    """Reads from a socket until a deadline."""

    def __init__(self, sock: Any, deadline: float) -> None:
        self._sock = sock
        self._deadline = deadline
        self._silence_s: float | None = sock.gettimeout()
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the response is not complete")
        self._sock.settimeout(left_s if self._silence_s is None else min(left_s, self._silence_s))
        read: int = self._raw.readinto(buffer)
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()
