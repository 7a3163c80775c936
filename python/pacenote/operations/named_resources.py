"""Operations on named things, one request for each: what parameter sources say of them, and wildcards."""

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
    """The requests, tried again as the parameters say; their work is that of all."""
    calls = tuple(requests)
    return CompiledOperation(
        CallSequence(calls, read_retry(params)), weight=max(1, sum(call.weight for call in calls))
    )


def read_name_body_pairs(params: FieldReader, key: str) -> dict[str, Any]:
    """Names with their bodies, as parameter sources give them: a list of pairs."""
    value: Any = params.data.get(key)
    pairs: Any = value if isinstance(value, list | tuple) else [value]
    if all(isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs):
        return dict(pairs)
    params.problem(key, f"is {preview(value)}, must be a list of pairs of a name and a body")
    return {}


def if_exists(request: Request) -> Request:
    """A deletion of what may not be there, which then is no failure and no work."""
    return replace(request, ignore=(*request.ignore, NOT_FOUND))


def allowing_wildcards(common: CommonParams, requests: Iterable[Request]) -> tuple[Request, ...]:
    """The requests, between two that let the engine take wildcards in deletions and forbid it again.

    Transient: should the race die in between, the setting does not survive a restart of the cluster.
    """
    bare = replace(common, query={})

    def setting(value: bool | None) -> Request:
        body = json_body({"transient": {"action.destructive_requires_name": value}})
        return replace(bare.request("PUT", "/_cluster/settings", body=body), weight=0)

    return (setting(False), *requests, setting(None))


def has_wildcard(names: str) -> bool:
    """Whether names joined by commas hold one that stands for several."""
    return any("*" in name or name == "_all" for name in names.split(","))
