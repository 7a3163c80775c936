"""Checks and starts the engine of a race, for each pipeline."""

from __future__ import annotations

import contextlib

from pacenote.cluster.cluster import start_cluster
from pacenote.cluster.container_cluster import ContainerCluster, StartedCluster
from pacenote.errors import EngineError, UsageError
from pacenote.model.progress import ProgressCallback
from pacenote.model.race_request import RaceRequest
from pacenote.provision.containers.compose import ContainerSpec, compose_document
from pacenote.provision.containers.docker import check_docker
from pacenote.provision.containers.engine_container import cleanup_containers, start_container
from pacenote.provision.distributions.registry import default_version
from pacenote.provision.engine_checks import check_engine_request
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.fleet import LOG_NAME
from pacenote.provision.ports import free_ports
from pacenote.provision.team_cars import portable_options

_ANY_PORT = 9200


def check_engine_start(request: RaceRequest, engine: EngineRequest) -> EngineRequest:
    """Returns the engine of a race with what the check found out for its installation.

    Stops the engines of commands that were killed. A race against an existing cluster starts none. Raises
    UsageError and EngineError if it is known that the engine cannot start.
    """
    if request.pipeline == "benchmark-only":
        # In the home of another user, what a race against a cluster does not need is left alone.
        with contextlib.suppress(EngineError):
            cleanup_containers(request.home)
        return engine
    cleanup_containers(request.home)
    if request.pipeline == "docker":
        check_container(engine)
        return engine
    return check_engine_request(engine)


def check_container(engine: EngineRequest) -> None:
    """Raises UsageError and EngineError for an engine that cannot run in a container here."""
    compose_document(container_spec(engine, _ANY_PORT))
    check_docker()


def start_race_cluster(
    request: RaceRequest, engine: EngineRequest, progress: ProgressCallback
) -> StartedCluster:
    """Starts the engine of a race. The caller must stop it, preferably using `with`."""
    if request.pipeline != "docker":
        return start_cluster(engine, progress)
    spec = container_spec(engine, *free_ports(1))
    return ContainerCluster(start_container(spec, engine.home, engine.artifacts / LOG_NAME, progress))


def container_spec(engine: EngineRequest, http_port: int) -> ContainerSpec:
    """Returns the container for an engine.

    Raises UsageError for options that have no effect on a container, and for names that it cannot have.
    """
    engine.check_names()
    car = engine.car
    without_effect = {
        "several nodes (--nodes)": engine.nodes.count > 1,
        "data paths (--data-paths)": bool(engine.nodes.data_paths),
        "CPUs and limits of nodes": bool(engine.nodes.cpus or engine.nodes.limits),
        "stored data (--data)": engine.data.mode != "fresh",
        "--runtime-jdk": engine.runtime_jdk is not None,
        "plugins (--elasticsearch-plugins)": bool(car.plugins),
        "security (xpack.security.enabled)": engine.security.enabled,
        "files of a car other than its settings and JVM options": car.has_files,
    }
    for what, is_given in without_effect.items():
        if is_given:
            raise UsageError(
                f"--pipeline=docker cannot have {what}",
                hint="omit it; the car variables docker_mem_limit and docker_cpu_count limit a container",
            )
    return ContainerSpec(
        distribution=engine.distribution,
        version=engine.version or default_version(engine.distribution),
        http_port=http_port,
        name=engine.node_name,
        cluster_name=engine.cluster_name,
        heap=car.heap_size,
        jvm_options=portable_options(car),
        settings=car.settings,
        environment=car.environment,
        variables=car.variables,
    )
