"""Builds requests: paths, query strings, bodies, and the parameters that every operation accepts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from msgspec import Struct, field

from pacenote.model.field_reader import FieldReader
from pacenote.model.problems import Problems, preview
from pacenote.model.work import RETRY_LIMIT_S, Check, CheckStatus, Headers, Request, RetryPolicy

JSON = "application/json"
"""Media type of bodies, which every version of both engines accepts."""

NDJSON = "application/x-ndjson"
"""Media type of bulk bodies."""

METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD")
"""Methods of the requests that a track can write."""

# These are not encoded: commas separate names, wildcards select them, colons follow remote clusters.
_SAFE_IN_SEGMENT = ",*:"
_ANY_RESPONSE = CheckStatus()

_SAFE_IN_PATH = "/%:@!$&'()*+,;=-._~"

# The SQL plug-in of OpenSearch calls its own form of JSON jdbc.
_JSON_FORMATS = ("", "json", "jdbc")


class CommonParams(Struct, frozen=True):
    """The parameters that all operations accept, in the form that requests need."""

    query: Mapping[str, str] = field(default_factory=dict)
    """Query parameters."""

    headers: Headers = ()
    """Headers."""

    timeout_ms: int | None = None
    """Timeout in milliseconds; None means that of the race."""

    ignore: tuple[int, ...] = ()
    """HTTP statuses that are not failures."""

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: str | None = None,
        check: Check = _ANY_RESPONSE,
    ) -> Request:
        """Returns a request with these parameters; keys of `query` override keys of `request-params`."""
        headers = self.headers if body is None else with_content_type(self.headers, JSON)
        return Request(
            method=method,
            path=with_query(path, {**self.query, **_as_text(query or {})}),
            headers=headers,
            body=body,
            check=check,
            ignore=self.ignore,
            timeout_ms=self.timeout_ms,
        )


_NO_PARAMS = CommonParams()
_COMMON_KEYS = ("request-params", "headers", "opaque-id", "request-timeout")


def read_common(params: FieldReader) -> CommonParams:
    """Reads `request-params`, `headers`, `opaque-id` and `request-timeout` (seconds).

    `ignore` in `request-params` lists statuses that are not failures; it is not part of the query.
    """
    if all(params.data.get(key) in (None, {}) for key in _COMMON_KEYS):
        return _NO_PARAMS
    headers = []
    for name, value in params.mapping("headers").items():
        if isinstance(value, str | int | float) and "\n" not in str(value) and "\r" not in str(value):
            headers.append((name.lower(), str(value)))
        else:
            params.child("headers").problem(
                name, f"is {preview(value)}, but must be a string without line breaks"
            )
    if params.has("opaque-id"):
        headers.append(("x-opaque-id", params.text("opaque-id")))
    timeout = params.number("request-timeout", above=True)
    return CommonParams(
        query=_read_query(params),
        headers=tuple(headers),
        timeout_ms=None if timeout is None else max(1, round(timeout * 1000)),
        ignore=read_statuses(params.child("request-params"), "ignore"),
    )


def require_json(params: FieldReader, common: CommonParams) -> None:
    """Reports a problem if an operation asks for responses in a format that the driver cannot read."""
    value = common.query.get("format", "")
    if value.lower() not in _JSON_FORMATS:
        text = f"is {preview(value)}, but the driver must read the response, which must be JSON"
        params.child("request-params").problem("format", text)


def read_statuses(params: FieldReader, key: str) -> tuple[int, ...]:
    """Reads one HTTP status, or a list of them."""
    value = params.data.get(key)
    if value is None:
        return ()
    statuses = value if isinstance(value, list | tuple) else [value]
    if all(isinstance(status, int) and 100 <= status <= 599 for status in statuses):
        return tuple(statuses)
    params.problem(key, f"is {preview(value)}, but must be an HTTP status or a list of them")
    return ()


def read_body(params: FieldReader, *, required: bool = True) -> str | None:
    """Returns `body` as it is sent. In the track, it is an object, or a string with JSON."""
    body = params.data.get("body")
    if body is None:
        if required:
            params.problem("body", "is missing")
        return None
    if isinstance(body, dict | str | bytes):
        return json_body(body)
    params.problem("body", "must be an object")
    return None


def check_json(params: FieldReader, key: str) -> None:
    """Reports a problem if JSON cannot represent a value, which a parameter source may have created."""
    try:
        json_body(params.data.get(key))
    except (RecursionError, TypeError, ValueError) as error:
        params.problem(key, f"cannot be written as JSON: {error}")


def read_options(params: FieldReader, *keys: str) -> dict[str, Any]:
    """Reads parameters that the query contains under the same names, with underscores for dashes."""
    options: dict[str, Any] = {}
    for key in keys:
        value = params.data.get(key)
        if isinstance(value, dict | list):
            params.problem(key, f"is {preview(value)}, but must be a single value")
        elif value is not None:
            options[key.replace("-", "_")] = value
    return options


def common_params(params: Mapping[str, Any]) -> CommonParams:
    """Returns the common parameters of an operation whose parameters were validated when it was compiled."""
    return read_common(FieldReader(params, (), Problems()))


def seconds_param(params: Mapping[str, Any], key: str, default: float) -> float:
    """Returns a time in seconds from the parameters of a compiled operation."""
    return _or_default(FieldReader(params, (), Problems()).number(key), default)


def read_retry(params: FieldReader, *, until_success: bool = False) -> RetryPolicy:
    """Reads the retry parameters of the types that Rally retries; `until_success` is the default of
    `retry-until-success`.
    """
    until_success = params.flag("retry-until-success", until_success)
    return RetryPolicy(
        retries=params.integer("retries", 0) or 0,
        until_success=until_success,
        wait_s=_or_default(params.number("retry-wait-period"), 0.5),
        on_timeout=params.flag("retry-on-timeout", True),
        on_unsuccess=until_success or params.flag("retry-on-error", False),
        limit_s=_or_default(params.number("retry-time-period"), RETRY_LIMIT_S),
    )


def _or_default(value: float | None, default: float) -> float:
    return default if value is None else value


@lru_cache(maxsize=1024)
def build_path(*parts: str) -> str:
    """Returns a path of percent-encoded segments; commas and wildcards are kept, empty segments omitted."""
    return "".join(f"/{quote(part, safe=_SAFE_IN_SEGMENT)}" for part in parts if part) or "/"


def encode_path(path: str) -> str:
    """Encodes only those characters of a path that a request line cannot contain."""
    bare, mark, query = path.partition("?")
    return quote(bare, safe=_SAFE_IN_PATH) + mark + quote(query, safe=_SAFE_IN_PATH + "?")


def with_query(path: str, query: Mapping[str, str]) -> str:
    """Appends a query string to a path, which may already have one."""
    if not query:
        return path
    text = "&".join(f"{quote(key, safe='')}={quote(value, safe=',*:.')}" for key, value in query.items())
    return f"{path}{'&' if '?' in path else '?'}{text}"


def with_content_type(headers: Headers, media_type: str) -> Headers:
    """Returns the headers, with a content type added unless they already have one."""
    if not headers:
        return (("content-type", media_type),)
    if any(name == "content-type" for name, _ in headers):
        return headers
    return (*headers, ("content-type", media_type))


def encode_json(value: object) -> str:
    """Returns a value as compact JSON. Raises `TypeError` for a value that JSON cannot represent."""
    return _encode(value)


def json_body(value: object) -> str:
    """Returns a JSON body. Strings are not changed, because a track may contain a body as a string."""
    if isinstance(value, str):
        return value
    return value.decode() if isinstance(value, bytes) else encode_json(value)


def to_json_type(value: Any) -> Any:
    """Converts values of other types that parameter sources put into bodies, as the engines' clients do.

    These are times, decimals, and numpy arrays and numbers. They are recognized by their methods, so their
    modules do not have to be imported.
    """
    for method in ("isoformat", "tolist", "__float__"):
        if hasattr(value, method):
            return getattr(value, method)()
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, set | frozenset):
        return list(value)
    if type(value).__name__ == "UUID":
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=to_json_type).encode


def scalar_text(value: object) -> str:
    """Returns a scalar in the form that the driver compares: strings without quotes, other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def join_names(names: Iterable[str]) -> str:
    """Joins index names into one path segment."""
    return ",".join(name for name in names if name)


def _read_query(params: FieldReader) -> dict[str, str]:
    query = {}
    for key, value in params.mapping("request-params").items():
        if value is None or key == "ignore":
            continue
        if isinstance(value, dict):
            params.child("request-params").problem(
                key, f"is {preview(value)}, but must be a value or a list of values"
            )
            continue
        query[key] = _value_text(value)
    return query


def _as_text(query: Mapping[str, Any]) -> dict[str, str]:
    return {key: _value_text(value) for key, value in query.items() if value is not None}


def _value_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(_value_text(item) for item in value)
    return scalar_text(value)
