"""Ends reads of TLS connections that last too long.

A read of a TLS connection returns when there is data. OpenSSL handles messages that are none, such as
session tickets, by itself as long as the socket has bytes: a server that sends them without end keeps a
thread in it, where neither the timeout of the socket nor Ctrl-C has an effect. Another thread then shuts the
connection down.
"""

from __future__ import annotations

import contextlib
import math
import socket
import ssl
import threading
import time
from typing import Any

_INTERVAL_S = 0.25
"""Seconds between two looks at the reads."""

_GRACE_S = 1.0
"""Seconds that a read may last longer than its timeout, as on a busy machine."""


class WatchedReads:
    """The reads of one TLS connection."""

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self._connection = connection
        self._ends_at_s = math.inf
        self.is_ended = False
        """Whether the connection was shut down because a read lasted too long."""

    def begin(self, timeout_s: float) -> None:
        """Notes that a read begins that may last for this many seconds."""
        self._ends_at_s = time.monotonic() + timeout_s + _GRACE_S

    def end(self) -> None:
        """Notes that the read has ended."""
        self._ends_at_s = math.inf

    def end_if_late(self) -> None:
        """Shuts the connection down if a read lasts too long."""
        if time.monotonic() <= self._ends_at_s:
            return
        self.is_ended = True
        with contextlib.suppress(OSError):
            # The method of the class itself also forgets the state of TLS, which the other thread uses.
            socket.socket.shutdown(self._connection, socket.SHUT_RDWR)


class _Watch:
    """Looks at the reads of all connections, on a thread that runs while there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reads: set[WatchedReads] = set()
        self._thread: threading.Thread | None = None

    def add(self, reads: WatchedReads) -> None:
        with self._lock:
            self._reads.add(reads)
            # A forked process has no threads of its parent.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="tls-watch", daemon=True)
                self._thread.start()

    def remove(self, reads: WatchedReads) -> None:
        with self._lock:
            self._reads.discard(reads)

    def _run(self) -> None:
        while True:
            time.sleep(_INTERVAL_S)
            with self._lock:
                if not self._reads:
                    self._thread = None
                    return
                watched = tuple(self._reads)
            for reads in watched:
                reads.end_if_late()


_watch = _Watch()


def watched_reads(connection: Any) -> WatchedReads | None:
    """Returns the reads of a connection, which `unwatch` forgets, or None if it does not use TLS."""
    # A connection within one to a proxy reads from that.
    inner = connection if isinstance(connection, socket.socket) else getattr(connection, "socket", None)
    if not isinstance(inner, ssl.SSLSocket):
        return None
    reads = WatchedReads(inner)
    _watch.add(reads)
    return reads


def unwatch(reads: WatchedReads) -> None:
    """Forgets the reads of a connection."""
    _watch.remove(reads)
