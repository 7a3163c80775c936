"""Chooses the Java of an engine, and has it check the JVM options of the nodes."""

from __future__ import annotations

from pathlib import Path

from pacenote.errors import EngineError, UsageError
from pacenote.model.progress import ProgressCallback
from pacenote.provision import resources
from pacenote.provision.archives.archive_program import ArchiveProgram
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.parts import NodePaths
from pacenote.provision.engine_program import AssembledProgram, NodePorts, NodeSetup
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.java import JavaRange, JavaRuntime, find_java, is_runnable, read_downloaded_java
from pacenote.provision.java_wheel import download_java, downloadable_majors, wheel_home
from pacenote.provision.jvm_check import check_jvm_options
from pacenote.provision.layout import EngineLayout
from pacenote.provision.team_cars import jvm_options_of
from pacenote.system.child_process import ProcessUser
from pacenote.system.paths import exists


def java_for(
    request: EngineRequest, supported: JavaRange, layout: EngineLayout, progress: ProgressCallback
) -> JavaRuntime:
    """Returns the Java runtime for an engine, downloaded if necessary."""
    try:
        return find_java(request.runtime_jdk, supported, progress=progress)
    except EngineError:
        majors = _available_majors(request, supported, layout)
        if not majors:
            raise
        return read_downloaded_java(download_java(majors[0], layout.java, progress))


def java_to_check(request: EngineRequest, supported: JavaRange, layout: EngineLayout) -> JavaRuntime | None:
    """Returns the Java runtime for an engine, or None if it will be downloaded. Raises EngineError."""
    try:
        return find_java(request.runtime_jdk, supported)
    except EngineError:
        majors = _available_majors(request, supported, layout)
        if not majors:
            raise
        home = wheel_home(majors[0], layout.java)
        return read_downloaded_java(home) if exists(home) else None


def assembled_jvm_warnings(
    request: EngineRequest, distribution: Distribution, java: JavaRuntime, layout: EngineLayout
) -> tuple[str, ...]:
    """Returns the warnings of the JVM about the options of an engine that is assembled, before it is.

    Raises the errors of `jvm_warnings`.
    """
    # The Java is Pacenote's own, a verified one, or one that the user names. If the engine's user cannot run
    # it, it is copied later.
    user = layout.user if layout.user is not None and is_runnable(java.home, by_all=True) else None
    return jvm_warnings(request, AssembledProgram(distribution, Path("/home"), java), user)


def jvm_warnings(
    request: EngineRequest, program: AssembledProgram | ArchiveProgram, user: ProcessUser | None
) -> tuple[str, ...]:
    """Returns the warnings of the JVM of a program about its options; it runs as `user`, or as the current
    one. Raises the errors of `check_jvm_options`.
    """
    java = program.java
    options = program.jvm_options(_checked_setup(request, java))
    try:
        return check_jvm_options(java, options, user)
    except UsageError as error:
        if request.car.template is None:
            raise
        other = "if a car of the team repository sets it, choose another --team-revision"
        raise UsageError(error.message, hint=f"{error.hint}; {other}") from None


def _checked_setup(request: EngineRequest, java: JavaRuntime) -> NodeSetup:
    """Returns a node as far as its JVM options depend on it."""
    home, config, data, logs, tmp = (Path("/", name) for name in ("home", "config", "data", "logs", "tmp"))
    paths = NodePaths(home, config, data, logs, tmp)
    heap = resources.parse_heap(request.car.heap_size)
    return NodeSetup(paths, NodePorts(0, 0), heap, jvm_options_of(request.car, java))


def _available_majors(request: EngineRequest, supported: JavaRange, layout: EngineLayout) -> list[int]:
    """Returns major versions that the engine supports and `--runtime-jdk` allows, and that are or can be
    downloaded.
    """
    return [
        major
        for major in downloadable_majors(supported)
        if request.runtime_jdk in (None, "bundled", str(major))
        if exists(wheel_home(major, layout.java)) or not request.offline
    ]
