"""The nodes of a cluster, started and stopped together.

prepare all ── launch all ── all healthy ──> running ── stop() ──> stopped
                   │  a port is in use: all are started again with other ports, up to 3 times
                   └─ one has ended, or is not healthy in time ──> EngineError, no process or files remain
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from pacenote.errors import EngineError
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.net.hosts import HttpHost
from pacenote.net.rest import RestClient, UntrustedCertificate
from pacenote.provision import engine_log, resources
from pacenote.provision.engine_program import EngineProgram, NodePorts
from pacenote.provision.layout import EngineLayout
from pacenote.provision.node import Node
from pacenote.provision.node_health import HEALTH_TIMEOUT_S, NO_ANSWER, OTHER_ENGINE, NodeHealth, node_health
from pacenote.provision.node_plan import membership
from pacenote.provision.node_spec import NodeSpec
from pacenote.provision.ports import check_ports, free_ports, listening_users

LOG_NAME = "engine.log"
"""The name of the file with the output of a node."""

MAX_PORT_ATTEMPTS = 3
"""Number of attempts with other ports after a port was in use."""

POLL_INTERVAL_S = 0.1
"""Seconds between two health checks during startup."""


class Fleet(Protocol):
    """Starts the nodes of one cluster on their hosts."""

    def start(self, specs: Sequence[NodeSpec], progress: ProgressCallback = no_progress) -> None:
        """Starts the nodes, and waits until all have joined a healthy cluster. The caller must call `stop`,
        also after an error. Raises EngineError and DiskError.
        """

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes that run on this host."""

    @property
    def specs(self) -> tuple[NodeSpec, ...]:
        """The specs of all nodes."""

    @property
    def hosts(self) -> tuple[HttpHost, ...]:
        """The hosts that take requests."""

    @property
    def startup_s(self) -> float:
        """Seconds from the spawn of the first process until the cluster was healthy."""

    @property
    def logs(self) -> tuple[Path, ...]:
        """The files on this host with the output of each node."""

    def exit_reason(self) -> str | None:
        """Returns why a node has ended without `stop`, in one line; None while all run and after `stop`."""

    def stop(self) -> None:
        """Stops all nodes and collects their logs. May be called again."""


class LocalFleet:
    """Nodes on this host."""

    def __init__(self, program: EngineProgram, layout: EngineLayout, artifacts: Path) -> None:
        self.nodes: tuple[Node, ...] = ()
        """The nodes, in the order of their specs."""
        self._program = program
        self._layout = layout
        self._artifacts = artifacts.absolute()

    def start(self, specs: Sequence[NodeSpec], progress: ProgressCallback = no_progress) -> None:
        """Starts the nodes at the same time, and waits until all have joined a healthy cluster.

        Each has a log: `engine.log` of one node is in the folder for artifacts, those of several are in
        folders with their names. Raises EngineError if there is too little memory or disk space. Also raises
        it, with the line of the log that shows the cause, if a node ends or does not become healthy in time.
        After any error and after Ctrl-C, no process and no files of the nodes are left.
        """
        heaps = [resources.parse_heap(spec.heap) for spec in specs]
        resources.check_memory(max(heaps), resources.available_memory(), len(heaps))
        resources.check_disk(self._layout.nodes)
        for spec in specs:
            check_ports(spec.settings)
        several = len(specs) > 1
        self.nodes = tuple(
            Node(spec, self._layout, self._artifacts / (spec.name if several else "") / LOG_NAME)
            for spec in specs
        )
        try:
            _start_together(self.nodes, self._program, progress)
        except BaseException:
            self.stop()
            raise

    @property
    def specs(self) -> tuple[NodeSpec, ...]:
        """The specs of the nodes."""
        return tuple(node.spec for node in self.nodes)

    @property
    def hosts(self) -> tuple[HttpHost, ...]:
        """The hosts of the nodes, without those that only manage the cluster."""
        return tuple(node.host for node in self.nodes if node.spec.takes_requests)

    @property
    def startup_s(self) -> float:
        """Seconds from the spawn of the first process until the cluster was healthy."""
        first = min(node.started_at for node in self.nodes)
        return max(node.started_at + node.start_duration_s for node in self.nodes) - first

    @property
    def logs(self) -> tuple[Path, ...]:
        """The files with the output of each node."""
        return tuple(node.log_file for node in self.nodes)

    def exit_reason(self) -> str | None:
        """Returns why a node has ended without `stop`, in one line; None while all run and after `stop`."""
        return next(filter(None, (node.exit_reason() for node in self.nodes)), None)

    def detach(self) -> None:
        """Lets the nodes run without this process, which must not stop them afterwards. Raises DiskError."""
        for node in self.nodes:
            node.detach()

    def stop(self) -> None:
        """Stops all nodes at the same time; no process remains, even if this call is interrupted. May be
        called again.
        """
        with contextlib.ExitStack() as stopping:
            for node in self.nodes:
                stopping.callback(node.stop)
            for node in self.nodes:
                node.begin_stop()


def _start_together(nodes: Sequence[Node], program: EngineProgram, progress: ProgressCallback) -> None:
    for attempt in range(1, MAX_PORT_ATTEMPTS + 1):
        free = free_ports(2 * len(nodes))
        pairs = [NodePorts(*pair) for pair in zip(free[::2], free[1::2], strict=True)]
        ports = [node.spec.ports or pair for node, pair in zip(nodes, pairs, strict=True)]
        cluster = list(zip((node.spec for node in nodes), ports, strict=True))
        # All nodes need the same one, so it is that of the first, which outlives none of the others.
        repository = nodes[0].entry.repository
        commands = [
            node.prepare(program, node_ports, membership(node.spec, cluster, repository))
            for node, node_ports in zip(nodes, ports, strict=True)
        ]
        # Only now: copies of data may take longer than a node may take to start.
        for node, command in zip(nodes, commands, strict=True):
            node.launch(command)
        error = _await_health(nodes, progress)
        if error is None:
            return
        final = attempt == MAX_PORT_ATTEMPTS or any(node.keeps_port for node in nodes)
        if final or engine_log.PORT_IN_USE not in str(error):
            raise error
        for node in nodes:
            node.end_process()


def _await_health(nodes: Sequence[Node], progress: ProgressCallback) -> EngineError | None:
    """Waits until all nodes are healthy, and confirms each; returns the error of the first that is not."""
    with contextlib.ExitStack() as clients:
        waiting: list[tuple[Node, RestClient]] = []
        for node in nodes:
            client = RestClient([node.host], HEALTH_TIMEOUT_S, node.spec.access.starting)
            clients.callback(client.close)
            waiting.append((node, client))
        return _poll(waiting, len(nodes), progress)


def _health(node: Node, client: RestClient, cluster_size: int) -> NodeHealth:
    """Returns whether a node is healthy. Raises UntrustedCertificate if it keeps a certificate that is not
    trusted.
    """
    access = node.spec.access
    if access.scheme == "http" and access.starting.has_credentials:
        # Until the node listens, another user may: that one would get the credentials.
        users = listening_users(node.http_port)
        if users is not None and users != {node.user}:
            return NodeHealth(OTHER_ENGINE if users else NO_ANSWER)
    try:
        return node_health(client, node.session, cluster_size)
    except UntrustedCertificate:
        if not node.spec.access.is_own_certificate:
            raise
        return NodeHealth(OTHER_ENGINE)


def _poll(
    waiting: list[tuple[Node, RestClient]], cluster_size: int, progress: ProgressCallback
) -> EngineError | None:
    nodes = [node for node, _ in waiting]
    first, health = nodes[0], NodeHealth(NO_ANSWER)
    limit = first.spec.start_timeout_s
    label = f"starting {first.spec.distribution} {first.spec.version}"
    if cluster_size > 1:
        label += f" with {cluster_size} nodes"
    while (waited_s := time.monotonic() - first.started_at) < limit:
        progress(label, int(waited_s), int(limit))
        for node in nodes:
            if not node.is_running():
                return node.start_error(node.exit_reason() or f"node {node.spec.name} ended")
        while waiting:
            node, client = waiting[0]
            health = _health(node, client, cluster_size)
            if health.problem:
                break
            node.confirm(health.pid)
            waiting.pop(0)
        else:
            return None
        node.wait(POLL_INTERVAL_S)
    node = waiting[0][0]
    problem = (
        f"node {node.spec.name} is not healthy after {limit:.0f} s ({health.problem}); see {node.log_file}"
    )
    return node.start_error(problem)
