"""Operations on named resources, one request per resource: indices, templates, policies, transforms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pacenote.model.field_reader import FieldReader
from pacenote.model.problems import preview
from pacenote.model.work import CallSequence, Request
from pacenote.operations.base import CompiledOperation
from pacenote.operations.request import CommonParams, json_body, read_retry

NOT_FOUND = 404


def compile_requests(params: FieldReader, requests: Iterable[Request]) -> CompiledOperation:
    """Compiles the requests with the retry parameters; the work is the sum over all requests."""
    calls = tuple(requests)
    return CompiledOperation(
        CallSequence(calls, read_retry(params)), weight=max(1, sum(call.weight for call in calls))
    )


def read_name_body_pairs(params: FieldReader, key: str) -> dict[str, Any]:
    """Reads names with their bodies from a parameter source: a list of pairs."""
    value: Any = params.data.get(key)
    pairs: Any = value if isinstance(value, list | tuple) else [value]
    if all(isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
        return dict(pairs)
    params.problem(key, f"is {preview(value)}, but must be a list of pairs of a name and a body")
    return {}


def if_exists(request: Request) -> Request:
    """Returns the request to delete a resource; a missing resource is neither a failure nor work."""
    return replace(request, ignore=(*request.ignore, NOT_FOUND))


def allowing_wildcards(common: CommonParams, requests: Iterable[Request]) -> tuple[Request, ...]:
    """Returns the requests, preceded by one that allows wildcards in deletions and followed by one that
    resets it.

    The setting is transient: if the race is killed in between, a restart of the cluster removes it.
    """
    without_query = replace(common, query={})

    def setting(value: bool | None) -> Request:
        body = json_body({"transient": {"action.destructive_requires_name": value}})
        return replace(without_query.request("PUT", "/_cluster/settings", body=body), weight=0)

    return (setting(False), *requests, setting(None))


def has_wildcard(names: str) -> bool:
    """Returns whether names joined by commas contain a wildcard."""
    return any("*" in name or name == "_all" for name in names.split(","))
