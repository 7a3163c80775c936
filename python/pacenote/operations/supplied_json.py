"""Fast JSON encoding of supplied operations, because a parameter source may supply thousands per second.

The documents are the same as those of `document_data`. Only paths and bodies are encoded each time;
everything else is cached.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, NamedTuple

from pacenote.model.assertion import DetailsKind
from pacenote.model.work import (
    Call,
    CallSequence,
    Capture,
    Check,
    Composite,
    CompositeItem,
    Headers,
    OperationStream,
    PagedRequest,
    Placeholder,
    PollPolicy,
    Request,
    RetryPolicy,
    SuppliedBulk,
    document_data,
)

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


class _ResponseRules(NamedTuple):
    """The fields of a request that rarely vary: the rules for its response, and its timeout."""

    check: Check
    ignore: tuple[int, ...]
    weight: int
    ignored_weight: int
    timeout_ms: int | None
    poll: PollPolicy | None
    capture: Capture | None
    placeholder: Placeholder | None
    cleanup: bool
    details: DetailsKind | None


def calls_json(calls: CallSequence) -> str:
    """Returns the document of an operation that consists of calls."""
    texts = ",".join(map(_call, calls.calls))
    return f'{{"kind":"calls","calls":[{texts}],"retry":{_retry(calls.retry)}}}'


def bulk_json(bulk: SuppliedBulk) -> str:
    """Returns the document of a bulk, without its body."""
    timeout = "null" if bulk.timeout_ms is None else bulk.timeout_ms
    detailed = "true" if bulk.detailed_results else "false"
    assertions = _encode(document_data(bulk.assertions)) if bulk.assertions else "[]"
    return (
        f'{{"kind":"bulk","path":{_encode(bulk.path)},"headers":{_headers(bulk.headers)},'
        f'"documents":{bulk.documents},"timeout_ms":{timeout},"detailed_results":{detailed},'
        f'"assertions":{assertions}}}'
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
    """Returns the fields of a request, without braces."""
    if call.assertions:
        # Not cached: equal values of assertions may have different JSON, such as 1 and 1.0.
        fields = document_data(call)
        del fields["kind"]
        return _encode(fields)[1:-1]
    rules = _ResponseRules(
        call.check,
        call.ignore,
        call.weight,
        call.ignored_weight,
        call.timeout_ms,
        call.poll,
        call.capture,
        call.placeholder,
        call.cleanup,
        call.details,
    )
    body = "null" if call.body is None else _encode(call.body)
    return (
        f'"method":"{call.method}","path":{_encode(call.path)},'
        f'"headers":{_headers(call.headers)},"body":{body},{_rules(rules)}'
    )


@lru_cache(maxsize=256)
def _rules(rules: _ResponseRules) -> str:
    return _fields(
        ("check", rules.check),
        ("ignore", rules.ignore),
        ("weight", rules.weight),
        ("ignored_weight", rules.ignored_weight),
        ("timeout_ms", rules.timeout_ms),
        ("poll", rules.poll),
        ("assertions", ()),
        ("capture", rules.capture),
        ("placeholder", rules.placeholder),
        ("cleanup", rules.cleanup),
        ("details", rules.details),
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
