"""The targets of a race: the clusters of its plan, made from hosts and client options."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path

from msgspec.structs import replace

from pacenote.cluster.cluster import AssembledEngine, Cluster, ExistingCluster, existing_cluster
from pacenote.cluster.container_cluster import StartedCluster
from pacenote.errors import EngineError, UsageError
from pacenote.model.client_options import ACCEPT_ENCODING, ClientOptions
from pacenote.model.race_request import RaceRequest
from pacenote.net.hosts import HttpHost
from pacenote.net.proxy import proxy_for
from pacenote.plan.document import NamedTarget, Plan, Target, TargetHost, TargetProxy
from pacenote.provision.layout import plan_layout
from pacenote.provision.node_registry import registered_nodes

_DEFAULT_HOSTS = ("127.0.0.1:9200",)


def parse_clusters(request: RaceRequest) -> tuple[ExistingCluster, ...]:
    """Returns the existing clusters of a race, the one under test first. Sends no requests.

    The result is empty if the race starts an engine. Raises UsageError for invalid hosts and client options.
    """
    if request.pipeline != "benchmark-only":
        return ()
    tested = existing_cluster(request.target_hosts or _DEFAULT_HOSTS, request.client)
    if request.client.api_key_per_client and _scheme(tested) != "basic":
        raise UsageError(
            "--client-options: create_api_key_per_client needs a user name and a password",
            hint="give basic_auth_user and basic_auth_password",
        )
    for other in request.additional_clusters:
        if other.client.api_key_per_client:
            raise UsageError(
                "--client-options: create_api_key_per_client is only possible for the cluster default, not "
                f"for {other.name}"
            )
    tested.assembled = _started_engine(request.home, tested)
    return (tested, *(existing_cluster(other.hosts, other.client) for other in request.additional_clusters))


def _started_engine(home: Path, cluster: ExistingCluster) -> AssembledEngine | None:
    """Returns what is known of a cluster that `pacenote start` started; None for other clusters, and in the
    home folder of another user, in which nothing is started.
    """
    try:
        layout = plan_layout(home)
    except EngineError:
        return None
    addresses = {host.address.replace("localhost", "127.0.0.1") for host in cluster.hosts}
    for entry in registered_nodes(layout):
        if entry.facts is not None and entry.facts.address in addresses:
            return AssembledEngine(entry.facts.title, entry.facts.absent_modules)
    return None


def _scheme(cluster: ExistingCluster) -> str:
    """Returns the kind of credentials of a cluster, in lower case; empty if it has none."""
    headers = dict(cluster.client_config.headers)
    return headers.get("authorization", "").partition(" ")[0].lower()


def host_counts(request: RaceRequest) -> tuple[int, ...]:
    """Returns the number of hosts of each cluster of a race, the one under test first.

    The hosts of an engine that the race starts are the nodes that take requests. Raises the same errors as
    `parse_clusters`.
    """
    started = request.engine.nodes.request_targets
    tested, *_ = (*(len(cluster.hosts) for cluster in parse_clusters(request)[:1]), started)
    others = (existing_cluster(other.hosts, other.client) for other in request.additional_clusters)
    return (tested, *(len(other.hosts) for other in others))


def check_clusters(request: RaceRequest, warn: Callable[[str], None]) -> Cluster | None:
    """Returns the existing cluster under test, or None if the race starts an engine.

    Sends a request to each host so that failures are found before the race. Calls `warn` with each host that
    cannot be reached if another one can, and with each warning about a connection, such as certificates that
    are not verified. Raises the same errors as
    `parse_clusters`, and EngineError for a cluster that does not respond or rejects the credentials.
    """
    clusters = parse_clusters(request)
    for text in chain.from_iterable(cluster.warnings() for cluster in clusters):
        warn(text)
    for cluster in clusters:
        cluster.info()
        if len(cluster.hosts) > 1:
            for text in cluster.rest().unreachable_hosts():
                warn(f"the race begins without the host {text}")
    for other in clusters[1:]:
        other.stop()
    return clusters[0] if clusters else None


def with_targets(plan: Plan, cluster: Cluster, request: RaceRequest) -> Plan:
    """Returns the plan with its targets: the cluster under test, and the other clusters of the request."""
    others = tuple(
        NamedTarget(other.name, _target(existing_cluster(other.hosts, other.client), other.client))
        for other in request.additional_clusters
    )
    return replace(plan, target=_target(cluster, request.client), others=others)


def _target(cluster: Cluster, client: ClientOptions) -> Target:
    headers = cluster.client_config.headers
    if isinstance(cluster, StartedCluster):
        # It has credentials only if it has security. Those of the user are omitted without it.
        headers = (*headers, *client.headers)
    if all(name != ACCEPT_ENCODING for name, _ in headers):
        # As in Rally, so that the engine spends the same time on compression.
        headers = ((ACCEPT_ENCODING, "gzip"), *headers)
    return Target(
        hosts=tuple(map(_host, cluster.hosts)),
        headers=headers,
        timeout_ms=max(round(client.timeout_s * 1000), 1),
        compress=client.compress,
        tls=cluster.client_config.tls,
    )


def _host(host: HttpHost) -> TargetHost:
    proxy = proxy_for(host.scheme, host.host, host.port)
    if proxy is None:
        return TargetHost(host.scheme, host.host, host.port, host.path)
    through = TargetProxy(proxy.scheme, proxy.host, proxy.port, proxy.authorization)
    return TargetHost(host.scheme, host.host, host.port, host.path, through)
