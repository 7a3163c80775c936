"""Secrets among parameters: which they are, and how they are kept out of everything shown or stored."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from urllib.parse import quote

REDACTED = "<hidden>"
"""Stands where a secret would."""

_SHORTEST = 4
"""Shorter values stand in texts by chance and are no protection."""

_TELLING = ("password", "secret_key", "access_key", "api_key", "apikey")
_SAFE_SETS = ("", "/", ",*:", ",*:.", "/%:@!$&'()*+,;=-._~")
"""What URLs may leave unencoded, as operations and templates write them."""

_CUT = "..."
"""The end of a value that a message has shortened."""


def is_secret(key: str) -> bool:
    """Whether the value of such a parameter is secret; of a dotted key, the last part tells."""
    name = key.rpartition(".")[2].lower().replace("-", "_")
    if name.startswith("secret_") or any(word in name for word in _TELLING):
        return True
    return any(word.endswith("token") for word in name.split("_"))


def secret_values(params: Mapping[str, object]) -> frozenset[str]:
    """The secret values among parameters, at any depth, that are long enough to be told from other text."""
    return frozenset(value for value in _secrets(params, secret=False) if len(value) >= _SHORTEST)


def redact(text: str, secrets: Collection[str]) -> str:
    """The text with every secret replaced, also where it was encoded for JSON or a URL, or shortened."""
    forms = sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True)
    if not forms:
        return text
    hidden = re.sub("|".join(map(re.escape, forms)), REDACTED, text)
    return _hide_cut(hidden, forms) if _CUT in hidden else hidden


def redact_value(value: object, secrets: Collection[str]) -> object:
    """A JSON value with `redact` applied to every string in it; keys stay."""
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, Mapping):
        return {key: redact_value(item, secrets) for key, item in value.items()}
    return [redact_value(item, secrets) for item in value] if isinstance(value, list | tuple) else value


def redact_params(params: Mapping[str, object]) -> dict[str, object]:
    """The parameters with the value of every secret one replaced: neither shown nor stored."""
    return {name: REDACTED if is_secret(name) else _without(value) for name, value in params.items()}


def _without(value: object) -> object:
    if isinstance(value, Mapping):
        return redact_params(value)
    return [_without(item) for item in value] if isinstance(value, list | tuple) else value


def _secrets(value: object, *, secret: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _secrets(item, secret=secret or is_secret(str(key)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secrets(item, secret=secret)
    elif secret and isinstance(value, str | int | float) and not isinstance(value, bool):
        # A password of digits was read as a number.
        yield str(value)


def _forms(secret: str) -> Iterator[str]:
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    # A JSON text within a JSON text, as in a message about a body.
    yield json.dumps(json.dumps(secret)[1:-1])[1:-1]
    yield from (quote(secret, safe=safe) for safe in _SAFE_SETS)


def _hide_cut(text: str, forms: Collection[str]) -> str:
    """Hides beginnings of secrets right before the mark of a shortened value."""
    beginnings = {form[:end] for form in forms for end in range(_SHORTEST, len(form))}
    longest_first = sorted(beginnings, key=len, reverse=True)
    parts = text.split(_CUT)
    for at, part in enumerate(parts[:-1]):
        leaked = next((start for start in longest_first if part.endswith(start)), "")
        parts[at] = part.removesuffix(leaked) + REDACTED if leaked else part
    return _CUT.join(parts)
