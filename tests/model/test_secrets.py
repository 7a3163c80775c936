"""Secrets in parameters are found, and redacted in every form."""

from __future__ import annotations

import pytest

from pacenote.model.secrets import is_secret, redact, redact_params, secret_values


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        ("secret_thing", True),
        ("s3.client.default.secret_key", True),
        ("s3.client.default.access_key", True),
        ("es_password", True),
        ("passwords", True),
        ("api-key", True),
        ("auth_token", True),
        ("accessToken", True),
        ("tokenizer", False),
        ("secretary", False),
        ("bulk_size", False),
        ("key", False),
    ],
)
def test_secret_keys_are_recognized_by_their_names(key: str, secret: bool) -> None:
    assert is_secret(key) is secret


def test_secret_values_are_found_at_any_depth() -> None:
    params = {
        "secret_a": "hunter2",
        "secret_short": "abc",
        "secret_pin": 123456,
        "secret_flag": True,
        "list": [{"password": "in-list"}, "open"],
        "secret_map": {"user": ["someone"]},
        "open": "value",
    }
    assert secret_values(params) == {"hunter2", "123456", "in-list", "someone"}


def test_secrets_within_lists_are_redacted() -> None:
    params = {"hosts": [{"name": "a", "secret_x": 1}, [{"my_token": "t"}]], "s3.secret_key": "k", "n": 1}
    assert redact_params(params) == {
        "hosts": [{"name": "a", "secret_x": "<hidden>"}, [{"my_token": "<hidden>"}]],
        "s3.secret_key": "<hidden>",
        "n": 1,
    }


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ('headers is "hunter2 x"', 'headers is "<hidden>"'),
        ("/_search?q=hunter2%20x", "/_search?q=<hidden>"),
        ('is "abc hunter...', 'is "abc <hidden>...'),
        ("wait ... and hunter", "wait ... and hunter"),
        ("nothing", "nothing"),
    ],
)
def test_secrets_in_text_are_redacted(text: str, hidden: str) -> None:
    assert redact(text, {"hunter2 x"}) == hidden


def test_the_longest_secret_is_redacted_first() -> None:
    assert redact("passpass1", ["pass", "passpass1"]) == "<hidden>"


def test_text_without_secrets_is_unchanged() -> None:
    assert redact("text", ()) == "text"
