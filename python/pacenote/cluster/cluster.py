"""The cluster under test: an existing one, or one that Pacenote starts."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from msgspec import Struct

from pacenote.cluster.info import ClusterInfo, read_info
from pacenote.errors import UsageError
from pacenote.model.client_options import ClientOptions, TlsOptions
from pacenote.model.engine_archive import EngineArchive
from pacenote.model.node_names import NodeNames
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.net.hosts import HttpHost, parse_hosts
from pacenote.net.http_pool import ClientConfig
from pacenote.net.proxy import proxy_for
from pacenote.net.rest import RestClient
from pacenote.net.tls import tls_context
from pacenote.provision.data_sets import DataSet, DataSetWriter
from pacenote.provision.engine import start_engine
from pacenote.provision.engine_checks import find_initial_data
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.fleet import Fleet
from pacenote.provision.node import Node


class AssembledEngine(Struct, frozen=True):
    """What an engine that Pacenote started does not report about itself."""

    title: str
    """What it is, if it must not be mistaken for the official distribution; otherwise empty."""
    absent_modules: tuple[str, ...]
    """The modules of the official archive that it lacks."""
    archive: EngineArchive | None = None
    """The official archive that it was installed from, or None if it was assembled."""


class Cluster(Protocol):
    """A cluster as a race uses it: a context manager that calls `stop` at the end."""

    @property
    def hosts(self) -> tuple[HttpHost, ...]:
        """The hosts that requests are sent to."""

    @property
    def client_config(self) -> ClientConfig:
        """Headers and TLS settings of requests."""

    @property
    def startup_s(self) -> float | None:
        """Seconds from the spawn of the first node's process until all nodes were healthy, or None if
        Pacenote did not start them.
        """

    @property
    def node_names(self) -> NodeNames:
        """The names of its nodes in all that the race stores."""

    def local_nodes(self) -> tuple[Node, ...]:
        """Returns the nodes that Pacenote started on this machine."""

    @property
    def assembled(self) -> AssembledEngine | None:
        """What Pacenote knows about an engine that it assembled, or None if it did not."""

    def info(self) -> ClusterInfo:
        """Returns the information that the cluster reports. Raises EngineError if it does not respond."""

    def rest(self) -> RestClient:
        """Returns a client for control traffic."""

    def stop(self) -> None:
        """Stops the cluster if Pacenote started it; otherwise closes connections. May be called again."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class ExistingCluster:
    """An existing cluster (`--pipeline=benchmark-only`). Created by `existing_cluster`."""

    def __init__(self, hosts: tuple[HttpHost, ...], client_config: ClientConfig, timeout_s: float) -> None:
        self.hosts = hosts
        self.client_config = client_config
        self.startup_s = None
        self.node_names = NodeNames()
        self.assembled: AssembledEngine | None = None
        """Set if `pacenote start` started the engine."""
        self._rest = RestClient(hosts, timeout_s, client_config)

    def warnings(self) -> tuple[str, ...]:
        """Returns warnings about TLS options and proxies of the connections, one sentence each."""
        tls, warnings = self.client_config.tls, list[str]()
        if tls != TlsOptions() and all(host.scheme == "http" for host in self.hosts):
            warnings.append(
                "TLS options have no effect: no host is https; write https:// in its address, or use_ssl:true"
            )
        for host in self.hosts:
            if host.scheme == "https" and not tls.verify:
                warnings.append(f"the TLS certificate of {host.address} is not verified (verify_certs:false)")
            elif host.scheme == "https" and not tls.verify_host:
                warnings.append(
                    f"the host name in the TLS certificate of {host.address} is not verified "
                    "(ssl_assert_hostname:false)"
                )
            if proxy := proxy_for(host.scheme, host.host, host.port):
                warnings.append(f"requests to {host.address} go through the proxy {proxy} of the environment")
        return tuple(warnings)

    def local_nodes(self) -> tuple[Node, ...]:
        """Returns no nodes: Pacenote did not start them, even if they are on this machine."""
        return ()

    def info(self) -> ClusterInfo:
        """Returns the information that the cluster reports. Raises EngineError if it does not respond."""
        return read_info(self._rest, self.node_names)

    def rest(self) -> RestClient:
        """Returns a client for control traffic."""
        return self._rest

    def stop(self) -> None:
        """Closes the connections of the REST client; the cluster keeps running."""
        self._rest.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class EmbeddedCluster:
    """A cluster that Pacenote started. Created by `start_cluster`."""

    def __init__(self, fleet: Fleet, initial_data: DataSet | None = None) -> None:
        spec = fleet.specs[0]
        self.fleet = fleet
        self.hosts = fleet.hosts
        self.client_config = spec.access.clients
        self.startup_s = fleet.startup_s
        self.node_names = NodeNames()
        self.assembled = AssembledEngine(spec.title, spec.absent_modules, spec.archive)
        self.initial_data = initial_data
        """The data set that it started with, or None if it started without data."""
        self._rest = RestClient(self.hosts, config=self.client_config)

    def local_nodes(self) -> tuple[Node, ...]:
        """Returns the nodes that Pacenote started on this machine."""
        return self.fleet.nodes

    def exit_reason(self) -> str | None:
        """Returns why a node has ended without `stop`, in one line; None while all run and after `stop`."""
        return self.fleet.exit_reason()

    def info(self) -> ClusterInfo:
        """Returns the information that the cluster reports. Raises EngineError if it does not respond."""
        return read_info(self._rest, self.node_names)

    def rest(self) -> RestClient:
        """Returns a client for control traffic."""
        return self._rest

    def keep_data(self, writer: DataSetWriter) -> None:
        """Has the data of all nodes moved to a data set when they stop. Raises DiskError."""
        for number, node in enumerate(self.fleet.nodes):
            node.keep_data(writer.targets(number, len(node.data_paths)))

    def data_problem(self) -> str | None:
        """Returns why the data of a node could not be kept, in one line, or None."""
        return next(filter(None, (node.data_problem for node in self.fleet.nodes)), None)

    def stop(self) -> None:
        """Stops the nodes; their logs stay in the artifacts folder. May be called again."""
        self._rest.close()
        self.fleet.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def existing_cluster(
    target_hosts: str | Sequence[str], client: ClientOptions = ClientOptions(), timeout_s: float = 10.0
) -> ExistingCluster:
    """Returns an existing cluster without sending a request.

    `timeout_s` is the timeout of control traffic, in seconds; its connections are opened within the timeout
    of the client options if that is shorter. Raises UsageError for an address that is not a
    host, for credentials in both arguments, and for certificate files that cannot be used.
    """
    parsed = parse_hosts(target_hosts, tls=client.use_ssl)
    if parsed.authorization and client.authorization:
        raise UsageError(
            "there are credentials in --target-hosts and in --client-options",
            hint="remove one of them",
        )
    authorization = parsed.authorization or client.authorization
    headers = (("authorization", authorization), *client.headers) if authorization else client.headers
    if any(host.scheme == "https" for host in parsed.hosts):
        tls_context(client.tls)
    # A host that accepts no connections would delay every control request until their longer timeout.
    config = ClientConfig(headers, client.tls, client.timeout_s)
    return ExistingCluster(parsed.hosts, config, timeout_s)


def start_cluster(request: EngineRequest, progress: ProgressCallback = no_progress) -> EmbeddedCluster:
    """Starts an engine for a race. The caller must stop it, preferably using `with`. Raises the same errors
    as `start_engine`.
    """
    return EmbeddedCluster(start_engine(request, progress), find_initial_data(request))
