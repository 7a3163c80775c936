"""Operations on named resources, one request per resource: indices, templates, policies, transforms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.problems import preview
from pacenote.model.work import (
    CallSequence,
    Capture,
    CheckAcknowledged,
    CheckStatus,
    Placeholder,
    Request,
)
from pacenote.operations.base import CompiledOperation
from pacenote.operations.request import CommonParams, json_body, read_retry

NOT_FOUND = 404

CLUSTER_SETTINGS = "/_cluster/settings"
"""The path of the settings of a cluster."""

WILDCARD_SETTING = "action.destructive_requires_name"
"""The setting of the cluster that rejects wildcards in the names of indices to delete."""


def compile_requests(params: FieldReader, requests: Iterable[Request]) -> CompiledOperation:
    """Compiles the requests with the retry parameters; the work is the sum over all requests.

    A change that the engine does not acknowledge, or whose shards are not ready, is a failure.
    """
    calls = tuple(acknowledged(request) for request in requests)
    return CompiledOperation(
        CallSequence(calls, read_retry(params)), weight=max(1, sum(call.weight for call in calls))
    )


def acknowledged(request: Request) -> Request:
    """Returns the request of a change, which succeeds only if the engine acknowledges the change."""
    return replace(request, check=CheckAcknowledged()) if isinstance(request.check, CheckStatus) else request


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
    """Returns the requests, preceded by those that allow wildcards in deletions and followed by one that
    restores the setting, which is sent even if a deletion fails.

    The setting is transient, so a persistent value stays as it is. A race that is stopped in between restores
    it when it ends.
    """
    without_query = replace(common, query={})

    def setting(value: bool | None) -> Request:
        body = json_body({"transient": {WILDCARD_SETTING: value}})
        return replace(without_query.request("PUT", CLUSTER_SETTINGS, body=body), weight=0)

    path = f"transient.{WILDCARD_SETTING}"
    query = {"filter_path": path}
    read = replace(common, query=query).request("GET", CLUSTER_SETTINGS)
    read = replace(read, weight=0, capture=Capture(WILDCARD_SETTING, path))
    # An absent value is set to null, which removes the setting.
    previous = Placeholder(WILDCARD_SETTING, "null", optional=True)
    restore = replace(setting(None), placeholder=previous, cleanup=True)
    return (read, setting(False), *requests, restore)


def allows_wildcards(request: Request) -> bool:
    """Returns whether a request is one of those with which `allowing_wildcards` changes the setting."""
    return request.placeholder is not None and request.placeholder.name == WILDCARD_SETTING


def has_wildcard(names: str) -> bool:
    """Returns whether names joined by commas contain a wildcard."""
    return any("*" in name or name == "_all" for name in names.split(","))
