"""The door to `cluster/`: a cluster to race against, either found running or started here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol

from pacenote.cluster import registry, resources
from pacenote.cluster.cars import Car, compose_car
from pacenote.cluster.distribution import Distribution, find_distribution
from pacenote.cluster.hosts import Host, parse_hosts
from pacenote.cluster.info import ClusterInfo, read_info
from pacenote.cluster.install import assemble
from pacenote.cluster.java import Java, fetched_java, find_java, reachable_java
from pacenote.cluster.java_wheel import fetch_java, suitable_majors, wheel_home
from pacenote.cluster.leftovers import remove_leftovers
from pacenote.cluster.lock import Lock, find_lock, save_lock
from pacenote.cluster.maven import fetch, missing_artifacts
from pacenote.cluster.node import Install, Node, NodeSpec, start_node
from pacenote.cluster.place import Place, find_place, planned_place
from pacenote.cluster.progress import Progress, silent
from pacenote.cluster.relock import Source, make_lock
from pacenote.cluster.rest import RestClient
from pacenote.cluster.trust import tls_context
from pacenote.cluster.wire import Access, proxy_for
from pacenote.errors import EngineError, UsageError
from pacenote.model.client_options import ClientOptions, Tls

LOG_NAME = "engine.log"

_ONLINE_HINT = "run once without --offline"
# How many missing jars a message names.
_NAMED = 3


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
        if tls != Tls() and all(host.scheme == "http" for host in self.hosts):
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


@dataclass(frozen=True, slots=True)
class EmbeddedRequest:
    """What engine to start. `artifacts` is the folder for its logs; an empty `version` is the default one.

    `runtime_jdk` as on the command line; `maven_mirror` a repository's URL; `start_timeout` in seconds. With
    `offline` nothing is resolved or downloaded: what is not here is an error.
    """

    home: Path
    artifacts: Path
    distribution: str = "opensearch"
    version: str = ""
    car: Car = field(default_factory=lambda: compose_car(()))
    runtime_jdk: str | None = None
    maven_mirror: str | None = field(default=None, repr=False)
    node_name: str = "rally-node-0"
    cluster_name: str = "rally-benchmark"
    start_timeout: float = 120.0
    preserve: bool = False
    offline: bool = False


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


def check_request(request: EmbeddedRequest) -> None:
    """Raise what would stop the engine's start and can be known before any download; creates nothing.

    Unknown distribution or version, no suitable Java, a heap that is none or does not fit into the memory,
    and with `offline` what is missing here. Ends nodes that dead owners left behind: they take memory.
    """
    place = planned_place(request.home)
    registry.sweep(place)
    distribution = find_distribution(request.distribution, request.version)
    _check_java(request, distribution, place)
    _check_memory(request)
    _known_lock(request, distribution, place)


def embedded_cluster(request: EmbeddedRequest, progress: Progress = silent) -> EmbeddedCluster:
    """Start an engine for a race: fetched, assembled, started, healthy. The caller must stop it, best with
    `with`.

    Also ends nodes that dead owners left behind. Raises EngineError saying what is missing and what to do.
    """
    place = find_place(request.home)
    registry.sweep(place)
    # Before anything is fetched: what cannot run here should not cost a download first.
    _check_memory(request)
    install = _install(request, place, progress)
    spec = NodeSpec(
        distribution=install.distribution.name,
        version=_version(request, install.distribution),
        name=request.node_name,
        cluster_name=request.cluster_name,
        heap=request.car.heap_size,
        jvm_options=request.car.jvm_options,
        settings=request.car.settings,
        start_timeout=request.start_timeout,
        preserve=request.preserve,
    )
    return EmbeddedCluster(start_node(spec, install, place, request.artifacts / LOG_NAME, progress))


def install_engine(request: EmbeddedRequest, progress: Progress = silent) -> Install:
    """Have an engine ready to start without starting it (`pacenote download` and `install`)."""
    return _install(request, find_place(request.home), progress)


def _version(request: EmbeddedRequest, distribution: Distribution) -> str:
    return request.version or distribution.default_version


def _install(request: EmbeddedRequest, place: Place, progress: Progress) -> Install:
    remove_leftovers(place)
    distribution = find_distribution(request.distribution, request.version)
    java = _java(request, distribution, place, progress)
    version = _version(request, distribution)
    lock = _known_lock(request, distribution, place)
    if lock is None:
        lock = _new_lock(distribution, version, Source(place.jars, request.maven_mirror), progress)
        save_lock(lock, place.locks)
    # Told at every start: a track that fails for want of a module should not be a riddle.
    if absent := absent_modules(distribution, lock):
        progress(f"{distribution.name} {version} comes without {', '.join(absent)}: not published", 0, 0)
    fetch(lock.artifacts(), place.jars, mirror=request.maven_mirror, progress=progress)
    folder = assemble(distribution, lock, place.jars, place.installs)
    return Install(distribution, folder, reachable_java(java, place))


def _java(request: EmbeddedRequest, distribution: Distribution, place: Place, progress: Progress) -> Java:
    """The Java for an engine: chosen, here already, or fetched."""
    needs = distribution.java_range(_version(request, distribution))
    try:
        return find_java(request.runtime_jdk, needs, progress=progress)
    except EngineError:
        majors = _fetchable(request, needs, place)
        if not majors:
            raise
        return fetched_java(fetch_java(majors[0], place.java, progress))


def _check_java(request: EmbeddedRequest, distribution: Distribution, place: Place) -> None:
    """Raises EngineError when there is no Java for the engine, and none that could be fetched."""
    needs = distribution.java_range(_version(request, distribution))
    try:
        find_java(request.runtime_jdk, needs)
    except EngineError:
        if not _fetchable(request, needs, place):
            raise


def _fetchable(request: EmbeddedRequest, needs: tuple[int, int | None], place: Place) -> list[int]:
    """Major versions that suit an engine and the choice of the user, and are here or can be fetched."""
    chosen = request.runtime_jdk
    return [
        major
        for major in suitable_majors(needs)
        if chosen in (None, str(major))
        if wheel_home(major, place.java).exists() or not request.offline
    ]


def _check_memory(request: EmbeddedRequest) -> None:
    resources.check_memory(resources.parse_heap(request.car.heap_size), resources.available_memory())


def _known_lock(request: EmbeddedRequest, distribution: Distribution, place: Place) -> Lock | None:
    """The lock, None when it has to be made; with `offline` never None, and all its jars are here."""
    version = _version(request, distribution)
    lock = find_lock(distribution.name, version, place.locks)
    if not request.offline:
        return lock
    if lock is None:
        raise EngineError(
            f"{distribution.name} {version} was never looked up here, and --offline forbids it",
            hint=_ONLINE_HINT,
        )
    jars = lock.artifacts()
    if missing := missing_artifacts(jars, place.jars):
        names = ", ".join(each.file_name for each in missing[:_NAMED])
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        raise EngineError(
            f"{len(missing)} of the {len(jars)} jars of {distribution.name} {version} are missing in "
            f"{place.jars}, and --offline forbids downloading them: {names}{more}",
            hint=_ONLINE_HINT,
        )
    return lock


def absent_modules(distribution: Distribution, lock: Lock) -> tuple[str, ...]:
    """The modules this version should have, but the repository does not hold."""
    present = {module.name for module in lock.modules}
    return tuple(each.folder for each in distribution.recipes(lock.version) if each.folder not in present)


def _new_lock(distribution: Distribution, version: str, source: Source, progress: Progress) -> Lock:
    progress(f"{distribution.name} {version} is new here: its parts are looked up once", 0, 0)
    return make_lock(distribution, version, source, progress)
