"""Whether a node that was started is healthy, as it says itself."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from pacenote.errors import EngineError
from pacenote.model.codec import as_integer
from pacenote.model.foreign_messages import shown_value
from pacenote.net.reply import expected_form
from pacenote.net.rest import RestClient, UntrustedCertificate
from pacenote.system.process import session_of

HEALTH_TIMEOUT_S = 1.0
"""Timeout of a health check."""

NO_ANSWER = "it does not answer"
OTHER_ENGINE = "another engine answers at its port"


class NodeHealth(Struct, frozen=True):
    """What a node says."""

    problem: str
    """Why it is not healthy yet; empty if it is."""
    pid: int = 0
    """The id of the process that answers, if the node is healthy."""


def node_health(client: RestClient, session: int, cluster_size: int) -> NodeHealth:
    """Returns whether a node is healthy.

    It is healthy if a process of its session is the one that answers, all nodes have joined its cluster, and
    the state of the cluster is green or yellow. Engines that a launcher starts have another process id.
    Raises UntrustedCertificate.
    """
    try:
        response = client.exchange("GET", "/_cluster/health")
        processes = client.exchange("GET", "/_nodes/_local/process")
        with expected_form("its process"):
            pids = _process_ids(processes.body)
    except UntrustedCertificate:
        raise
    except EngineError:
        return NodeHealth(NO_ANSWER)
    if not isinstance(response.body, dict) or not response.ok:
        return NodeHealth(f"HTTP status {response.status}")
    # Two races that start at the same time may get the same port, and one would measure the other's engine.
    own_pids = [pid for pid in pids if session_of(pid) == session]
    if not own_pids:
        return NodeHealth(OTHER_ENGINE)
    status, joined = response.body.get("status", "unknown"), response.body.get("number_of_nodes")
    if status not in ("green", "yellow"):
        return NodeHealth(shown_value(status))
    if cluster_size > 1 and joined != cluster_size:
        return NodeHealth(f"{shown_value(joined)} of {cluster_size} nodes joined")
    return NodeHealth("", own_pids[0])


def _process_ids(body: Any) -> set[int]:
    """Returns the process ids in a response of `_nodes/process`."""
    nodes = body.get("nodes", {}) if isinstance(body, dict) else {}
    return {as_integer(node.get("process", {}).get("id", 0)) for node in nodes.values()}
