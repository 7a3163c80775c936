"""The sources of a capture: indices and data streams, with their mappings and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from pacenote.errors import EngineError, UsageError
from pacenote.net.rest import RestClient
from pacenote.units import format_count

_ENGINE_SETTINGS = (
    # Settings that the engine sets itself, or that prevent the creation of an index.
    *("uuid", "creation_date", "creation_date_string", "provided_name", "version", "store", "resize"),
    *("history", "verified_before_close", "blocks", "lifecycle"),
    *("plugins", "opendistro", "remote_store"),
)
_STREAM_SETTINGS = ("hidden", "time_series")
_NODE_FILTERS = frozenset(("include", "exclude", "require", "initial_recovery"))
_ALL_INDICES = ("_all", "*")

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BackingIndex:
    """An index that holds documents of a source."""

    name: str
    """Name of the index."""

    shards: int
    """Number of primary shards."""


@dataclass(frozen=True, slots=True)
class CaptureSource:
    """An index or data stream to capture."""

    name: str
    """Name of the index or data stream."""

    indices: tuple[BackingIndex, ...]
    """The index itself, or the backing indices of the data stream."""

    mappings: Mapping[str, Any] = field(default_factory=dict)
    """Mappings as the engine returns them."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Index settings without those that the engine sets."""

    timestamp: str = ""
    """Timestamp field of a data stream; empty for an index."""

    documents: int = 0
    """Number of documents when the source was described."""

    identity: str = ""
    """UUIDs of the indices, which distinguish them from other indices of the same name."""

    @property
    def is_stream(self) -> bool:
        """Whether the source is a data stream."""
        return bool(self.timestamp)

    @property
    def pipelines(self) -> tuple[str, ...]:
        """The ingest pipelines of its documents. A track does not contain them."""
        names = (self.settings.get(key) for key in ("default_pipeline", "final_pipeline"))
        return tuple(str(name) for name in names if name and name != "_none")


def url_path(name: str) -> str:
    """Returns a name or pattern, escaped for the path of a URL."""
    return quote(name, safe="*,")


def find_indices(rest: RestClient, patterns: Sequence[str]) -> tuple[CaptureSource, ...]:
    """Returns the indices that match, sorted by name; `*` does not match hidden indices.

    Raises UsageError if a pattern matches nothing, and EngineError if the cluster does not respond.
    """
    sources: dict[str, CaptureSource] = {}
    for pattern in patterns:
        # Closed indices cannot be read; the engine rejects a closed index that is requested by name.
        reply = rest.exchange("GET", f"/{url_path(pattern)}", None, {"expand_wildcards": "open,hidden"})
        if reply.status != 404 and not reply.ok:
            raise EngineError(f"indices {pattern} cannot be read: HTTP status {reply.status}")
        described = {} if reply.status == 404 else reply.body
        kept = {
            name: each for name, each in described.items() if not (pattern in _ALL_INDICES and name[0] == ".")
        }
        if not kept:
            raise UsageError(
                f"--indices: no index {pattern} in this cluster", hint="GET /_cat/indices lists them"
            )
        sources |= {name: _index(rest, name, each) for name, each in kept.items() if name not in sources}
    return tuple(sources[name] for name in sorted(sources))


def find_data_streams(rest: RestClient, patterns: Sequence[str]) -> tuple[CaptureSource, ...]:
    """Returns the data streams that match, sorted by name. Raises the same errors as `find_indices`."""
    sources: dict[str, CaptureSource] = {}
    for pattern in patterns:
        reply = rest.exchange("GET", f"/_data_stream/{url_path(pattern)}")
        if reply.status != 404 and not reply.ok:
            raise EngineError(f"data streams {pattern} cannot be read: HTTP status {reply.status}")
        streams = [] if reply.status == 404 else reply.body.get("data_streams", [])
        if not streams:
            raise UsageError(
                f"--data-streams: no data stream {pattern} in this cluster",
                hint="GET /_data_stream lists them",
            )
        sources |= {each["name"]: _stream(rest, each) for each in streams if each["name"] not in sources}
    return tuple(sources[name] for name in sorted(sources))


def _index(rest: RestClient, name: str, described: Mapping[str, Any]) -> CaptureSource:
    settings = _settings(described, _ENGINE_SETTINGS)
    _check_name(name)
    return CaptureSource(
        name=name,
        indices=(BackingIndex(name, _shards(settings)),),
        mappings=described.get("mappings", {}),
        settings=settings,
        documents=_count(rest, name),
        identity=_uuid(described),
    )


def _stream(rest: RestClient, described: Mapping[str, Any]) -> CaptureSource:
    names = [each["index_name"] for each in described["indices"]]
    _check_name(described["name"])
    # The path contains the name of the stream: the names of hundreds of indices do not fit into a URL.
    backing = rest.get(f"/{url_path(described['name'])}")
    # The last index is the write index, with the current mappings and settings.
    newest = backing[names[-1]]
    mappings = {key: value for key, value in newest["mappings"].items() if key != "_data_stream_timestamp"}
    return CaptureSource(
        name=described["name"],
        indices=tuple(BackingIndex(name, _shards(_settings(backing[name], ()))) for name in names),
        mappings=mappings,
        settings=_settings(newest, (*_ENGINE_SETTINGS, *_STREAM_SETTINGS)),
        timestamp=described.get("timestamp_field", {}).get("name") or "@timestamp",
        documents=_count(rest, described["name"]),
        identity=",".join(_uuid(backing[name]) for name in names),
    )


def _settings(described: Mapping[str, Any], without: Sequence[str]) -> JsonObject:
    settings = described.get("settings", {}).get("index", {})
    kept = {key: value for key, value in settings.items() if key not in without}
    allocation = kept.get("routing", {}).get("allocation", {})
    if _NODE_FILTERS & allocation.keys():
        # On a different cluster, filters by node name or by Elasticsearch's tiers would leave shards
        # unassigned.
        allocation = {key: value for key, value in allocation.items() if key not in _NODE_FILTERS}
        routing = {**kept.pop("routing"), "allocation": allocation}
        kept |= {"routing": left} if (left := {key: value for key, value in routing.items() if value}) else {}
    return kept


def _uuid(described: Mapping[str, Any]) -> str:
    return str(described.get("settings", {}).get("index", {}).get("uuid", ""))


def _check_name(name: str) -> None:
    """Raises EngineError for an impossible index name, which a server that is not an engine may return."""
    if "/" in name or name in (".", ".."):
        raise EngineError(f"'{name}' cannot be the name of an index", hint="check --target-hosts")


def _shards(settings: Mapping[str, Any]) -> int:
    return int(settings.get("number_of_shards", 1))


def _count(rest: RestClient, name: str) -> int:
    return int(rest.get(f"/{url_path(name)}/_count")["count"])


def capture_warnings(sources: Sequence[CaptureSource]) -> Iterator[str]:
    """Yields warnings about sources that a track cannot represent completely."""
    for source in sources:
        for pipeline in source.pipelines:
            yield (
                f"'{source.name}' uses the ingest pipeline '{pipeline}': create it before racing, or remove "
                "the setting from the track"
            )
        if source.mappings.get("_routing", {}).get("required"):
            yield (
                f"'{source.name}' requires a routing value for each document, which tracks do not have: "
                "remove _routing from its mappings"
            )
        if {"includes", "excludes"} & source.mappings.get("_source", {}).keys():
            yield f"'{source.name}' stores only a part of each document (_source): the rest is lost"
    if empty := [source.name for source in sources if not source.documents]:
        yield f"{format_count(len(empty), 'index', 'indices')} without documents: {', '.join(empty)}"
