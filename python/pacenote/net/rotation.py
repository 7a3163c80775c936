"""The order in which a client uses the hosts of a cluster, as in elastic-transport, the transport of Rally's
client: round-robin, without the hosts that have failed. `crates/driver/src/transport/rotation.rs` does the
same for measured requests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence

from pacenote.net.hosts import HttpHost

_FIRST_TIMEOUT_S = 1.0
"""Seconds for which a host is set aside after its first failure; doubled by each further failure in a row."""

_MAX_TIMEOUT_S = 30.0
"""The longest time for which a host is set aside, in seconds."""


class HostRotation:
    """The hosts of a cluster in the order in which requests try them. Safe to use from several threads."""

    def __init__(self, hosts: Sequence[HttpHost], clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns a monotonic time in seconds."""
        self._hosts = tuple(hosts)
        self._clock = clock
        self._lock = threading.Lock()
        self._turn = 0
        self._failures: dict[HttpHost, int] = {}
        self._set_aside_until: dict[HttpHost, float] = {}

    def candidates(self) -> Iterator[HttpHost]:
        """Returns all hosts in the order in which one request tries them.

        First the hosts in use, beginning with the one whose turn it is, then those that are set aside,
        beginning with the one whose time ends first.
        """
        now = self._clock()
        with self._lock:
            turns = self._hosts[self._turn :] + self._hosts[: self._turn]
            until = {host: self._set_aside_until.get(host, now) for host in turns}
            order = sorted(turns, key=lambda host: max(until[host], now))
            if order:
                self._turn = (self._hosts.index(order[0]) + 1) % len(self._hosts)
        return iter(order)

    def failed(self, host: HttpHost) -> None:
        """Sets a host aside: it did not respond."""
        with self._lock:
            failures = self._failures.get(host, 0)
            self._failures[host] = failures + 1
            timeout_s = min(_FIRST_TIMEOUT_S * 2 ** min(failures, 16), _MAX_TIMEOUT_S)
            self._set_aside_until[host] = self._clock() + timeout_s

    def responded(self, host: HttpHost) -> None:
        """Uses a host again."""
        with self._lock:
            self._failures.pop(host, None)
            self._set_aside_until.pop(host, None)
