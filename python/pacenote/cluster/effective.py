"""The effective configuration of an engine as flat facts: what its APIs report, defaults included."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from pacenote.errors import EngineError
from pacenote.model.foreign_messages import redact_beginning
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


def read_effective(client: RestClient) -> Snapshot:
    """Returns the configuration that a cluster reports. Never raises: what it does not report is left out,
    with the reason.
    """
    reading = _Reading(client)
    reading.read("engine.*", "/", _engine)
    reading.read("setting.*", _ALL_SETTINGS, _settings)
    reading.read("node.*", _NODES, _nodes)
    indices = reading.read("index.*", _INDICES.format("_all"), _indices)
    names = _own_indices(indices) if isinstance(indices, Mapping) else []
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

    def read(self, key: str, path: str, parse: Callable[[Any], Mapping[str, object]]) -> object:
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
                found = parse(body)
        except EngineError as error:
            self._unread[key] = error.message
            return None
        texts = {name: _text(value) for name, value in found.items() if value is not None}
        characters = sum(len(name) + min(len(text), _MAX_TEXT) for name, text in texts.items())
        if self._characters + characters > _MAX_CHARACTERS:
            self._unread[key] = f"the facts have more than {_MAX_CHARACTERS >> 20} million characters"
            return body
        self._characters += characters
        self._facts |= {name: _public(name, found[name], text) for name, text in texts.items()}
        return body

    def snapshot(self) -> Snapshot:
        """Returns the facts, sorted by key."""
        return Snapshot(self._facts, self._unread).merged()


def java_arguments(arguments: Iterable[str]) -> dict[str, str]:
    """Returns the options of a JVM by name; later ones override earlier ones, as in the JVM."""
    found: dict[str, str] = {}
    for argument in arguments:
        if match := _XX.fullmatch(argument):
            found[f"-XX:{match[2]}"] = "true" if match[1] == "+" else "false"
        elif (match := _NAMED.fullmatch(argument)) or (match := _SIZE.fullmatch(argument)):
            found[match[1]] = match[2]
        else:
            found[argument] = "set"
    return found


def _engine(body: Mapping[str, Any]) -> dict[str, object]:
    version = {f"engine.version.{key}": value for key, value in body["version"].items()}
    return {"engine.cluster_name": body.get("cluster_name"), **version}


def _settings(body: Mapping[str, Any]) -> dict[str, object]:
    """Returns the settings in force: transient ones override persistent ones, and both the others."""
    settings: dict[str, object] = {}
    for kind in ("defaults", "persistent", "transient"):
        settings |= {f"setting.{key}": value for key, value in body.get(kind, {}).items()}
    return settings


def _nodes(body: Mapping[str, Any]) -> dict[str, object]:
    nodes = sorted(body["nodes"].values(), key=lambda node: str(node.get("name", "")))
    found: dict[str, object] = {"engine.nodes_read": f"{len(nodes[:MAX_NODES])} of {len(nodes)} nodes"}
    for node in nodes[:MAX_NODES]:
        key = f"node.{node['name']}"
        found |= {f"{key}.{name}": node.get(name) for name in ("version", "build_hash", "roles")}
        found |= {f"{key}.setting.{name}": value for name, value in node.get("settings", {}).items()}
        for part in ("os", "process"):
            found |= _flat(f"{key}.{part}", node.get(part, {}))
        found |= _java(key, node.get("jvm", {}))
        found |= _flat(f"{key}.thread_pool", node.get("thread_pool", {}))
        for plugin in (*node.get("plugins", ()), *node.get("modules", ())):
            found[f"{key}.plugin.{plugin['name']}"] = plugin.get("version", "")
    # They change with every start.
    return {name: value for name, value in found.items() if not name.endswith((".process.id", ".jvm.pid"))}


def _java(key: str, jvm: Mapping[str, Any]) -> dict[str, object]:
    arguments = java_arguments(map(str, jvm.get("input_arguments", ())))
    others = {
        name: value
        for name, value in jvm.items()
        if not name.startswith(("start_time", "input_", "memory_pools"))
    }
    found = _flat(f"{key}.jvm", others)
    return found | {f"{key}.jvm.argument.{name}": value for name, value in arguments.items()}


def _indices(body: Mapping[str, Any]) -> dict[str, object]:
    settings: dict[str, Mapping[str, object]] = {}
    for name in _own_indices(body):
        # An index of a data stream is named after the day; the newest one stands for all.
        stream = _BACKING.fullmatch(name)
        settings[stream[1] if stream else name] = body[name]["settings"]
    return {
        f"{INDEX}{name}.{key.removeprefix('index.')}": value
        for name in list(settings)[:MAX_INDICES]
        for key, value in settings[name].items()
        if key not in _UNIQUE_INDEX_SETTINGS
    }


def _own_indices(body: Mapping[str, object]) -> list[str]:
    """Returns the sorted names of indices, without those of the engine itself."""
    return sorted(name for name in body if not name.startswith(".") or name.startswith(".ds-"))


def _index_defaults(body: Mapping[str, Any]) -> dict[str, object]:
    (document,) = body.values()
    return {
        f"index_default.{key.removeprefix('index.')}": value for key, value in document["defaults"].items()
    }


def _mappings(body: Mapping[str, Any]) -> dict[str, object]:
    """Returns the number of indices, and how many fields are mapped in all of them, which versions before 7.7
    do not count.
    """
    indices = body.get("indices", {})
    mappings = indices.get("mappings", {})
    types = mappings.get("field_types")
    return {
        f"{MAPPING}indices": indices.get("count"),
        f"{MAPPING}fields": None if types is None else sum(kind["count"] for kind in types),
        f"{MAPPING}bytes": mappings.get("total_deduplicated_mapping_size_in_bytes"),
    }


def _flat(prefix: str, value: object) -> dict[str, object]:
    """Returns the leaves of nested objects by their full names."""
    if not isinstance(value, Mapping):
        return {prefix: value}
    flat: dict[str, object] = {}
    for key, item in value.items():
        flat |= _flat(f"{prefix}.{key}", item)
    return flat


def _text(value: object) -> str:
    """Returns a value as text, which may have secrets."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _public(key: str, value: object, text: str) -> str:
    """Returns the text of a value without secrets."""
    # The name of a property of Java follows directly.
    if is_secret(key.replace(".-D", ".")) and not isinstance(value, bool):
        return REDACTED
    return redact_beginning(text, (), _MAX_TEXT)
