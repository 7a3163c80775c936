"""What a cluster says of itself: read once before a race, kept in its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pacenote.errors import EngineError
from pacenote.net.rest import RestClient


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """One node. `heap_max_bytes` and `cpus` are 0 where the cluster does not say."""

    name: str
    host: str
    os: str
    jvm_version: str
    jvm_vendor: str
    heap_max_bytes: int
    cpus: int
    plugins: tuple[str, ...]
    modules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """A cluster. `distribution` is `opensearch` or `elasticsearch`; `flavor` as the engine names its build.

    `nodes` is empty where the cluster does not show them (serverless, or missing rights).
    """

    distribution: str
    version: str
    build_hash: str
    flavor: str
    cluster_name: str
    nodes: tuple[NodeInfo, ...]


def read_info(client: RestClient) -> ClusterInfo:
    """Ask a cluster what it is. Raises EngineError when it does not answer or is neither engine."""
    root = client.get("/")
    if not isinstance(root, dict) or not isinstance(root.get("version"), dict):
        where = client.hosts[0].address
        raise EngineError(
            f"what answers at {where} is neither Elasticsearch nor OpenSearch", hint="check --target-hosts"
        )
    version = root["version"]
    reply = client.exchange("GET", "/_nodes/os,jvm,plugins")
    nodes = reply.body.get("nodes", {}) if reply.ok and isinstance(reply.body, dict) else {}
    return ClusterInfo(
        distribution=str(version.get("distribution") or "elasticsearch"),
        version=str(version.get("number", "")),
        build_hash=str(version.get("build_hash", "")),
        flavor=str(version.get("build_flavor") or version.get("build_type") or ""),
        cluster_name=str(root.get("cluster_name", "")),
        nodes=tuple(sorted((_node(node) for node in nodes.values()), key=lambda node: node.name)),
    )


def _node(document: Mapping[str, Any]) -> NodeInfo:
    system, jvm = document.get("os", {}), document.get("jvm", {})
    return NodeInfo(
        name=str(document.get("name", "")),
        host=str(document.get("host", "")),
        os=str(system.get("pretty_name") or system.get("name") or ""),
        jvm_version=str(jvm.get("version", "")),
        jvm_vendor=str(jvm.get("vm_vendor", "")),
        heap_max_bytes=int(jvm.get("mem", {}).get("heap_max_in_bytes", 0)),
        cpus=int(system.get("allocated_processors") or system.get("available_processors") or 0),
        plugins=_names(document.get("plugins", [])),
        modules=_names(document.get("modules", [])),
    )


def _names(documents: list[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(sorted(str(each.get("name", "")) for each in documents))
