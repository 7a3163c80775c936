"""The parameters that every operation accepts, and their effect on requests."""

from __future__ import annotations

from typing import Any

import pytest

from operations.compiling import compiled, refused, requests
from pacenote.model.work import NO_RETRY, CallSequence, RetryPolicy
from pacenote.operations.request import build_path, encode_path, scalar_text, with_query


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({}, "/_refresh"),
        ({"request-params": {"a": True, "b": False, "c": 1.5, "d": None}}, "/_refresh?a=true&b=false&c=1.5"),
        ({"request-params": {"a": ["x", "y z"]}}, "/_refresh?a=x,y%20z"),
        ({"request-params": {"a&b": "c=d/é"}}, "/_refresh?a%26b=c%3Dd%2F%C3%A9"),
    ],
)
def test_request_params_become_the_query(params: dict[str, Any], path: str) -> None:
    assert requests("refresh", **params)[0].path == path


def test_headers_opaque_id_and_timeout_are_set() -> None:
    (request,) = requests("refresh", headers={"X-A": "1", "n": 2}, opaque_id="me", request_timeout=1.5)
    assert request.headers == (("x-a", "1"), ("n", "2"), ("x-opaque-id", "me"))
    assert request.timeout_ms == 1500


def test_common_problems_are_reported_together() -> None:
    problems = refused("refresh", headers={"a": "x\r\ny"}, request_params={"q": {}}, request_timeout=0)
    assert problems == (
        'operations[0].headers.a is "x\\r\\ny", but must be a string without line breaks',
        "operations[0].request-timeout is 0, but must be more than 0",
        "operations[0].request-params.q is {}, but must be a value or a list of values",
    )


@pytest.mark.parametrize(
    ("params", "retry"),
    [
        ({}, RetryPolicy(0, False, 0.5, True, False)),
        (
            {"retries": 3, "retry-wait-period": 2, "retry-on-timeout": False},
            RetryPolicy(3, False, 2.0, False, False),
        ),
        ({"retry-on-error": True}, RetryPolicy(0, False, 0.5, True, True)),
        ({"retry-until-success": True}, RetryPolicy(0, True, 0.5, True, True)),
        ({"retry-wait-period": 0}, RetryPolicy(0, False, 0.0, True, False)),
        (
            {"retry-until-success": True, "retry-time-period": 30},
            RetryPolicy(0, True, 0.5, True, True, limit_s=30.0),
        ),
    ],
)
def test_retry_parameters_become_a_retry_policy(params: dict[str, Any], retry: RetryPolicy) -> None:
    work = compiled("refresh", **params).work
    assert isinstance(work, CallSequence)
    assert work.retry == retry


@pytest.mark.parametrize("kind", ["search", "force-merge", "raw-request"])
def test_some_types_are_never_retried(kind: str) -> None:
    work = compiled(kind, body={}, path="/", retries=3).work
    assert isinstance(work, CallSequence)
    assert work.retry == NO_RETRY


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        (("a,b*", "_search"), "/a,b*/_search"),
        (("", "_search"), "/_search"),
        (("<logs-{now/d}>",), "/%3Clogs-%7Bnow%2Fd%7D%3E"),
        (("remote:logs-*,-logs-1",), "/remote:logs-*,-logs-1"),
        (("a?b#c d",), "/a%3Fb%23c%20d"),
        (("bücher",), "/b%C3%BCcher"),
        ((), "/"),
    ],
)
def test_path_segments_are_encoded(parts: tuple[str, ...], path: str) -> None:
    assert build_path(*parts) == path


def test_characters_that_are_already_encoded_are_kept() -> None:
    assert encode_path("/a%20b/_search?q=x:y z") == "/a%20b/_search?q=x:y%20z"
    assert encode_path("/<a>?b=c?d") == "/%3Ca%3E?b=c?d"


def test_parameters_are_appended_to_an_existing_query() -> None:
    assert with_query("/p", {}) == "/p"
    assert with_query("/p?a=1", {"b": "2"}) == "/p?a=1&b=2"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1.0, "1.0"), (True, "true"), (None, "null"), ("x", "x"), ("0", "0")]
)
def test_scalars_are_formatted_as_in_the_driver(value: object, text: str) -> None:
    assert scalar_text(value) == text
