"""Writes the documents of supplied operations as text, quickly: a parameter source supplies many of them.

What the model's own way of writing documents says, it says too; but only paths and bodies are written anew
each time, the rest is looked up.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from pacenote.model.work import (
    Call,
    CallSequence,
    Composite,
    CompositeItem,
    Headers,
    OperationStream,
    PagedRequest,
    Request,
    RetryPolicy,
    SuppliedBulk,
    document_data,
)

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def calls_json(calls: CallSequence) -> str:
    """The document of an operation that makes calls."""
    texts = ",".join(map(_call, calls.calls))
    return f'{{"kind":"calls","calls":[{texts}],"retry":{_retry(calls.retry)}}}'


def bulk_json(bulk: SuppliedBulk) -> str:
    """The document of a bulk."""
    timeout = "null" if bulk.timeout_ms is None else bulk.timeout_ms
    return (
        f'{{"kind":"bulk","path":{_encode(bulk.path)},"headers":{_headers(bulk.headers)},'
        f'"documents":{bulk.documents},"timeout_ms":{timeout}}}'
    )


def _call(call: Call) -> str:
    if isinstance(call, Request):
        return f'{{"kind":"request",{_request(call)}}}'
    if isinstance(call, PagedRequest):
        rest = _fields(("next", call.next), ("pages", call.pages), ("page_size", call.page_size))
        strict = "true" if call.strict else "false"
        return f'{{"kind":"pages","first":{{{_request(call.first)}}},{rest},"strict":{strict}}}'
    if isinstance(call, Composite):
        items = ",".join(map(_item, call.items))
        limit = "null" if call.max_connections is None else call.max_connections
        return f'{{"kind":"composite","items":[{items}],"max_connections":{limit}}}'
    return _encode(document_data(call))


def _item(item: CompositeItem) -> str:
    if isinstance(item, OperationStream):
        return f'{{"kind":"stream","items":[{",".join(map(_item, item.items))}]}}'
    name, kind = _encode(item.name), _encode(item.operation_type)
    calls = ",".join(map(_call, item.calls))
    return (
        f'{{"kind":"operation","name":{name},"operation_type":{kind},'
        f'"calls":[{calls}],"retry":{_retry(item.retry)}}}'
    )


def _request(call: Request) -> str:
    """The fields of a request."""
    if call.assertions:
        # Values of assertions that are equal may be written differently, so none is looked up.
        fields = document_data(call)
        del fields["kind"]
        return _encode(fields)[1:-1]
    rest = _rest(
        (call.check, call.ignore, call.weight, call.ignored_weight, call.timeout_ms),
        (call.poll, call.capture, call.placeholder),
    )
    body = "null" if call.body is None else _encode(call.body)
    return (
        f'"method":"{call.method}","path":{_encode(call.path)},'
        f'"headers":{_headers(call.headers)},"body":{body},{rest}'
    )


@lru_cache(maxsize=256)
def _rest(judged: tuple[Any, ...], more: tuple[Any, ...]) -> str:
    check, ignore, weight, ignored_weight, timeout_ms = judged
    poll, capture, placeholder = more
    return _fields(
        ("check", check),
        ("ignore", ignore),
        ("weight", weight),
        ("ignored_weight", ignored_weight),
        ("timeout_ms", timeout_ms),
        ("poll", poll),
        ("assertions", ()),
        ("remember", capture),
        ("recall", placeholder),
    )


@lru_cache(maxsize=256)
def _fields(*fields: tuple[str, Any]) -> str:
    return _encode({name: document_data(value) for name, value in fields})[1:-1]


@lru_cache(maxsize=256)
def _headers(headers: Headers) -> str:
    return _encode(headers)


@lru_cache(maxsize=16)
def _retry(retry: RetryPolicy) -> str:
    return _encode(document_data(retry))
