"""Rally's templates: of data streams or monthly indices for metrics, races and results, and of annotations.

Elasticsearch manages the life of data streams with a policy; other stores, and the core of Elasticsearch, do
without. Stores without the field type `wildcard` get `keyword` instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import Struct

from pacenote.metrics_store.client import StoreClient, StoreUnavailable
from pacenote.metrics_store.settings import StoreSettings
from pacenote.model.foreign_errors import error_causes
from pacenote.net.rest import RestResponse
from pacenote.units import whole_number

IndexKind = Literal["metrics", "races", "results"]
"""What documents are about, which is part of the name of their index."""

KINDS: tuple[IndexKind, ...] = ("metrics", "results", "races")
"""All kinds, in the order in which they are written."""

ANNOTATIONS = "rally-annotations"
"""The index of annotations."""

_VERSION = "v1"
_PRIORITY = 500
_CUSTOM = "@custom"
"""Ending of the name of a component template that belongs to the user and is never replaced."""

_LONGEST_KEYWORD = 8191
_KEYWORD: Mapping[str, Any] = {"type": "keyword"}
_MILLISECONDS: Mapping[str, Any] = {"type": "date", "format": "epoch_millis"}
_RACE_TIMESTAMP: Mapping[str, Any] = {
    "type": "date",
    "format": "basic_date_time_no_millis",
    "fields": {"raw": _KEYWORD},
}

_NAMES: Mapping[IndexKind, tuple[str, ...]] = {
    "metrics": (
        *("race-id", "environment", "track", "challenge", "car", "name", "task", "operation"),
        *("operation-type", "sample-type", "unit", "job"),
    ),
    "races": (
        *("race-id", "rally-version", "rally-revision", "environment", "pipeline", "track", "challenge"),
        *("car", "plugins"),
    ),
    "results": (
        *("race-id", "rally-version", "rally-revision", "environment", "track", "challenge", "car"),
        *("plugins", "distribution-flavor", "distribution-version", "task", "operation", "job", "name"),
    ),
}
"""The fields of each kind that are keywords."""

_FLOATS = ("relative-time", "value", "min", "mean", "median", "max")
_SINGLE_VALUES = ("single", "min", "mean", "median", "max")

_POLICY = {"policy": {"phases": {"hot": {"actions": {"rollover": {"max_primary_shard_size": "50GB"}}}}}}
_MISSING = 404
_WILDCARD_OPENSEARCH = (2, 15)
"""The first version of OpenSearch with the field type `wildcard`."""


class StoreFeatures(Struct, frozen=True):
    """What a store supports, as far as templates depend on it."""

    lifecycle: bool = True
    """Whether it has policies for the life of indices (ILM)."""

    wildcard: bool = True
    """Whether it has the field type `wildcard`."""


def index_name(kind: IndexKind, timestamp: datetime, settings: StoreSettings) -> str:
    """Returns the data stream of documents about a race, or the index of the month in which it began."""
    if settings.use_data_streams:
        return f"rally-{kind}-{_VERSION}"
    return f"rally-{kind}-{timestamp.astimezone(UTC):%Y-%m}"


def index_pattern(kind: IndexKind) -> str:
    """Returns a pattern for all data streams and indices of a kind, as Rally searches them."""
    return f"rally-{kind}-*"


def probe_features(client: StoreClient) -> StoreFeatures:
    """Returns what the store supports; if it is not to be probed, what its type usually supports."""
    settings = client.settings
    if not settings.probes_version:
        is_opensearch = settings.type == "opensearch"
        return StoreFeatures(lifecycle=not is_opensearch, wildcard=not is_opensearch)
    described = client.request("GET", "/")
    version = described.get("version") if isinstance(described, dict) else None
    if not isinstance(version, dict):
        raise StoreUnavailable(
            f"{settings.url} is not Elasticsearch or OpenSearch: its reply to GET / has no version",
            hint="check datastore.host and datastore.port in [reporting]",
        )
    if version.get("distribution") == "opensearch":
        return StoreFeatures(lifecycle=False, wildcard=_numbers(version) >= _WILDCARD_OPENSEARCH)
    if version.get("build_flavor") == "serverless":
        return StoreFeatures(lifecycle=False)
    # The policy may not exist yet; without the module, the path is not known.
    reply = client.exchange("GET", f"/_ilm/policy/{_policy_name('metrics')}")
    known = reply.ok or (reply.status == _MISSING and isinstance(reply.body, dict))
    return StoreFeatures(lifecycle=known)


def ensure_templates(client: StoreClient, features: StoreFeatures, kind: IndexKind) -> None:
    """Creates the templates of a kind, or replaces those that differ if the settings say so.

    Raises StoreUnavailable if the store does not accept one.
    """
    settings = client.settings
    try:
        _ensure(client, features, kind)
    except _UnknownType:
        _ensure(client, StoreFeatures(features.lifecycle, wildcard=False), kind)
    except StoreUnavailable as error:
        if not settings.use_data_streams or "data_stream" not in error.message.replace(" ", "_"):
            raise
        raise StoreUnavailable(
            error.message, hint="if it has no data streams: [reporting] datastore.use_data_streams=false"
        ) from None


def annotations_template() -> dict[str, Any]:
    """Returns the template of the index of annotations."""
    names = ("environment", "user-tag", "track", "chart", "chart-name", "message")
    properties = {**dict.fromkeys(names, _KEYWORD), "race-timestamp": _RACE_TIMESTAMP}
    mappings = {"dynamic_templates": _strings(_KEYWORD), "properties": properties}
    return {
        "index_patterns": [ANNOTATIONS],
        "template": {"settings": {"index": {}}, "mappings": mappings},
    }


def mappings_of(kind: IndexKind, features: StoreFeatures) -> dict[str, Any]:
    """Returns the mappings of a kind."""
    properties: dict[str, Any] = {
        "@timestamp": _MILLISECONDS,
        "race-timestamp": _RACE_TIMESTAMP,
        **dict.fromkeys(_NAMES[kind], _KEYWORD),
    }
    texts = dict(_KEYWORD)
    if kind == "metrics":
        texts["ignore_above"] = _LONGEST_KEYWORD
        described = {"type": "wildcard"} if features.wildcard else texts
        properties |= {key: {"type": "float"} for key in _FLOATS}
        properties["meta"] = {"properties": {"error-description": described}}
    else:
        properties["node-count"] = {"type": "short"}
    if kind == "races":
        properties["results"] = {"properties": {"op_metrics": {"type": "nested"}}}
    if kind == "results":
        values = {key: {"type": "double"} for key in _SINGLE_VALUES}
        properties |= {
            "active": {"type": "boolean"},
            "distribution-major-version": {"type": "short"},
            "value": {"type": "object", "properties": values},
        }
    return {
        "date_detection": False,
        "dynamic_templates": _strings(texts),
        "_source": {"enabled": True},
        "properties": properties,
    }


class _UnknownType(Exception):
    """A store does not have the field type `wildcard`."""


def _ensure(client: StoreClient, features: StoreFeatures, kind: IndexKind) -> None:
    settings = client.settings
    mappings = mappings_of(kind, features)
    index: dict[str, Any] = {"mapping.total_fields.limit": 2000} if kind == "metrics" else {}
    if not settings.use_data_streams:
        if settings.shards is not None:
            index["number_of_shards"] = settings.shards
        if settings.replicas is not None:
            index["number_of_replicas"] = settings.replicas
        body = {
            "index_patterns": [index_pattern(kind)],
            "template": {"settings": {"index": index}, "mappings": mappings},
        }
        _put(client, f"/_index_template/rally-{kind}", body)
        return
    if features.lifecycle:
        _put(client, f"/_ilm/policy/{_policy_name(kind)}", _POLICY)
        index["lifecycle"] = {"name": _policy_name(kind)}
    name = f"rally-{kind}-{_VERSION}"
    own, custom = f"/_component_template/{name}", f"/_component_template/{name}{_CUSTOM}"
    _put(client, own, {"template": {"settings": {"index": index}, "mappings": mappings}})
    _put(client, custom, {"template": {}}, replaces=False)
    stream = {
        "index_patterns": [name],
        "data_stream": {},
        "composed_of": [name, f"{name}{_CUSTOM}"],
        "priority": _PRIORITY,
    }
    _put(client, f"/_index_template/{name}", stream)


def _put(client: StoreClient, path: str, body: dict[str, Any], *, replaces: bool = True) -> None:
    """Creates a template or a policy; an existing one is replaced only if the settings say so."""
    if not (replaces and client.settings.overwrites_templates):
        existing = client.exchange("GET", path)
        if existing.ok:
            return
        if existing.status != _MISSING:
            raise client.refusal(f"GET {path}", existing)
    reply = client.exchange("PUT", path, body)
    if not reply.ok:
        if _lacks_wildcard(reply, body):
            raise _UnknownType
        raise client.refusal(f"PUT {path}", reply)


def _lacks_wildcard(reply: RestResponse, body: dict[str, Any]) -> bool:
    """Returns whether a template was refused because of a field type that it uses and the store lacks."""
    error = reply.body.get("error") if isinstance(reply.body, dict) else None
    reasons = (cause.get("reason") for cause in error_causes(error))
    is_named = any(isinstance(reason, str) and "[wildcard]" in reason for reason in reasons)
    return is_named and "'wildcard'" in str(body)


def _policy_name(kind: IndexKind) -> str:
    return f"rally-{kind}-default"


def _strings(mapping: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"strings": {"match": "*", "match_mapping_type": "string", "mapping": mapping}}]


def _numbers(version: Mapping[str, object]) -> tuple[int, ...]:
    number = version.get("number", "")
    parts = number.split(".")[:2] if isinstance(number, str) else []
    return tuple(value for part in parts if (value := whole_number(part)) is not None)
