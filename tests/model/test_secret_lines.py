"""Lines are redacted as texts are, although most are not searched."""

from __future__ import annotations

import random
import re

import pytest

from pacenote.model import secret_forms as secret_forms_module
from pacenote.model import secrets
from pacenote.model.secret_forms import secret_forms
from pacenote.model.secret_lines import SecretLines
from pacenote.model.secrets import is_secret, redact_urls

SECRETS = frozenset({"hunter2hunter2", "pä\u00dfword/12", "two words 34", "\udcff1234abc"})

PIECES = (
    *sorted(SECRETS),
    *("aHVudGVyMmh1bnRlcjI", "p%C3%A4%C3%9Fword%2F12", "hunter2hu", "two words", "...", "\u2026", "\ufffd"),
    *("Basic", "BEARER", "Api\u212aey", "ba\u017f\u0131c", "YWRtaW46MTIzNDU2Nzg=", "abc123DEF456"),
    *(
        "password",
        "apiKey",
        "x-auth",
        "PWD",
        "client.secret",
        "signature",
        "sas",
        "creds",
        "connectionString",
    ),
    *("http://", "https://me:0123456789@host/", "?code=", "&key=", "0123456789abcdefg", "//"),
    *(":", "=", " ", "  ", ", ", "(", ")", "[", "]", "{", "}", '"', "'", "\\", "--", "-D", "@", "\0", "\r"),
    *("GC(0) Pause Young", "[0.1s][info][gc]", "24M->3M(256M)", "word", "\udc80", "\u00e9", "1"),
)


def former(line: str, known: frozenset[str]) -> str:
    """Applies each expression to a whole line."""
    text = secrets._AUTHORIZATION.sub(r"\1\2<hidden>", line)
    if known:
        forms = sorted(secret_forms(known).search.texts, key=len, reverse=True)
        text = re.sub("|".join(map(re.escape, forms)), "<hidden>", text)
        parts = secret_forms_module._ELLIPSIS.split(text)
        for index in range(0, len(parts) - 1, 2):
            ends = range(min(len(parts[index]), 1000), 3, -1)
            leaked = next(
                (end for end in ends if any(form.startswith(parts[index][-end:]) for form in forms)), 0
            )
            if leaked:
                parts[index] = f"{parts[index][:-leaked]}<hidden>"
        text = "".join(parts)
    text = secrets._AFTER_BLANK.sub(secrets._redact_after_blank, text)
    return redact_urls(secrets._redact_named(text))


@pytest.mark.parametrize("known", [SECRETS, frozenset[str]()], ids=["secrets", "none"])
def test_lines_are_redacted_like_texts(known: frozenset[str]) -> None:
    """A line of plain words is a text in which only known secrets are redacted; see `redact`."""
    source, lines = random.Random(7), SecretLines(known)
    hidden = 0
    for _ in range(100):
        text = [f"#{''.join(source.choices(PIECES, k=source.randint(0, 8)))}\n" for _ in range(20)]
        expected = [former(line, known) for line in text]
        data = "".join(text).encode("utf-8", "surrogateescape")
        redacted = lines.redact(data).data.decode("utf-8", "surrogateescape")
        # Bytes that are not UTF-8 may become UTF-8 beside others.
        text = data.decode("utf-8", "surrogateescape").splitlines(keepends=True)
        expected = [former(line, known) for line in "".join(text).split("\n")]
        assert redacted.split("\n") == expected
        hidden += redacted.count("<hidden>")
    assert hidden > 150


def test_ordinary_lines_are_not_searched() -> None:
    lines = SecretLines(SECRETS)
    text = b"[2026-01-01T00:00:00.000+0000][0.5s][info][gc] GC(0) Pause Young (Normal) 24M->3M(256M) 3.1ms\n"
    assert lines.redact(text * 100).searched == 0
    assert lines.redact(bytes(1000)).searched == 0
    redacted = lines.redact(text * 100 + b"password=abc12345\n" + text)
    assert redacted.data == text * 100 + b"password=<hidden>\n" + text
    assert 0 < redacted.searched < 100


def test_every_secret_name_has_a_mark() -> None:
    """Names are made of all words that the rules for names know, and of others."""
    rules = (secrets._SECRET_WORDS, secrets._SECRET_LAST_WORDS, secrets._SECRET_PARTS, secrets._KEY_KINDS)
    words = [*(word for rule in rules for word in rule), "key", "keys", "secrets", "token", "tokens"]
    words += ["connection", "string", "max", "user", "type"]
    names = [separator.join((one, other)) for one in words for other in words for separator in ("_", "", ".")]
    names += words
    hidden = [name for name in names if is_secret(name)]
    assert len(hidden) > 1000
    assert [name for name in hidden if not any(part in name.lower() for part in secrets.NAME_PARTS)] == []


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_each_line_of_a_secret_with_several_lines_is_redacted(newline: str) -> None:
    lines = [f"{number}MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{number}" for number in range(3)]
    key = newline.join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
    text = f"[info] the key is{newline}{key}{newline}[info] 7 ms".encode()
    redacted = SecretLines({key}).redact(text).data.decode()
    assert not any(line in redacted for line in lines)
    assert redacted.endswith("[info] 7 ms")


def test_a_secret_within_the_lines_of_another_one_is_redacted() -> None:
    secrets_ = {"abcdefgh12\nijklmnop34", "ijklmnop34"}
    redacted = SecretLines(secrets_).redact(b"x abcdefgh12\nijklmnop34 y\n").data
    assert b"ijklmnop34" not in redacted
