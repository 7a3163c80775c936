"""Repeats requests after temporary failures, and reads small files with such retries."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from pacenote.fetch.cancellation import Cancellation
from pacenote.fetch.http_file import HttpFile, RequestRejected, TransientError
from pacenote.fetch.options import DownloadRetryPolicy
from pacenote.net.failures import describe_failure
from pacenote.units import format_bytes

T = TypeVar("T")

_MAX_TEXT_BYTES = 1 << 20
"""Size of the largest text that is read; checksums and Maven's metadata have a few KiB."""

_TEXT_TIMEOUT_S = 60.0
"""Seconds within which a whole text must arrive."""

_LATE = "the response did not arrive in time"


def with_retries(policy: DownloadRetryPolicy, cancellation: Cancellation, request: Callable[[], T]) -> T:
    """Returns the result of a request, which is attempted up to `policy.first_attempts` times.

    Raises the last TransientError; other errors are not retried.
    """
    failures = 0
    while True:
        try:
            return request()
        except TransientError as failure:
            failures += 1
            if failures >= policy.first_attempts:
                raise
            if cancellation.wait(policy.pause_s(failures, failure.retry_after_s)):
                raise


@contextlib.contextmanager
def cancelled_after(scope: Cancellation, seconds: float) -> Iterator[None]:
    """Cancels a scope unless the block ends in time."""
    timer = threading.Timer(seconds, scope.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def read_text(file: HttpFile, policy: DownloadRetryPolicy, cancellation: Cancellation) -> str | None:
    """Returns the text of a small file, or None if the server does not have it.

    Raises TransientError, and RequestRejected, also for a file that is not small.
    """
    import urllib3

    def request() -> str:
        response = file.get().body
        with cancellation.scope() as scope, scope.reading(response), cancelled_after(scope, _TEXT_TIMEOUT_S):
            try:
                text = response.read(_MAX_TEXT_BYTES + 1)
            except (urllib3.exceptions.HTTPError, ValueError) as failure:
                # ValueError: shut down by `cancel`.
                reason = _LATE if scope.cancelled else describe_failure(failure).reason
                raise TransientError(reason) from None
            if scope.cancelled:
                # Without a declared size, a response that is shut down looks like a complete one.
                raise TransientError(_LATE)
        if len(text) > _MAX_TEXT_BYTES:
            raise RequestRejected(200, f"the response is larger than {format_bytes(_MAX_TEXT_BYTES)}")
        return text.decode("utf-8", "replace")

    try:
        return with_retries(policy, cancellation, request)
    except RequestRejected as failure:
        if failure.status == 404:
            return None
        raise
