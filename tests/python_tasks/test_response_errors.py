"""The error in the body of a response is found in every body."""

from __future__ import annotations

import pytest

from pacenote.operations.runner import DriverResponse, UnexpectedResponse
from pacenote.python_tasks.response_errors import parse_response_error

DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000


def test_a_body_that_is_too_deep_to_parse_is_no_json() -> None:
    assert parse_response_error(DEEP).reason.startswith('{"a":{"a":')
    with pytest.raises(UnexpectedResponse, match="the response is not JSON"):
        DriverResponse(200, (), DEEP).json()
