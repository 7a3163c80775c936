"""The error in the body of a response is found in every body."""

from __future__ import annotations

import json

import pytest

from pacenote.model import decoding
from pacenote.operations.runner import DriverResponse, UnexpectedResponse
from pacenote.python_tasks.response_errors import ResponseError, parse_response_error

DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000


def test_a_body_that_is_too_deep_to_parse_is_no_json() -> None:
    assert parse_response_error(DEEP).reason.startswith('{"a":{"a":')
    with pytest.raises(UnexpectedResponse, match="the response is not JSON"):
        DriverResponse(200, (), DEEP).json()


def test_a_body_that_is_too_large_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MAX_REPLY_BYTES", 1 << 20)
    body = json.dumps({"error": {"type": "x", "reason": "r" * (1 << 20)}}).encode()
    assert parse_response_error(body).kind == ""
    with pytest.raises(UnexpectedResponse, match="the response is larger than 1 MiB"):
        DriverResponse(200, (), body).json()


@pytest.mark.parametrize(
    "failure",
    [
        {"index": "a", "cause": {"type": "conflict", "reason": "it has\nchanged"}, "status": 409},
        {"shard": 0, "reason": {"type": "conflict", "reason": "it has changed"}},
    ],
)
def test_the_first_failure_is_the_error_of_a_body_that_names_no_other(failure: dict[str, object]) -> None:
    body = {"took": 1, "deleted": 0, "failures": [failure, {}]}
    assert parse_response_error(json.dumps(body).encode()) == ResponseError("conflict", "it has changed")
    body["error"] = {"type": "own", "reason": "its own"}
    assert parse_response_error(json.dumps(body).encode()).reason == "its own"


@pytest.mark.parametrize("failures", [b"[]", b"[3]", b"[{}]", b"{}", b'[{"cause": null}]', b"null"])
def test_failures_without_a_cause_are_shown_as_they_are(failures: bytes) -> None:
    body = b'{"failures": ' + failures + b"}"
    assert parse_response_error(body) == ResponseError("", body.decode())
