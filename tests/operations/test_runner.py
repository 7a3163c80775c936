"""Retries of operations that run in Python."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from pacenote.model.work import RetryPolicy
from pacenote.operations.runner import (
    BuiltinResult,
    ConnectionFailed,
    DriverClient,
    HttpStatusError,
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
