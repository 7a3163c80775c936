"""The forms in which texts may contain a secret: as it is, or encoded, as for JSON, URLs or in base64."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import quote

from pacenote.model.printable import printable, whole_line
from pacenote.model.text_search import TextSearch

MIN_LENGTH = 4
"""Minimum length of a secret that is redacted in text: shorter values occur in other text by chance."""

_MIN_LINE_LENGTH = 16
"""Minimum length of a line of a secret that is redacted alone."""

_MIN_BASE64_LENGTH = 8
"""Minimum number of bytes of a secret that is redacted within a text in base64."""

_SAFE_SETS = ("", "/", ",*:", ",*:.", "/%:@!$&'()*+,;=-._~")
"""Characters that URLs of operations and templates may contain without percent-encoding."""

ELLIPSES = ("...", "…")
"""What ends a value that was shortened."""

_ELLIPSIS = re.compile(r"((?<!\ufffd)\ufffd*+(?:\.\.\.|…))")
"""The end of a value that was shortened for a message, perhaps within a character."""

_PERCENT_CODE = re.compile("%[0-9A-F]{2}")
"""A percent-encoded byte."""


class SecretForms:
    """The forms of secrets, which are found in a text in a time that hardly depends on how many they are."""

    def __init__(self, secrets: frozenset[str]) -> None:
        """Encodes secrets in all ways."""
        self.search = TextSearch(form for secret in secrets for form in _encoded_forms(secret))
        """Finds the forms."""

    def replace(self, text: str, replacement: str) -> str:
        """Replaces all forms in a text, and a beginning of one directly before an ellipsis."""
        text = self.search.replace(text, replacement)
        return self._replace_shortened(text, replacement) if any(map(text.__contains__, ELLIPSES)) else text

    def _replace_shortened(self, text: str, replacement: str) -> str:
        parts = _ELLIPSIS.split(text)
        # Texts and ellipses alternate.
        for index in range(0, len(parts) - 1, 2):
            part = parts[index]
            cut = self.search.cut_at(part)
            parts[index] = f"{part[:cut]}{replacement}" if cut < len(part) else part
        return "".join(parts)


@lru_cache(maxsize=8)
def secret_forms(secrets: frozenset[str]) -> SecretForms:
    """Returns the forms of secrets."""
    return SecretForms(secrets)


def _encoded_forms(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    # JSON text may be encoded within JSON text, as in a message about a body.
    yield json.dumps(json.dumps(secret)[1:-1])[1:-1]
    yield from (form[1:-1] for form in (repr(secret), ascii(secret)))
    yield repr(secret.encode("utf-8", "surrogatepass"))[2:-1]
    yield html.escape(secret)
    yield html.escape(secret, quote=False)
    yield from _lines(secret)
    # A URL may be encoded within a URL, as in the log of a proxy.
    quoted = (_quoted(secret, safe) for safe in _SAFE_SETS)
    twice = (quote(_quoted(secret, safe), safe=safe) for safe in ("", "/"))
    for form in (*quoted, _quoted(secret, " ").replace(" ", "+"), *twice):
        yield form
        yield _PERCENT_CODE.sub(lambda code: code[0].lower(), form)
    for form in _base64_forms(secret.encode("utf-8", "surrogatepass")):
        yield form
        yield form.replace("+", "-").replace("/", "_")
        yield quote(form, safe="")


def _quoted(secret: str, safe: str) -> str:
    return quote(secret, safe=safe, errors="surrogatepass")


def _lines(secret: str) -> Iterator[str]:
    """Yields a secret as messages in one line contain it, and the lines of one with several, such as a
    private key.
    """
    yield printable(secret)
    if len(line := whole_line(secret)) >= MIN_LENGTH:
        yield line
    yield from (line for line in secret.splitlines() if len(line) >= _MIN_LINE_LENGTH)


def _base64_forms(secret: bytes) -> Iterator[str]:
    """Yields the characters that a secret determines in the base64 form of a longer text, such as
    `user:password`, for each position of its first byte among three.
    """
    if len(secret) < _MIN_BASE64_LENGTH:
        return
    for before in range(3):
        bits = 8 * (before + len(secret))
        encoded = base64.b64encode(bytes(before) + secret).decode("ascii")
        yield encoded[-(-8 * before // 6) : bits // 6]
