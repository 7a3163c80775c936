"""The door to `cluster/`: a cluster to race against, either found running or started here."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from pacenote.cluster.info import ClusterInfo, read_info
from pacenote.errors import EngineError, UsageError
from pacenote.model.client_options import ClientOptions, TlsOptions
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.net.hosts import Host, parse_hosts
from pacenote.net.http_pool import Access, proxy_for
from pacenote.net.rest import RestClient
from pacenote.net.tls import tls_context
from pacenote.provision.engine import EmbeddedRequest, start_engine
from pacenote.provision.node import Node


class Cluster(Protocol):
    """What a race needs to know of a cluster. A context manager that stops it on leaving."""

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Where its nodes answer."""

    @property
    def access(self) -> Access:
        """How to be let in."""

    def info(self) -> ClusterInfo:
        """What it says of itself. Raises EngineError when it does not answer."""

    def rest(self) -> RestClient:
        """A client for control traffic."""

    def alive(self) -> str | None:
        """None while it can serve, else why it cannot, in one line."""

    def stop(self) -> None:
        """End it if we started it; leave it alone if not. May be called again."""

    def __enter__(self) -> Cluster: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class ExistingCluster:
    """A cluster somebody else runs (`--pipeline=benchmark-only`). Made by `known_cluster`."""

    def __init__(self, hosts: tuple[Host, ...], access: Access, timeout: float) -> None:
        self.hosts = hosts
        self.access = access
        self._rest = RestClient(hosts, timeout, access)

    def cautions(self) -> tuple[str, ...]:
        """What the user should know of the way to it, a sentence each: no trust, proxies."""
        tls, found = self.access.tls, list[str]()
        if tls != TlsOptions() and all(host.scheme == "http" for host in self.hosts):
            found.append(
                "TLS options have no effect: no host is https, say so in its address or by use_ssl:true"
            )
        for host in self.hosts:
            if host.scheme == "https" and not tls.verify:
                found.append(f"the TLS certificate of {host.address} is not verified (verify_certs:false)")
            elif host.scheme == "https" and not tls.verify_host:
                found.append(
                    f"that the TLS certificate of {host.address} is for that name is not verified "
                    "(ssl_assert_hostname:false)"
                )
            if proxy := proxy_for(host.scheme, host.host, host.port):
                found.append(f"requests to {host.address} go through the proxy {proxy} of the environment")
        return tuple(found)

    def info(self) -> ClusterInfo:
        """See `Cluster`."""
        return read_info(self._rest)

    def rest(self) -> RestClient:
        """See `Cluster`."""
        return self._rest

    def alive(self) -> str | None:
        """See `Cluster`. Asks over the network: not for use while something is measured."""
        try:
            self._rest.exchange("HEAD", "/")
        except EngineError as failure:
            return failure.message
        return None

    def stop(self) -> None:
        """Close our connections; the cluster is not ours to stop."""
        self._rest.close()

    def __enter__(self) -> ExistingCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class EmbeddedCluster:
    """A cluster of one node that we started. Made by `embedded_cluster`."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.hosts = (node.host,)
        self.access = Access()
        self._rest = RestClient(self.hosts)

    def info(self) -> ClusterInfo:
        """See `Cluster`."""
        return read_info(self._rest)

    def rest(self) -> RestClient:
        """See `Cluster`."""
        return self._rest

    def alive(self) -> str | None:
        """See `Cluster`. Looks at the process only, so it costs the engine nothing."""
        return self.node.exit_reason()

    def stop(self) -> None:
        """Stop the node; its logs stay in the artifacts folder."""
        self._rest.close()
        self.node.stop()

    def __enter__(self) -> EmbeddedCluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def known_cluster(
    target_hosts: str | Sequence[str], client: ClientOptions = ClientOptions(), timeout: float = 10.0
) -> ExistingCluster:
    """A cluster that runs already, which is not asked yet. `timeout` in seconds for control traffic.

    Raises UsageError for what is no host, for credentials said twice, and for files of certificates that
    cannot be used.
    """
    hosts, own = parse_hosts(target_hosts, tls=client.use_ssl)
    headers = client.headers
    if client.authorization:
        if own.authorized:
            raise UsageError(
                "there are credentials in --target-hosts and in --client-options",
                hint="leave one of them out",
            )
        headers = (("authorization", client.authorization), *headers)
    access = Access(own.headers + headers, client.tls)
    if any(host.scheme == "https" for host in hosts):
        tls_context(client.tls)
    return ExistingCluster(hosts, access, timeout)


def existing_cluster(
    target_hosts: str | Sequence[str], client: ClientOptions = ClientOptions(), timeout: float = 10.0
) -> ExistingCluster:
    """A cluster that runs already. Asks it once, so that a wrong address shows now and not in the race.

    Raises as `known_cluster`, and EngineError naming the addresses when nobody answers, or refuses us.
    """
    cluster = known_cluster(target_hosts, client, timeout)
    cluster.info()
    return cluster


def embedded_cluster(request: EmbeddedRequest, progress: ProgressCallback = no_progress) -> EmbeddedCluster:
    """Start an engine for a race; see `start_engine`. The caller must stop it, best with `with`."""
    return EmbeddedCluster(start_engine(request, progress))
