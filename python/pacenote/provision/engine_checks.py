"""Checks a request for an engine before anything is downloaded or created."""

from __future__ import annotations

import dataclasses
import itertools
import os

from pacenote.errors import EngineError
from pacenote.provision import node_registry, resources
from pacenote.provision.archives.archive_install import check_requested_archive
from pacenote.provision.archives.plugin_sources import is_location
from pacenote.provision.control_groups import check_limits
from pacenote.provision.cpu_affinity import check_cpus
from pacenote.provision.data_folders import check_data_paths
from pacenote.provision.data_sets import DataSet
from pacenote.provision.distributions.base import Distribution
from pacenote.provision.distributions.official import OFFICIAL_ARCHIVES
from pacenote.provision.distributions.registry import find_distribution
from pacenote.provision.engine_data import check_initial_data, initial_data
from pacenote.provision.engine_java import assembled_jvm_warnings, java_to_check
from pacenote.provision.engine_lock import find_lock
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.engine_selection import known_archive, look_up_parts, select_archive, select_lock
from pacenote.provision.known_settings import read_names_in_jars
from pacenote.provision.layout import EngineLayout, plan_layout
from pacenote.provision.maven import MavenRepository, missing_artifacts
from pacenote.provision.node_spec import NodeSpec
from pacenote.provision.ports import check_ports
from pacenote.provision.published_versions import check_published
from pacenote.provision.security.secured_cluster import check_security
from pacenote.provision.team_cars import check_car_settings, has_settings_to_check, names_settings


def check_engine_request(request: EngineRequest) -> EngineRequest:
    """Returns the request with what the check found out for the installation. Creates no files, but may move
    cached jars of an earlier version to their new paths.

    Raises an error, before anything is downloaded, if startup is known to fail. Causes are an unknown
    distribution or version, no supported Java, JVM options that it refuses, a heap size that is invalid or
    does not fit into the memory, a port that is taken, CPUs, limits and data paths that nodes cannot have
    here, a data set that does not suit them, a system without /proc, and with `offline` every missing file.
    Kills the nodes of dead owners, because they use memory and ports.
    """
    layout = plan_layout(request.home)
    node_registry.current_process()
    node_registry.cleanup_orphans(layout)
    check_engine_choice(request)
    check_engine_memory(request)
    check_ports(request.car.settings)
    check_limits(request.nodes.limits)
    request = look_up_parts(request, layout)
    source = select_archive(request, layout)
    if source is not None:
        check_requested_archive(source, layout, request.fetch_settings, request.maven_mirror)
    else:
        distribution = find_distribution(request.distribution, request.version)
        if select_lock(request, distribution, layout) is None:
            repository = MavenRepository(request.maven_mirror)
            check_published(distribution, request.version_of(distribution), repository)
    return dataclasses.replace(request, unchecked_settings=not check_known_settings(request))


def check_known_settings(request: EngineRequest) -> bool:
    """Returns whether the settings of the car could be checked, which needs all jars of the engine.

    Raises UsageError for misspelt settings, and EngineError for settings of modules that the engine lacks.
    Creates no files, but may move cached jars of an earlier version to their new paths.
    """
    car, layout = request.car, plan_layout(request.home)
    if not has_settings_to_check(car):
        return True
    if select_archive(request, layout) is not None:
        return not names_settings(car)
    distribution = find_distribution(request.distribution, request.version)
    version = request.version_of(distribution)
    lock = find_lock(distribution.name, version, layout.locks)
    if lock is None or missing_artifacts(lock.artifacts(), layout.jars):
        return not names_settings(car)
    known = read_names_in_jars(jar.path_in(layout.jars) for jar in lock.artifacts())
    check_car_settings(car, known, distribution.title(version) or f"{distribution.name} {version}")
    return True


def check_engine_choice(request: EngineRequest) -> None:
    """Raises UsageError and EngineError if Pacenote cannot start this engine in this version, if it cannot
    have these nodes or this data, or if there is no Java for it and none can be downloaded. Creates no files.
    """
    layout = plan_layout(request.home)
    source = known_archive(request)
    check_security(request.distribution, request.security, assembled=source is None)
    if source is None:
        distribution = find_distribution(request.distribution, request.version)
        named = [plugin for plugin in request.car.plugins if not is_location(plugin)]
        if named:
            raise EngineError(
                f"plugin {named[0]} cannot be installed by its name into an engine that Pacenote assembles",
                hint="give the path, the URL or the Maven coordinate of its zip archive, or use "
                "--distribution-repository=release",
            )
        _check_java(request, distribution, layout)
    elif request.runtime_jdk not in (None, "bundled"):
        # Without it, the archive's own is used, if it has one.
        java_to_check(request, OFFICIAL_ARCHIVES[source.distribution].java_range(source.version), layout)
    nodes = _expected_nodes(request)
    data = find_initial_data(request)
    # The version of an archive may be known only when it is unpacked; then the data is checked after that.
    if data is not None and (source is None or request.version):
        check_initial_data(data, nodes, layout)
    check_cpus(itertools.chain(*request.nodes.cpus), "--node-cpus")
    check_data_paths(itertools.chain(*request.nodes.data_paths), layout)


def find_initial_data(request: EngineRequest) -> DataSet | None:
    """Returns the data set with which the engine starts, or None if it starts without data.

    Raises UsageError if it must exist and does not, and EngineError if it cannot be read.
    """
    return initial_data(request.data, plan_layout(request.home))


def check_engine_memory(request: EngineRequest) -> None:
    """Raises UsageError for an invalid heap size and a limit below it, and EngineError if the free memory is
    not sufficient.
    """
    heap = resources.parse_heap(request.car.heap_size)
    resources.check_memory_limit(heap, request.nodes.limits.memory)
    resources.check_memory(heap, resources.available_memory(), request.nodes.count)


def _expected_nodes(request: EngineRequest) -> tuple[NodeSpec, ...]:
    """Returns the nodes to start, before their engine is installed. Raises UsageError."""
    version = request.version or find_distribution(request.distribution, "").default_version
    return request.plan_nodes(NodeSpec(request.distribution, version))


def _check_java(request: EngineRequest, distribution: Distribution, layout: EngineLayout) -> None:
    """Raises EngineError if there is no Java runtime for the engine and none can be downloaded, or if it does
    not run with the heap, and UsageError for JVM options that it refuses.
    """
    java = java_to_check(request, distribution.java_range(request.version_of(distribution)), layout)
    # Programs do not find their libraries without /proc, which is reported first.
    node_registry.current_process()
    if java is None or not os.access(java.binary, os.X_OK):
        return  # The installation downloads or copies it, and checks the options.
    try:
        assembled_jvm_warnings(request, distribution, java, layout)
    except EngineError:
        # If this is the reason, it is stated with the numbers.
        check_engine_memory(request)
        raise
