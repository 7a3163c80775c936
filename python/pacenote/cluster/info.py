"""Information that a cluster reports: read once before a race, and stored in the race record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.model.codec import as_integer, as_text
from pacenote.model.engine import ENGINE_APIS, EngineInfo, reported_engine
from pacenote.model.node_names import NodeNames
from pacenote.model.printable import shortened
from pacenote.model.telemetry_options import reported_profilers
from pacenote.net.reply import expected_form
from pacenote.net.rest import RestClient, RestResponse

_MAX_NODES = 10_000
"""Nodes of a cluster, at most; engines support about a thousand."""

_MAX_PROFILERS = 10
"""Names of what observes the JVMs, at most."""

MAX_NAME = 300
"""Characters of a name that are kept; engines accept names of 255."""


class NodeInfo(Struct, frozen=True):
    """One node of a cluster."""

    name: str
    """Its name in `NodeNames`."""
    host: str
    """The host name or address that it reports."""
    os: str
    """Name of the operating system."""
    jvm_version: str
    """Java version."""
    jvm_vendor: str
    """Vendor of the JVM."""
    heap_max_bytes: int
    """Heap size in bytes; 0 if it is not reported."""
    cpus: int
    """Number of processors that the node uses; 0 if it is not reported."""
    plugins: tuple[str, ...]
    """Names of the plugins, sorted."""
    modules: tuple[str, ...]
    """Names of the modules, sorted."""


class ClusterInfo(Struct, frozen=True):
    """A cluster."""

    distribution: str
    """The name of the engine."""
    version: str
    """Version of the engine."""
    build_hash: str
    """Commit of the build; empty if it is not reported."""
    flavor: str
    """Flavor or type of the build, such as `default`, `serverless` or `tar`."""
    cluster_name: str
    """`cluster.name`."""
    nodes: tuple[NodeInfo, ...]
    """The nodes, sorted by name; empty if the cluster does not show them (serverless, or missing
    privileges).
    """
    profilers: tuple[str, ...] = ()
    """What observes the JVMs of the nodes, as `reported_profilers` names it."""

    @property
    def engine(self) -> EngineInfo:
        """The engine, with its differences from other engines."""
        return EngineInfo(self.distribution, self.version, self.flavor)


def read_info(client: RestClient, names: NodeNames) -> ClusterInfo:
    """Reads the information that a cluster reports, whose nodes `names` names. Raises EngineError if it does
    not respond or is not supported.
    """
    root = client.get("/")
    if not isinstance(root, dict) or not isinstance(root.get("version"), dict):
        address = client.hosts[0].address
        raise EngineError(
            f"the server at {address} is neither {' nor '.join(ENGINE_APIS)}", hint="check --target-hosts"
        )
    response = client.exchange("GET", "/_nodes/os,jvm,plugins")
    with expected_form("its version and nodes"):
        return _info(root, response, names)


def _info(root: Mapping[str, Any], response: RestResponse, names: NodeNames) -> ClusterInfo:
    version = root["version"]
    nodes = response.body.get("nodes", {}) if response.ok and isinstance(response.body, dict) else {}
    if len(nodes) > _MAX_NODES:
        raise EngineError(f"the cluster reports {len(nodes):,} nodes, more than {_MAX_NODES:,}")
    unique = names.of(nodes)
    by_name = {unique[node_id]: node for node_id, node in nodes.items()}
    return ClusterInfo(
        distribution=_text(reported_engine(version)),
        version=_text(version.get("number")),
        build_hash=_text(version.get("build_hash")),
        flavor=_text(version.get("build_flavor") or version.get("build_type")),
        cluster_name=_text(root.get("cluster_name")),
        nodes=tuple(_node(name, by_name[name]) for name in sorted(by_name)),
        profilers=_profilers(by_name[name] for name in sorted(by_name)),
    )


def _profilers(nodes: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for node in nodes:
        arguments = node.get("jvm", {}).get("input_arguments", [])
        names.update((_text(name), None) for name in reported_profilers(map(as_text, arguments)))
    return tuple(names)[:_MAX_PROFILERS]


def _node(name: str, document: Mapping[str, Any]) -> NodeInfo:
    system, jvm = document.get("os", {}), document.get("jvm", {})
    return NodeInfo(
        name=name,
        host=_text(document.get("host")),
        os=_text(system.get("pretty_name") or system.get("name")),
        jvm_version=_text(jvm.get("version")),
        jvm_vendor=_text(jvm.get("vm_vendor")),
        heap_max_bytes=as_integer(jvm.get("mem", {}).get("heap_max_in_bytes", 0)),
        cpus=as_integer(system.get("allocated_processors") or system.get("available_processors") or 0),
        plugins=_names(document.get("plugins", [])),
        modules=_names(document.get("modules", [])),
    )


def _names(documents: list[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(sorted(_text(document.get("name")) for document in documents))


def _text(value: object) -> str:
    """Returns a name of limited length, because it is stored with the race."""
    return shortened("" if value is None else as_text(value), MAX_NAME)
