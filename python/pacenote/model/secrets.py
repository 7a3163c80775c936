"""Finds secrets among parameters and redacts them in everything that is shown or stored."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import quote

REDACTED = "<hidden>"
"""Replaces a secret."""

_MIN_LENGTH = 4
"""Minimum length of a secret that is redacted in text: shorter values occur in other text by chance."""

_SECRET_WORDS = ("password", "secret_key", "access_key", "api_key", "apikey")
_SAFE_SETS = ("", "/", ",*:", ",*:.", "/%:@!$&'()*+,;=-._~")
"""Characters that URLs of operations and templates may contain without percent-encoding."""

_ELLIPSIS = "..."
"""The end of a value that was shortened for a message."""


def is_secret(key: str) -> bool:
    """Returns whether the value of a parameter is secret. For a dotted key, the last part determines it."""
    name = key.rpartition(".")[2].lower().replace("-", "_")
    if name.startswith("secret_") or any(word in name for word in _SECRET_WORDS):
        return True
    return any(word.endswith("token") for word in name.split("_"))


def secret_values(params: Mapping[str, object]) -> frozenset[str]:
    """Returns the secret values among parameters, at any depth, that are long enough to be redacted in
    text.
    """
    return frozenset(value for value in _secrets(params, secret=False) if len(value) >= _MIN_LENGTH)


def redact(text: str, secrets: Collection[str]) -> str:
    """Redacts every secret in a text, even if it is encoded for JSON or a URL, or shortened."""
    forms = sorted({form for secret in secrets for form in _encoded_forms(secret)}, key=len, reverse=True)
    if not forms:
        return text
    hidden = re.sub("|".join(map(re.escape, forms)), REDACTED, text)
    return _redact_shortened(hidden, forms) if _ELLIPSIS in hidden else hidden


def redact_value(value: object, secrets: Collection[str]) -> object:
    """Redacts secrets in every string of a JSON value; keys are not changed."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, Mapping):
        return {key: redact_value(item, secrets) for key, item in value.items()}
    return [redact_value(item, secrets) for item in value] if isinstance(value, list | tuple) else value


def redact_params(params: Mapping[str, object]) -> dict[str, object]:
    """Returns the parameters with the values of secret parameters redacted."""
    return {name: REDACTED if is_secret(name) else _redact_nested(value) for name, value in params.items()}


def _redact_nested(value: object) -> object:
    if isinstance(value, Mapping):
        return redact_params(value)
    return [_redact_nested(item) for item in value] if isinstance(value, list | tuple) else value


def _secrets(value: object, *, secret: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _secrets(item, secret=secret or is_secret(str(key)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secrets(item, secret=secret)
    elif secret and isinstance(value, str | int | float) and not isinstance(value, bool):
        # A password that consists of digits is parsed as a number.
        yield str(value)


def _encoded_forms(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    # JSON text may be encoded within JSON text, as in a message about a body.
    yield json.dumps(json.dumps(secret)[1:-1])[1:-1]
    yield from (quote(secret, safe=safe) for safe in _SAFE_SETS)


def _redact_shortened(text: str, forms: Collection[str]) -> str:
    """Redacts the beginning of a secret directly before the ellipsis of a shortened value."""
    beginnings = {form[:end] for form in forms for end in range(_MIN_LENGTH, len(form))}
    longest_first = sorted(beginnings, key=len, reverse=True)
    parts = text.split(_ELLIPSIS)
    for index, part in enumerate(parts[:-1]):
        leaked = next((start for start in longest_first if part.endswith(start)), "")
        parts[index] = part.removesuffix(leaked) + REDACTED if leaked else part
    return _ELLIPSIS.join(parts)
