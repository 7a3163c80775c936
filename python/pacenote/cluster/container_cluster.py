"""A cluster of one engine in a container (`--pipeline=docker`)."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from pacenote.cluster.cluster import EmbeddedCluster
from pacenote.cluster.info import ClusterInfo, read_info
from pacenote.model.node_names import NodeNames
from pacenote.net.http_pool import ClientConfig
from pacenote.net.rest import RestClient
from pacenote.provision.containers.engine_container import EngineContainer
from pacenote.provision.node import Node


class ContainerCluster:
    """A cluster in a container that Pacenote started."""

    def __init__(self, container: EngineContainer) -> None:
        self.hosts = (container.host,)
        self.client_config = ClientConfig()
        self.startup_s = container.start_duration_s
        self.assembled = None
        self.node_names = NodeNames()
        self._container = container
        self._rest = RestClient(self.hosts)

    def local_nodes(self) -> tuple[Node, ...]:
        """Returns no nodes: the processes of a container are not those of this machine."""
        return ()

    def exit_reason(self) -> str | None:
        """Returns why the container has ended without `stop`, in one line; None while it runs."""
        return self._container.exit_reason()

    def info(self) -> ClusterInfo:
        """Returns the information that the cluster reports. Raises EngineError if it does not respond."""
        return read_info(self._rest, self.node_names)

    def rest(self) -> RestClient:
        """Returns a client for control traffic."""
        return self._rest

    def stop(self) -> None:
        """Stops and removes the container; its log stays in the artifacts folder. May be called again."""
        self._rest.close()
        self._container.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


StartedCluster = EmbeddedCluster | ContainerCluster
"""A cluster that Pacenote started."""
