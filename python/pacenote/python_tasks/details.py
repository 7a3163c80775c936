"""The details of an operation that a runner returned, as they are kept with its sample."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Mapping
from typing import Any

from pacenote.model.secrets import REDACTED, is_secret, is_secret_number, redact, redact_urls
from pacenote.operations.request import to_json_type

_IN_OTHER_COLUMNS = frozenset({"success", "error-type", "error-description", "http-status"})
"""Keys of results that describe the outcome, which the sample has in other columns."""

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def details_json(returned: Mapping[str, Any], secrets: Collection[str]) -> str | None:
    """Returns what a runner returned besides its work and outcome as the text of a JSON object, or None if it
    returned nothing else. Secrets are redacted; values that JSON cannot represent are written as text.
    """
    details = {str(key): value for key, value in returned.items() if key not in _IN_OTHER_COLUMNS}
    if not details:
        return None
    try:
        return _encode(_public(details, secrets))
    except (TypeError, ValueError, RecursionError):
        return _encode(_public(dict(map(_with_json, details.items())), secrets))


def _public(value: Any, secrets: Collection[str]) -> Any:
    """Returns a value as JSON has it, without secrets. Of names that become equal, the last one counts."""
    if isinstance(value, str):
        return redact_urls(redact(value, secrets))
    if isinstance(value, bool | None):
        return value
    if isinstance(value, int | float):
        return REDACTED if is_secret_number(value, secrets) else value
    if isinstance(value, Mapping):
        # A secret value that is not among the known secrets has only its name.
        return {
            redact_urls(redact(str(name), secrets)): REDACTED
            if is_secret(str(name))
            else _public(item, secrets)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_public(item, secrets) for item in value]
    return _public(to_json_type(value), secrets)


def _with_json(item: tuple[str, Any]) -> tuple[str, Any]:
    key, value = item
    try:
        _encode(_public(value, ()))
    except (TypeError, ValueError, RecursionError):
        # The value is an object of the plug-in, whose code may fail.
        with contextlib.suppress(Exception):
            return key, str(value)
        return key, f"a value of type {type(value).__name__}"
    return item
