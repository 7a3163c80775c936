"""What is taken from a cluster: indices and data streams, with their mappings and settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from pacenote.errors import EngineError, UsageError
from pacenote.net.rest import RestClient
from pacenote.units import format_count

_ENGINES_OWN = (
    # What the engine wrote itself, and what would stand in the way of a new index.
    *("uuid", "creation_date", "creation_date_string", "provided_name", "version", "store", "resize"),
    *("history", "verified_before_close", "blocks", "lifecycle"),
    *("plugins", "opendistro", "remote_store"),
)
_STREAMS_OWN = ("hidden", "time_series")
_NODES = frozenset(("include", "exclude", "require", "initial_recovery"))
_ALL = ("_all", "*")

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """An index or data stream. `parts` are the indices its documents lie in, each with its number of shards.

    `timestamp` is the field of a data stream that holds the time, "" for an index. `documents` is how many
    there were when it was asked. `identity` tells it from namesakes that were here before, or are elsewhere.
    """

    name: str
    parts: tuple[tuple[str, int], ...]
    mappings: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    timestamp: str = ""
    documents: int = 0
    identity: str = ""

    @property
    def is_stream(self) -> bool:
        """Whether it is a data stream."""
        return bool(self.timestamp)

    @property
    def pipelines(self) -> tuple[str, ...]:
        """Ingest pipelines that its documents go through; a track does not bring them along."""
        names = (self.settings.get(key) for key in ("default_pipeline", "final_pipeline"))
        return tuple(str(name) for name in names if name and name != "_none")


def path_of(name: str) -> str:
    """A name as part of a path."""
    return quote(name, safe="*,")


def indices(rest: RestClient, patterns: Sequence[str]) -> tuple[Source, ...]:
    """The indices that match, sorted by name. Hidden ones only where a pattern asks for some by name.

    Raises UsageError when a pattern matches nothing, EngineError when the cluster does not answer.
    """
    found: dict[str, Source] = {}
    for pattern in patterns:
        # A closed one has no documents to be read; named, it is refused by the engine.
        reply = rest.exchange("GET", f"/{path_of(pattern)}", None, {"expand_wildcards": "open,hidden"})
        if reply.status != 404 and not reply.ok:
            raise EngineError(f"indices {pattern} cannot be read: HTTP status {reply.status}")
        described = {} if reply.status == 404 else reply.body
        kept = {name: each for name, each in described.items() if not (pattern in _ALL and name[0] == ".")}
        if not kept:
            raise UsageError(
                f"--indices: there is no index {pattern} in this cluster", hint="GET /_cat/indices lists them"
            )
        found |= {name: _index(rest, name, each) for name, each in kept.items() if name not in found}
    return tuple(found[name] for name in sorted(found))


def data_streams(rest: RestClient, patterns: Sequence[str]) -> tuple[Source, ...]:
    """The data streams that match, sorted by name. Raises as `indices`."""
    found: dict[str, Source] = {}
    for pattern in patterns:
        reply = rest.exchange("GET", f"/_data_stream/{path_of(pattern)}")
        if reply.status != 404 and not reply.ok:
            raise EngineError(f"data streams {pattern} cannot be read: HTTP status {reply.status}")
        streams = [] if reply.status == 404 else reply.body.get("data_streams", [])
        if not streams:
            raise UsageError(
                f"--data-streams: there is no data stream {pattern} in this cluster",
                hint="GET /_data_stream lists them",
            )
        found |= {each["name"]: _stream(rest, each) for each in streams if each["name"] not in found}
    return tuple(found[name] for name in sorted(found))


def _index(rest: RestClient, name: str, described: Mapping[str, Any]) -> Source:
    settings = _settings(described, _ENGINES_OWN)
    _check_name(name)
    return Source(
        name=name,
        parts=((name, _shards(settings)),),
        mappings=described.get("mappings", {}),
        settings=settings,
        documents=_count(rest, name),
        identity=_uuid(described),
    )


def _stream(rest: RestClient, described: Mapping[str, Any]) -> Source:
    names = [each["index_name"] for each in described["indices"]]
    _check_name(described["name"])
    # By its own name: those of hundreds of indices do not fit into an address.
    backing = rest.get(f"/{path_of(described['name'])}")
    # The last one is written to: it has the mappings and settings of today.
    newest = backing[names[-1]]
    mappings = {key: value for key, value in newest["mappings"].items() if key != "_data_stream_timestamp"}
    return Source(
        name=described["name"],
        parts=tuple((name, _shards(_settings(backing[name], ()))) for name in names),
        mappings=mappings,
        settings=_settings(newest, (*_ENGINES_OWN, *_STREAMS_OWN)),
        timestamp=described.get("timestamp_field", {}).get("name") or "@timestamp",
        documents=_count(rest, described["name"]),
        identity=",".join(_uuid(backing[name]) for name in names),
    )


def _settings(described: Mapping[str, Any], without: Sequence[str]) -> JsonObject:
    settings = described.get("settings", {}).get("index", {})
    kept = {key: value for key, value in settings.items() if key not in without}
    allocation = kept.get("routing", {}).get("allocation", {})
    if _NODES & allocation.keys():
        # Nodes of this cluster, and tiers that only Elasticsearch knows: elsewhere shards would find no node.
        allocation = {key: value for key, value in allocation.items() if key not in _NODES}
        routing = {**kept.pop("routing"), "allocation": allocation}
        kept |= {"routing": left} if (left := {key: value for key, value in routing.items() if value}) else {}
    return kept


def _uuid(described: Mapping[str, Any]) -> str:
    return str(described.get("settings", {}).get("index", {}).get("uuid", ""))


def _check_name(name: str) -> None:
    """No index has such a name, but what answers may be no engine, and names become those of files."""
    if "/" in name or name in (".", ".."):
        raise EngineError(f"'{name}' cannot be the name of an index", hint="check --target-hosts")


def _shards(settings: Mapping[str, Any]) -> int:
    return int(settings.get("number_of_shards", 1))


def _count(rest: RestClient, name: str) -> int:
    return int(rest.get(f"/{path_of(name)}/_count")["count"])


def remarks(sources: Sequence[Source]) -> Iterator[str]:
    """What the user has to know of what was taken."""
    for source in sources:
        for pipeline in source.pipelines:
            yield (
                f"'{source.name}' sends its documents through the ingest pipeline '{pipeline}': create it "
                "before racing, or take the setting out of the track"
            )
        if source.mappings.get("_routing", {}).get("required"):
            yield (
                f"'{source.name}' wants a routing for each document, and tracks have none: take _routing out "
                "of its mappings"
            )
        if {"includes", "excludes"} & source.mappings.get("_source", {}).keys():
            yield f"'{source.name}' keeps its documents in part only (_source): the rest of them is lost"
    if empty := [source.name for source in sources if not source.documents]:
        yield f"{format_count(len(empty), 'index', 'indices')} without documents: {', '.join(empty)}"
