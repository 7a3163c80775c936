"""Compiles one bulk request from a parameter source, given as the dictionary of Rally's bulk runner."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from msgspec import Struct

from pacenote.errors import TrackError
from pacenote.model.decoding import parse_json
from pacenote.model.field_reader import FieldReader
from pacenote.model.problems import Problems, describe_value, preview
from pacenote.model.work import SuppliedBulk
from pacenote.operations.request import (
    NDJSON,
    build_path,
    encode_json,
    read_common,
    with_content_type,
    with_query,
)

_REFRESH = ("true", "wait_for", "false")
_MAX_DOCUMENTS = 2**53
_ACTIONS = ("index", "create", "update", "delete")


class InvalidSourceParams(TrackError):
    """A parameter source returned a value that cannot be run.

    The message continues a sentence that begins with the source, such as "returned nothing, but must return a
    dictionary of parameters".
    """


class CompiledBulk(Struct, frozen=True):
    """A supplied bulk request."""

    request: SuppliedBulk
    """The request without its body."""

    body: bytes
    """The lines of the body."""

    unit: str
    """The unit of work."""


def compile_supplied_bulk(params: Mapping[str, Any]) -> CompiledBulk:
    """Compiles the parameters of a bulk. Raises `InvalidSourceParams`."""
    size = params.get("bulk-size")
    # Some sources compute the size as a float: 1e3 means 1000.
    if not _is_count(size):
        raise InvalidSourceParams(
            f'returned {preview(size)} as "bulk-size", which must be a number of documents'
        )
    if "action-metadata-present" not in params:
        raise InvalidSourceParams('returned no "action-metadata-present", which must be true or false')
    unit = params.get("unit")
    if not isinstance(unit, str) or not unit:
        raise InvalidSourceParams(f'returned {preview(unit)} as "unit", which must be a word such as docs')
    body = _encode_body(params.get("body"))
    index = ""
    if not params["action-metadata-present"]:
        index = params.get("index") or ""
        if not isinstance(index, str) or not index:
            raise InvalidSourceParams(
                f'returned {preview(index)} as "index", which must name the index of the documents'
            )
        body = _with_action_lines(body)
    return CompiledBulk(_request(params, index, int(size)), body, unit)


def _is_count(size: object) -> TypeGuard[int | float]:
    """Returns whether a value is a number of documents. NaN and infinity are not within the limits."""
    if isinstance(size, bool) or not isinstance(size, int | float):
        return False
    return 0 <= size <= _MAX_DOCUMENTS and int(size) == size


def _request(params: Mapping[str, Any], index: str, documents: int) -> SuppliedBulk:
    problems = Problems()
    reader = FieldReader(params, (), problems)
    common, detailed = read_common(reader), reader.flag("detailed-results", False)
    query = dict(common.query)
    for key in ("timeout", "pipeline", "refresh"):
        value = params.get(key)
        if value is not None:
            query[key] = value if isinstance(value, str) else json.dumps(value)
    if query.get("refresh", "true") not in _REFRESH:
        text = f"is {preview(query['refresh'])}, but must be one of {', '.join(_REFRESH)}"
        problems.add(("refresh",), text)
    for problem in problems:
        raise InvalidSourceParams(f"returned invalid parameters: {problem}")
    path = with_query(build_path(index, "_bulk"), query)
    headers = with_content_type(common.headers, NDJSON)
    return SuppliedBulk(path, headers, documents, common.timeout_ms, detailed_results=detailed)


def _encode_body(body: object) -> bytes:
    """Returns the lines to send: text unchanged, and each item of a list as a line."""
    if isinstance(body, bytes | bytearray | memoryview):
        data = bytes(body)
    elif isinstance(body, str):
        data = body.encode()
    elif isinstance(body, list | tuple):
        data = b"".join(_encode_lines(body))
    else:
        raise InvalidSourceParams(
            f'returned {describe_value(body)} as "body", which must be bytes, a string, or a list of lines'
        )
    return data if data.endswith(b"\n") else data + b"\n"


def _encode_lines(items: Iterable[object]) -> Iterable[bytes]:
    for item in items:
        if isinstance(item, bytes):
            line = item
        elif isinstance(item, str):
            line = item.encode()
        elif isinstance(item, Mapping):
            line = encode_json(item).encode()
        else:
            described = describe_value(item)
            raise InvalidSourceParams(
                f'returned "body" with {described} in it; lines must be bytes, strings or dictionaries'
            )
        yield line if line.endswith(b"\n") else line + b"\n"


def _with_action_lines(body: bytes) -> bytes:
    """Inserts an action line before each document that has none. The index is in the path."""
    lines = body.splitlines(keepends=True)
    if lines and _is_action(lines[0]):
        return body
    return b"".join(b'{"index":{}}\n' + line for line in lines)


def _is_action(line: bytes) -> bool:
    try:
        value = parse_json(line)
    except ValueError:
        return False
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _ACTIONS
