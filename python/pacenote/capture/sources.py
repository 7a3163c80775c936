"""The sources of a capture: indices and data streams, with their mappings and settings."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import Struct, field
from msgspec.structs import replace

from pacenote.capture.time_limits import PhaseLimit
from pacenote.errors import EngineError, UsageError
from pacenote.model.codec import as_text
from pacenote.model.decoding import MAX_MEMORY_BYTES, memory_of_values
from pacenote.model.foreign_messages import shown_value
from pacenote.model.printable import single_line
from pacenote.net.rest import RestClient
from pacenote.units import format_bytes, format_count

_ENGINE_SETTINGS = (
    # Settings that the engine sets itself, or that prevent the creation of an index.
    *("uuid", "creation_date", "creation_date_string", "provided_name", "version", "store", "resize"),
    *("history", "verified_before_close", "blocks", "lifecycle"),
    *("plugins", "opendistro", "remote_store"),
)
_STREAM_SETTINGS = ("hidden", "time_series")
_NODE_FILTERS = frozenset(("include", "exclude", "require", "initial_recovery"))
_ALL_INDICES = ("_all", "*")

_MAX_NAME_BYTES = 228
"""Length of the longest name: the names of its files have 27 bytes more, and may have 255."""

_NOT_IN_NAMES = re.compile(r"""[\\/*?"<>|,#:\s]""")
"""Characters that engines do not accept in names. Some of them would have a track delete other indices."""

_RESERVED_NAME = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
"""Names of devices, which are not the names of files on every system."""

_MAX_COUNT = 100_000
"""The largest number of shards or replicas that is believed."""

_MAX_SOURCES = 1_000
"""Indices or data streams that are captured, at most: each is read with requests of its own."""

_MAX_SHARDS = 10_000
"""Shards of all of them, at most: some engines are asked for each one."""

DESCRIBING_S = 3600.0
"""Seconds for the mappings, settings and numbers of documents of all sources."""

JsonObject = dict[str, Any]


class BackingIndex(Struct, frozen=True):
    """An index that holds documents of a source."""

    name: str
    """Name of the index."""

    shards: int
    """Number of primary shards."""


class CaptureSource(Struct, frozen=True):
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

    replicas: int | None = None
    """Number of replicas; None if the settings do not have it."""

    @property
    def is_stream(self) -> bool:
        """Whether the source is a data stream."""
        return bool(self.timestamp)

    @property
    def pipelines(self) -> tuple[str, ...]:
        """The ingest pipelines of its documents. A track does not contain them."""
        names = (self.settings.get(key) for key in ("default_pipeline", "final_pipeline"))
        return tuple(name for name in names if isinstance(name, str) and name not in ("", "_none"))


class _Described(Struct):
    """Sources that have been described."""

    by_name: dict[str, CaptureSource] = field(default_factory=dict)
    """The sources by their names."""

    memory: int = 0
    """Bytes of memory that their mappings and settings take, with their texts."""

    mappings: dict[bytes, Mapping[str, Any]] = field(default_factory=dict)
    """Mappings by the hash of their text: those of data streams of one template are equal."""

    def add(self, source: CaptureSource) -> None:
        """Raises EngineError if the sources take too much memory together."""
        text = json.dumps(source.mappings, ensure_ascii=False).encode("utf-8", "replace")
        key = hashlib.sha256(text).digest()
        if key not in self.mappings:
            self.mappings[key] = source.mappings
            self.memory += memory_of_values(text)
        settings = json.dumps(source.settings, ensure_ascii=False).encode("utf-8", "replace")
        # The texts are described, rendered and written.
        self.memory += memory_of_values(settings) + 3 * (len(text) + len(settings))
        if self.memory > MAX_MEMORY_BYTES:
            limit = format_bytes(MAX_MEMORY_BYTES)
            raise EngineError(
                f"the mappings and settings of all sources take more than {limit} of memory",
                hint="capture them separately, or check --target-hosts",
            )
        self.by_name[source.name] = replace(source, mappings=self.mappings[key])


def url_path(name: str) -> str:
    """Returns a name or pattern, escaped for the path of a URL."""
    return quote(name, safe="*,")


def find_indices(rest: RestClient, patterns: Sequence[str]) -> tuple[CaptureSource, ...]:
    """Returns the indices that match, sorted by name; `*` does not match hidden indices.

    Raises UsageError if a pattern matches nothing, and EngineError if the cluster does not respond or is too
    slow.
    """
    described, limit = _Described(), _describing_limit()
    for pattern in patterns:
        # Closed indices cannot be read; the engine rejects a closed index that is requested by name.
        reply = rest.exchange("GET", f"/{url_path(pattern)}", None, {"expand_wildcards": "open,hidden"})
        if reply.status != 404 and not reply.ok:
            raise EngineError(f"indices {pattern} cannot be read: HTTP status {reply.status}")
        indices = {} if reply.status == 404 else reply.body
        kept = {
            name: index for name, index in indices.items() if not (pattern in _ALL_INDICES and name[0] == ".")
        }
        if not kept:
            raise UsageError(
                f"--indices: no index {pattern} in this cluster", hint="GET /_cat/indices lists them"
            )
        _check_number(len(described.by_name.keys() | kept.keys()))
        for name in [name for name in kept if name not in described.by_name]:
            described.add(_index(rest, name, kept[name]))
            limit.check()
    return _sorted(described.by_name)


def find_data_streams(rest: RestClient, patterns: Sequence[str]) -> tuple[CaptureSource, ...]:
    """Returns the data streams that match, sorted by name. Raises the same errors as `find_indices`."""
    described, limit = _Described(), _describing_limit()
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
        _check_number(len(described.by_name.keys() | {stream["name"] for stream in streams}))
        for stream in streams:
            if stream["name"] not in described.by_name:
                described.add(_stream(rest, stream))
                limit.check()
    return _sorted(described.by_name)


def _describing_limit() -> PhaseLimit:
    return PhaseLimit(
        "described its indices", DESCRIBING_S, "capture them separately, or check --target-hosts"
    )


def _check_number(sources: int) -> None:
    """Raises EngineError for more sources than can be captured."""
    if sources > _MAX_SOURCES:
        raise EngineError(
            f"the names match {sources:,} indices or data streams, more than {_MAX_SOURCES:,}",
            hint="capture them separately",
        )


def _sorted(sources: Mapping[str, CaptureSource]) -> tuple[CaptureSource, ...]:
    """Returns the sources by name. Raises EngineError for names that only differ in case, and for too many
    shards.
    """
    shards = sum(index.shards for source in sources.values() for index in source.indices)
    if shards > _MAX_SHARDS:
        raise EngineError(
            f"the indices have {shards:,} shards, more than {_MAX_SHARDS:,}", hint="capture them separately"
        )
    names: dict[str, str] = {}
    for name in sorted(sources):
        if (other := names.setdefault(name.casefold(), name)) != name:
            raise EngineError(
                f"the names '{other}' and '{name}' are those of one file on some systems",
                hint="capture them separately",
            )
    return tuple(sources[name] for name in sorted(sources))


def _index(rest: RestClient, name: str, described: Mapping[str, Any]) -> CaptureSource:
    _check_name(name)
    settings = _settings(name, described, _ENGINE_SETTINGS)
    return CaptureSource(
        name=name,
        indices=(BackingIndex(name, _shards(name, settings)),),
        mappings=_document(name, described.get("mappings", {})),
        settings=settings,
        replicas=_replicas(name, settings),
        documents=_count(rest, name),
        identity=_uuid(described),
    )


def _stream(rest: RestClient, described: Mapping[str, Any]) -> CaptureSource:
    stream = described["name"]
    names = [index["index_name"] for index in described["indices"]]
    for name in (stream, *names):
        _check_name(name)
    # The path contains the name of the stream: the names of hundreds of indices do not fit into a URL.
    backing = rest.get(f"/{url_path(stream)}")
    # The last index is the write index, with the current mappings and settings.
    newest = backing[names[-1]]
    mappings = {key: value for key, value in newest["mappings"].items() if key != "_data_stream_timestamp"}
    settings = _settings(stream, newest, (*_ENGINE_SETTINGS, *_STREAM_SETTINGS))
    return CaptureSource(
        name=stream,
        indices=tuple(
            BackingIndex(name, _shards(name, _settings(name, backing[name], ()))) for name in names
        ),
        mappings=_document(stream, mappings),
        settings=settings,
        replicas=_replicas(stream, settings),
        timestamp=as_text(described.get("timestamp_field", {}).get("name") or "@timestamp"),
        documents=_count(rest, stream),
        identity=",".join(_uuid(backing[name]) for name in names),
    )


def _settings(name: str, described: Mapping[str, Any], without: Sequence[str]) -> JsonObject:
    settings = _document(name, described.get("settings", {}).get("index", {}))
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
    return as_text(described.get("settings", {}).get("index", {}).get("uuid", ""))


def _check_name(name: str) -> None:
    """Raises EngineError for a name that engines do not accept or that cannot name a file.

    A server that is not an engine may return any.
    """
    if (
        not name.isprintable()
        or not 0 < len(name.encode()) <= _MAX_NAME_BYTES
        or name != name.lower()
        or name in (".", "..")
        or name[0] in "-_+"
        or _NOT_IN_NAMES.search(name)
        or _RESERVED_NAME.fullmatch(name)
    ):
        raise EngineError(
            f"'{single_line(name)}' cannot be the name of an index or data stream",
            hint="check --target-hosts",
        )


def _document(name: str, value: Any) -> JsonObject:
    """Returns a JSON object of a reply. Raises EngineError if it is not one that can be written to a file."""
    try:
        # Indented, a list at a great depth is hundreds of times as long.
        json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
        if isinstance(value, dict):
            return value
    except (ValueError, RecursionError):
        pass
    raise EngineError(
        f"the mappings or settings of '{name}' have an unexpected form", hint="check --target-hosts"
    )


def _shards(name: str, settings: Mapping[str, Any]) -> int:
    return _number(name, "number_of_shards", settings.get("number_of_shards", 1))


def _replicas(name: str, settings: Mapping[str, Any]) -> int | None:
    key = "number_of_replicas"
    return _number(name, key, settings[key]) if key in settings else None


def _number(name: str, setting: str, value: object) -> int:
    """Returns the number of a setting, which becomes a part of a template. Raises EngineError."""
    text = as_text(value) if isinstance(value, str | int) else ""
    if re.fullmatch("[0-9]{1,6}", text) is None or int(text) > _MAX_COUNT:
        raise EngineError(
            f"the setting {setting} of '{name}' is not a number: {shown_value(value)}",
            hint="check --target-hosts",
        )
    return int(text)


def _count(rest: RestClient, name: str) -> int:
    count = rest.get(f"/{url_path(name)}/_count")["count"]
    if type(count) is not int or count < 0:
        raise EngineError(
            f"the number of documents of '{name}' is not a number: {shown_value(count)}",
            hint="check --target-hosts",
        )
    return count


def _option(source: CaptureSource, name: str) -> Mapping[str, Any]:
    """Returns an option of the mappings; one that is not an object has no effect, whatever the server."""
    value = source.mappings.get(name)
    return value if isinstance(value, dict) else {}


def capture_warnings(sources: Sequence[CaptureSource]) -> Iterator[str]:
    """Yields warnings about sources that a track cannot represent completely."""
    for source in sources:
        for pipeline in source.pipelines:
            yield (
                f"'{source.name}' uses the ingest pipeline '{pipeline}': create it before racing, or remove "
                "the setting from the track"
            )
        if _option(source, "_routing").get("required"):
            yield (
                f"'{source.name}' requires a routing value for each document, which tracks do not have: "
                "remove _routing from its mappings"
            )
        if {"includes", "excludes"} & _option(source, "_source").keys():
            yield f"'{source.name}' stores only a part of each document (_source): the rest is lost"
    if empty := [source.name for source in sources if not source.documents]:
        yield f"{format_count(len(empty), 'index', 'indices')} without documents: {', '.join(empty)}"
