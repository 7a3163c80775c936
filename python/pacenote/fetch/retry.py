"""Repeats requests after temporary failures, and reads small files with such retries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from pacenote.fetch.cancellation import Cancellation
from pacenote.fetch.http_file import HttpFile, RequestRejected, TransientError
from pacenote.fetch.options import DownloadRetryPolicy
from pacenote.net.failures import describe_failure

T = TypeVar("T")


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


def read_text(file: HttpFile, policy: DownloadRetryPolicy, cancellation: Cancellation) -> str | None:
    """Returns the text of a small file, or None if the server does not have it.

    Raises TransientError and RequestRejected.
    """
    import urllib3

    def request() -> str:
        response = file.get().body
        with cancellation.reading(response):
            try:
                return response.read().decode("utf-8", "replace")
            except (urllib3.exceptions.HTTPError, ValueError) as failure:
                # ValueError: shut down by `cancel`.
                raise TransientError(describe_failure(failure).reason) from None

    try:
        return with_retries(policy, cancellation, request)
    except RequestRejected as failure:
        if failure.status == 404:
            return None
        raise
