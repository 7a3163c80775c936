"""What Rally stores about the cluster and its nodes with every race."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pacenote.model.codec import as_text
from pacenote.model.engine import SERVERLESS
from pacenote.telemetry.device import DeviceReading, TelemetryDevice, expected_form
from pacenote.telemetry.short_names import ShortNames, values_by_key

_HOSTED = (".elastic-cloud.com", ".elastic.cloud", ".found.io", ".elastic.co")
"""Ends of the names of hosts of Elastic's cloud."""

_AUTHENTICATION = {"api-key": "api_key"}
"""Rally's names of ways to authenticate, where they differ."""


class ClusterEnvironmentInfo(TelemetryDevice):
    """Version and build of the engine, and what kind of cluster it is."""

    name = "cluster-environment-info"
    description = "Version and build of the engine, and the kind of cluster."
    serverless = "public"

    def start(self) -> None:
        """Reads nothing: the values do not change during a race."""

    def stop(self) -> DeviceReading:
        """Reads what the cluster states about itself. Raises EngineError."""
        reply = self._cluster.get("/")
        with expected_form('"version" with its number'):
            version = reply["version"]
            facts = {
                "source_revision": version.get("build_hash"),
                "distribution_version": version.get("number"),
                "distribution_flavor": version.get("build_flavor") or version.get("distribution"),
                "target_id": reply.get("cluster_name"),
                "target_platform": self._platform(),
                "target_auth_type": _AUTHENTICATION.get(
                    self._cluster.authentication, self._cluster.authentication
                ),
            }
        known = {f"cluster.{key}": value for key, value in facts.items() if value is not None}
        return DeviceReading(values=known)

    def _platform(self) -> str:
        if self._cluster.is_serverless:
            return SERVERLESS
        hosts = self._cluster.hosts
        is_hosted = bool(hosts) and all(host.endswith(_HOSTED) for host in hosts)
        return "hosted" if is_hosted else "on-prem"


class NodeEnvironmentInfo(TelemetryDevice):
    """Host, operating system, JVM, plugins and attributes of each node."""

    name = "node-environment-info"
    description = "Host, operating system, JVM, plugins and attributes of each node."

    def start(self) -> None:
        """Reads nothing: the values do not change during a race."""

    def stop(self) -> DeviceReading:
        """Reads what each node states about itself. Raises EngineError."""
        reply = self._cluster.get("/_nodes/os,jvm,plugins")
        with expected_form('"nodes" with their "os" and "jvm"'):
            nodes = reply["nodes"]
            names = self._cluster.node_names.of(nodes)
            return DeviceReading(values=values_by_key(_nodes(nodes, names)))


def _nodes(nodes: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    for node_id, node in nodes.items():
        keys = ShortNames()
        for key, value in _node(node).items():
            if value is not None:
                yield f"node.{names[node_id]}.{keys.of(key)}", value


def _node(node: Mapping[str, Any]) -> dict[str, object]:
    system, jvm = node.get("os", {}), node.get("jvm", {})
    facts = {
        "host_name": node.get("host"),
        "os_name": system.get("name"),
        "os_version": system.get("version"),
        "cpu_logical_cores": system.get("available_processors"),
        "jvm_vendor": jvm.get("vm_vendor"),
        "jvm_version": jvm.get("version"),
        "plugins": sorted(as_text(plugin["name"]) for plugin in node.get("plugins", ())),
    }
    attributes = {f"attribute_{key}": value for key, value in node.get("attributes", {}).items()}
    return {**facts, **attributes}
