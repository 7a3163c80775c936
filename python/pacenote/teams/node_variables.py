"""The variables of templates that describe one node: what Rally's provisioner gives them."""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import Struct

NOWHERE = Path("/nonexistent")
"""The folder of an exemplary node, for checks before there is a node."""


class NodeVariables(Struct, frozen=True, kw_only=True):
    """One node, for the templates of a team repository."""

    cluster_name: str = "rally-benchmark"
    """`cluster.name`."""
    node_name: str = "rally-node-0"
    """`node.name`."""
    all_node_names: tuple[str, ...] = ("rally-node-0",)
    """The names of all nodes of the cluster."""
    install_root: Path = NOWHERE / "engine"
    """The folder of the engine, with `config` below it."""
    data_paths: tuple[Path, ...] = (NOWHERE / "data",)
    """The folders of the node's data."""
    logs: Path = NOWHERE / "logs"
    """The folder of its logs and heap dumps."""
    http_port: int = 39200
    """`http.port`."""
    transport_port: int = 39300
    """`transport.port`."""
    java_major: int = 21
    """The major version of its Java."""

    @property
    def variables(self) -> dict[str, object]:
        """The variables under Rally's names. All nodes are on loopback."""
        ips = ["127.0.0.1"] * len(self.all_node_names)
        return {
            "cluster_name": self.cluster_name,
            "node_name": self.node_name,
            "data_paths": [str(path) for path in self.data_paths],
            "log_path": str(self.logs),
            "heap_dump_path": str(self.logs),
            "node_ip": "127.0.0.1",
            "network_host": "127.0.0.1",
            "http_port": str(self.http_port),
            "transport_port": str(self.transport_port),
            # Templates insert these two as they are, as YAML.
            "all_node_ips": json.dumps(ips, separators=(",", ":")),
            "all_node_names": json.dumps(self.all_node_names, separators=(",", ":")),
            "all_node_ips_count": len(ips),
            "minimum_master_nodes": len(ips),
            "install_root_path": str(self.install_root),
        }
