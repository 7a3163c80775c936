"""Retries of operations that run in Python."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from pacenote.model.work import RetryPolicy
from pacenote.operations.runner import (
    BuiltinResult,
    ConnectionFailed,
    DriverClient,
    HttpStatusError,
    RunnerError,
    run_with_retry,
)

NO_RESPONSE = 0


def attempts_until_the_end(statuses: Iterator[int], *, until_success: bool) -> tuple[int, int | None]:
    """Runs an operation whose attempts fail with these statuses, then succeed. Returns the number of attempts
    and the status with which the operation failed, or None.
    """
    attempts = 0

    async def run(client: DriverClient, params: Any, client_state: dict[str, Any]) -> BuiltinResult:
        nonlocal attempts
        attempts += 1
        if (status := next(statuses, 200)) == NO_RESPONSE:
            raise ConnectionFailed("reset", "reset")
        if status != 200:
            raise HttpStatusError(status, b"", "busy")
        return BuiltinResult()

    retry = RetryPolicy(0, until_success, 0.0, on_timeout=True, on_unsuccess=until_success)
    client: Any = None
    try:
        asyncio.run(run_with_retry(run, retry, client, {}, {}))
    except HttpStatusError as error:
        return attempts, error.status
    return attempts, None


@pytest.mark.parametrize(
    ("statuses", "until_success", "ended"),
    [
        ([429, 502, 503, 504, 503, 503, 503, 503, 503, 503], True, (11, None)),
        ([503] * 12, True, (11, 503)),
        # Another failure is between them, so they are not in a row.
        ([503] * 10 + [408] + [503] * 10, True, (22, None)),
        ([503] * 10 + [NO_RESPONSE] + [503] * 10, True, (22, None)),
        ([500], True, (1, 500)),
        ([503], False, (1, 503)),
    ],
)
def test_an_operation_that_is_retried_until_it_succeeds_ignores_ten_busy_replies_in_a_row(
    statuses, until_success, ended
):
    assert attempts_until_the_end(iter(statuses), until_success=until_success) == ended


def attempts_of(outcome: BuiltinResult | Exception, retry: RetryPolicy) -> tuple[int, BuiltinResult | str]:
    """Runs an operation that always ends with this outcome. Returns the number of its attempts, and its
    result or the message of its error.
    """
    attempts = 0

    async def run(client: DriverClient, params: Any, client_state: dict[str, Any]) -> BuiltinResult:
        nonlocal attempts
        attempts += 1
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    client: Any = None
    try:
        result = asyncio.run(run_with_retry(run, retry, client, {}, {}))
    except RunnerError as error:
        return attempts, error.message
    return attempts, result


def test_a_reply_that_is_not_http_is_not_tried_again():
    retry = RetryPolicy(2, until_success=False, wait_s=0.0, on_timeout=True, on_unsuccess=True)
    assert attempts_of(ConnectionFailed("not HTTP", "protocol"), retry) == (1, "not HTTP")
    assert attempts_of(ConnectionFailed("refused"), retry) == (3, "refused")


def test_an_operation_that_is_given_up_says_after_how_many_attempts():
    # No attempt begins later than at once.
    retry = RetryPolicy(0, True, 0.001, on_timeout=True, on_unsuccess=True, limit_s=0.0)
    given_up = " (given up after 1 attempt in 0 s)"
    assert attempts_of(ConnectionFailed("refused"), retry) == (1, f"refused{given_up}")
    assert attempts_of(HttpStatusError(503, b"", "busy"), retry) == (1, f"HTTP status 503: busy{given_up}")
    assert attempts_of(HttpStatusError(400, b"", "bad"), retry) == (1, "HTTP status 400: bad")
    red = BuiltinResult(success=False, reason="red")
    assert attempts_of(red, retry) == (1, replace(red, reason=f"red{given_up}"))
    count = RetryPolicy(1, False, 0.0, on_timeout=True, on_unsuccess=True)
    assert attempts_of(red, count) == (2, red)
