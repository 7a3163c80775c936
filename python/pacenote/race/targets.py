"""Where the requests of a race go: from clusters and client options to the targets of the plan."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import chain

from pacenote.cluster.cluster import Cluster, EmbeddedCluster, ExistingCluster, known_cluster
from pacenote.model.client_options import ClientOptions
from pacenote.model.race_record import Authentication, RecordedClient
from pacenote.model.race_request import RaceRequest
from pacenote.net import hosts as cluster_hosts
from pacenote.net.http_pool import proxy_for
from pacenote.plan.document import NamedTarget, Plan, Target, TargetHost, TargetProxy

_SCHEMES: dict[str, Authentication] = {"basic": "basic", "apikey": "api-key", "bearer": "bearer"}
_DEFAULT_HOSTS = ("127.0.0.1:9200",)


def known(request: RaceRequest) -> tuple[ExistingCluster, ...]:
    """The clusters that somebody else runs, the one under test first; none is asked yet.

    Raises UsageError for hosts and client options that no race could have.
    """
    if request.pipeline != "benchmark-only":
        return ()
    own = known_cluster(request.target_hosts or _DEFAULT_HOSTS, request.client)
    return (own, *(known_cluster(other.hosts, other.client) for other in request.additional_clusters))


def found(request: RaceRequest, warn: Callable[[str], None]) -> Cluster | None:
    """The cluster that somebody else runs, None if the race starts one. Every cluster is asked once, since it
    may not be there; `warn` is told what there is to know of the way to them.

    Raises as `known`, and EngineError for a cluster that does not answer or refuses us.
    """
    clusters = known(request)
    for text in chain.from_iterable(cluster.cautions() for cluster in clusters):
        warn(text)
    for cluster in clusters:
        cluster.info()
    for other in clusters[1:]:
        other.stop()
    return clusters[0] if clusters else None


def aimed(plan: Plan, cluster: Cluster, request: RaceRequest) -> Plan:
    """The plan with its targets: a cluster, and those beside it."""
    others = tuple(
        NamedTarget(other.name, _target(known_cluster(other.hosts, other.client), other.client))
        for other in request.additional_clusters
    )
    return dataclasses.replace(plan, target=_target(cluster, request.client), others=others)


def _target(cluster: Cluster, client: ClientOptions) -> Target:
    # An engine of ours asks for no credentials; other headers are sent to it too.
    headers = client.headers if isinstance(cluster, EmbeddedCluster) else cluster.access.headers
    return Target(
        hosts=tuple(map(_host, cluster.hosts)),
        headers=headers,
        timeout_ms=max(round(client.timeout_s * 1000), 1),
        compress=client.compress,
        tls=cluster.access.tls,
    )


def _host(host: cluster_hosts.Host) -> TargetHost:
    proxy = proxy_for(host.scheme, host.host, host.port)
    if proxy is None:
        return TargetHost(host.scheme, host.host, host.port, host.path)
    through = TargetProxy(proxy.scheme, proxy.host, proxy.port, proxy.authorization)
    return TargetHost(host.scheme, host.host, host.port, host.path, through)


def client_used(target: Target) -> RecordedClient:
    """What the record keeps of a target: everything that could matter, and no secret."""
    encrypted = any(host.scheme == "https" for host in target.hosts)
    kinds = [value.partition(" ")[0].lower() for name, value in target.headers if name == "authorization"]
    return RecordedClient(
        hosts=tuple(f"{host.scheme}://{_address(host)}{host.path}" for host in target.hosts),
        proxies={
            _address(host): f"{host.proxy.scheme}://{_address(host.proxy)}"
            for host in target.hosts
            if host.proxy
        },
        tls=encrypted,
        certificates_verified=target.tls.verify if encrypted else None,
        host_names_verified=target.tls.verify and target.tls.verify_host if encrypted else None,
        client_certificate=encrypted and target.tls.client_cert is not None,
        authentication=next((_SCHEMES.get(kind, "other") for kind in kinds), "none"),
        compress=target.compress,
        timeout_s=target.timeout_ms / 1000,
    )


def _address(place: TargetHost | TargetProxy) -> str:
    name = f"[{place.host}]" if ":" in place.host else place.host
    return f"{name}:{place.port}"
