"""The details of an operation that a runner returned, as they are kept with its sample."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Mapping
from typing import Any

from pacenote.model.secrets import redact, redact_params, redact_urls, redact_value
from pacenote.operations.request import to_json_type

_IN_OTHER_COLUMNS = frozenset({"success", "error-type", "error-description", "http-status"})
"""Keys of results that describe the outcome, which the sample has in other columns."""

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=to_json_type).encode


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


def _public(details: Mapping[str, Any], secrets: Collection[str]) -> Any:
    return _redact_names(redact_value(redact_params(details), secrets), secrets)


def _redact_names(value: Any, secrets: Collection[str]) -> Any:
    """Redacts secrets in the names of values. Of names that become equal, the last one counts."""
    if isinstance(value, Mapping):
        return {
            redact_urls(redact(str(name), secrets)): _redact_names(item, secrets)
            for name, item in value.items()
        }
    return [_redact_names(item, secrets) for item in value] if isinstance(value, list | tuple) else value


def _with_json(item: tuple[str, Any]) -> tuple[str, Any]:
    key, value = item
    try:
        _encode(value)
    except (TypeError, ValueError, RecursionError):
        # The value is an object of the plug-in, whose code may fail.
        with contextlib.suppress(Exception):
            return key, str(value)
        return key, f"a value of type {type(value).__name__}"
    return item
