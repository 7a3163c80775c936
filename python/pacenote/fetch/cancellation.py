"""Cancellation of requests that run in other threads."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse


class Cancellation:
    """Stops transfers in other threads: ends their pauses and shuts down their open responses."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._responses: set[BaseHTTPResponse] = set()
        self._scopes: set[Cancellation] = set()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Waits for `seconds` or until `cancel` is called, and returns whether it was called."""
        return self._event.wait(seconds)

    def cancel(self) -> None:
        """Cancels this scope and those inside it. May be called again."""
        with self._lock:
            self._event.set()
            scopes, responses = list(self._scopes), list(self._responses)
        for scope in scopes:
            scope.cancel()
        for response in responses:
            # The thread that reads the response may have closed it in the meantime.
            with contextlib.suppress(OSError, ValueError, RuntimeError):
                response.shutdown()

    @contextlib.contextmanager
    def scope(self) -> Iterator[Cancellation]:
        """Opens a scope that can be cancelled separately, and is cancelled together with this one."""
        inner = Cancellation()
        with self._lock:
            self._scopes.add(inner)
        if self.cancelled:
            inner.cancel()
        try:
            yield inner
        finally:
            with self._lock:
                self._scopes.discard(inner)

    @contextlib.contextmanager
    def reading(self, response: BaseHTTPResponse) -> Iterator[None]:
        """Lets `cancel` shut down a response that is being read, and closes it at the end."""
        with self._lock:
            self._responses.add(response)
        try:
            yield
        finally:
            with self._lock:
                self._responses.discard(response)
            response.close()
