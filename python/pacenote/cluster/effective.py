"""The effective configuration of an engine as flat facts: what its APIs report, defaults included."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from pacenote.cluster.info import MAX_NAME
from pacenote.errors import EngineError
from pacenote.model.codec import as_text
from pacenote.model.foreign_messages import redact_beginning
from pacenote.model.node_names import NodeNames
from pacenote.model.secrets import REDACTED, is_secret, redact_urls
from pacenote.model.snapshot import INDEX, MAPPING, Snapshot
from pacenote.net.reply import FailedStatus, ReplyLimitError, expected_form
from pacenote.net.rest import RestClient

MAX_NODES = 20
"""Number of nodes whose facts are read: those of more would not fit into a file that can be read."""

MAX_INDICES = 50
"""Number of indices whose settings are read."""

_MAX_CHARACTERS = 12 << 20
"""Characters of all facts, at most: the file of a race has those from before and after it."""

_MAX_TEXT = 64 << 10
"""Characters of a fact, at most."""

_ALL_SETTINGS = "/_cluster/settings?include_defaults=true&flat_settings=true"
_NODES = "/_nodes/settings,os,process,jvm,thread_pool,plugins?flat_settings=true"
# A filter within the mappings would leave out an empty list of types, as of a cluster without indices.
_STATISTICS = "/_cluster/stats?filter_path=indices.count,indices.mappings"
_INDICES = "/{}/_settings?flat_settings=true&expand_wildcards=open,hidden"

_UNIQUE_INDEX_SETTINGS = frozenset({
    *("index.creation_date", "index.provided_name", "index.uuid", "index.history.uuid"),
    *("index.resize.source.uuid", "index.version.created_string", "index.version.upgraded"),
})
"""Settings that differ between all indices."""

_BACKING = re.compile(r"\.ds-(.+?)(?:-\d{4}\.\d{2}\.\d{2})?-\d{6}")
"""Name of an index of a data stream."""

_XX = re.compile(r"-XX:([+-])(\w+)")
_NAMED = re.compile(r"(-XX:\w+|-D[^=]+)=(.*)", re.DOTALL)
_SIZE = re.compile(r"(-X(?:m[nsx]|ss))(\d+\w?)")

_Facts = Iterable[tuple[str, object]]
"""Keys and values, one at a time: a node with a long name and many settings would not fit into memory. Of
those with one key, the last one counts; a value that is None is not reported.
"""


def read_effective(client: RestClient, node_names: NodeNames) -> Snapshot:
    """Returns the configuration that a cluster reports, whose nodes `node_names` names. Never raises: what it
    does not report is left out, with the reason.
    """
    reading = _Reading(client)
    reading.read("engine.*", "/", _engine)
    reading.read("setting.*", _ALL_SETTINGS, _settings)
    reading.read("node.*", _NODES, partial(_nodes, node_names))
    indices = reading.read("index.*", _INDICES.format("_all"), _indices)
    names = _own_indices(indices) if isinstance(indices, Mapping) else []
    names = [name for name in names if len(name) <= MAX_NAME]
    if names:
        # The defaults are those of every index that does not set them; read for all, they would be too many.
        path = _INDICES.format(quote(names[0], safe=""))
        reading.read("index_default.*", f"{path}&include_defaults=true", _index_defaults)
    # The last one, because a node that is busy answers it late.
    reading.read(f"{MAPPING}*", _STATISTICS, _mappings)
    return reading.snapshot()


class _Reading:
    """The facts that have been read so far, and why others could not be."""

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self._facts: dict[str, str] = {}
        self._unread: dict[str, str] = {}
        self._unreachable = ""
        self._characters = 0

    def read(self, key: str, path: str, parse: Callable[[Any], _Facts]) -> object:
        """Adds what `parse` finds in the response to a path, and returns the response, or None."""
        if self._unreachable:
            self._unread[key] = self._unreachable
            return None
        try:
            body: object = self._client.get(path)
        except EngineError as error:
            self._unread[key] = redact_urls(error.message)
            if not isinstance(error, FailedStatus | ReplyLimitError):
                # The next requests would wait as long for nothing.
                self._unreachable = self._unread[key]
            return None
        try:
            with expected_form("its configuration"):
                texts = self._texts(parse(body))
        except EngineError as error:
            self._unread[key] = error.message
            return None
        if texts is None:
            self._unread[key] = f"the facts have more than {_MAX_CHARACTERS >> 20} million characters"
        else:
            self._facts |= {name: _public(name, value, text) for name, (value, text) in texts.items()}
        return body

    def _texts(self, facts: _Facts) -> dict[str, tuple[object, str]] | None:
        """Returns facts and their texts, or None if there are too many of them."""
        texts = dict[str, tuple[object, str]]()
        characters = self._characters
        for name, value in facts:
            if value is None:
                continue
            # One character more shows that the text is cut off.
            text = _text(value)[: _MAX_TEXT + 1]
            characters += len(name) + len(text)
            if characters > _MAX_CHARACTERS:
                return None
            texts[name] = value, text
        self._characters = characters
        return texts

    def snapshot(self) -> Snapshot:
        """Returns the facts, sorted by key."""
        return Snapshot(self._facts, self._unread).merged()


def java_arguments(arguments: Iterable[str]) -> dict[str, str]:
    """Returns the options of a JVM by name; later ones override earlier ones, as in the JVM."""
    options: dict[str, str] = {}
    for argument in arguments:
        if match := _XX.fullmatch(argument):
            options[f"-XX:{match[2]}"] = "true" if match[1] == "+" else "false"
        elif (match := _NAMED.fullmatch(argument)) or (match := _SIZE.fullmatch(argument)):
            options[match[1]] = match[2]
        else:
            options[argument] = "set"
    return options


def _engine(body: Mapping[str, Any]) -> _Facts:
    yield "engine.cluster_name", body.get("cluster_name")
    yield from _facts("engine.version", body["version"])


def _settings(body: Mapping[str, Any]) -> _Facts:
    """Yields the settings in force: transient ones override persistent ones, and both the others."""
    for kind in ("defaults", "persistent", "transient"):
        yield from _facts("setting", body.get(kind, {}))


def _nodes(names: NodeNames, body: Mapping[str, Any]) -> _Facts:
    nodes = body["nodes"]
    unique = names.of(nodes)
    node_ids = sorted(nodes, key=lambda node_id: unique[node_id])
    yield "engine.nodes_read", f"{len(node_ids[:MAX_NODES])} of {len(nodes)} nodes"
    for node_id in node_ids[:MAX_NODES]:
        for name, value in _node(f"node.{unique[node_id]}", nodes[node_id]):
            # They change with every start.
            if not name.endswith((".process.id", ".jvm.pid")):
                yield name, value


def _node(key: str, node: Mapping[str, Any]) -> _Facts:
    yield from _facts(key, {name: node.get(name) for name in ("version", "build_hash", "roles")})
    yield from _facts(f"{key}.setting", node.get("settings", {}))
    for part in ("os", "process"):
        yield from _flat(f"{key}.{part}", node.get(part, {}))
    yield from _java(f"{key}.jvm", node.get("jvm", {}))
    yield from _flat(f"{key}.thread_pool", node.get("thread_pool", {}))
    for plugin in (*node.get("plugins", ()), *node.get("modules", ())):
        yield f"{key}.plugin.{_short(plugin['name'])}", plugin.get("version", "")


def _java(key: str, jvm: Mapping[str, Any]) -> _Facts:
    for name, value in jvm.items():
        if not name.startswith(("start_time", "input_", "memory_pools")):
            yield from _flat(f"{key}.{_short(name)}", value)
    yield from _facts(f"{key}.argument", java_arguments(map(as_text, jvm.get("input_arguments", ()))))


def _indices(body: Mapping[str, Any]) -> _Facts:
    settings: dict[str, Mapping[str, object]] = {}
    for name in _own_indices(body):
        # An index of a data stream is named after the day; the newest one stands for all.
        stream = _BACKING.fullmatch(name)
        settings[stream[1] if stream else name] = body[name]["settings"]
    for name in list(settings)[:MAX_INDICES]:
        for key, value in settings[name].items():
            if key not in _UNIQUE_INDEX_SETTINGS:
                yield f"{INDEX}{_short(name)}.{_short(key.removeprefix('index.'))}", value


def _own_indices(body: Mapping[str, object]) -> list[str]:
    """Returns the sorted names of indices, without those of the engine itself."""
    return sorted(name for name in body if not name.startswith(".") or name.startswith(".ds-"))


def _index_defaults(body: Mapping[str, Any]) -> _Facts:
    (document,) = body.values()
    for key, value in document["defaults"].items():
        yield f"index_default.{_short(key.removeprefix('index.'))}", value


def _mappings(body: Mapping[str, Any]) -> _Facts:
    """Yields the number of indices, and how many fields are mapped in all of them, which versions before 7.7
    do not count.
    """
    indices = body.get("indices", {})
    mappings = indices.get("mappings", {})
    types = mappings.get("field_types")
    yield f"{MAPPING}indices", indices.get("count")
    yield f"{MAPPING}fields", None if types is None else sum(kind["count"] for kind in types)
    yield f"{MAPPING}bytes", mappings.get("total_deduplicated_mapping_size_in_bytes")


def _facts(prefix: str, values: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        yield f"{prefix}.{_short(name)}", value


def _flat(prefix: str, value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yields the leaves of nested objects by their full names."""
    if not isinstance(value, Mapping):
        yield f"{prefix}{name}", value
        return
    for key, item in value.items():
        yield from _flat(prefix, item, _short(f"{name}.{key}"))


def _short(name: str) -> str:
    """Returns a name of at most `MAX_NAME` characters, also with its end, which shows whether a value is
    secret.
    """
    if not isinstance(name, str):
        raise TypeError(f"a name is {type(name).__name__}")
    if len(name) <= MAX_NAME:
        return name
    half = MAX_NAME // 2
    return f"{name[:half]}…{name[1 - half :]}"


def _text(value: object) -> str:
    """Returns a value as text, which may have secrets."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _public(key: str, value: object, text: str) -> str:
    """Returns the text of a value without secrets."""
    # The name of a property of Java follows directly.
    if is_secret(key.replace(".-D", ".")) and not isinstance(value, bool):
        return REDACTED
    return redact_beginning(text, (), _MAX_TEXT)
