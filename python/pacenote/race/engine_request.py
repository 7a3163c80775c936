"""Converts a race request to the request for its engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import structs
from msgspec.structs import replace

from pacenote._core import realtime_refusal
from pacenote.errors import EngineError, UsageError
from pacenote.model.client_options import TlsOptions
from pacenote.model.driver_scheduling import allowance_for
from pacenote.model.engine import EngineInfo
from pacenote.model.engine_options import EngineOptions
from pacenote.model.race_request import RaceRequest
from pacenote.model.telemetry_options import PROFILER_LIBRARY, profilers
from pacenote.model.track import Challenge, Track
from pacenote.provision.car_selection import select_car
from pacenote.provision.cars import Car, compose_car
from pacenote.provision.cpu_affinity import check_cpus, overlap_warnings
from pacenote.provision.distributions.registry import default_version
from pacenote.provision.engine_checks import (
    check_engine_choice,
    check_known_settings,
    find_initial_data,
)
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.engine_selection import expected_absent_modules
from pacenote.provision.jvm_agents import agent_warnings
from pacenote.provision.jvm_options import LOGS
from pacenote.provision.node_facts import NodePurpose
from pacenote.provision.node_plan import role_warnings
from pacenote.provision.ports import check_ports
from pacenote.race.engine_start import check_container
from pacenote.race.module_needs import absent_module_warnings
from pacenote.sources.checkout import local_checkout
from pacenote.telemetry.devices import jvm_options


def engine_to_start(engine: EngineOptions) -> EngineInfo:
    """Returns the engine that these options start, without a version as long as its sources are not known.

    Raises UsageError for an unknown distribution.
    """
    version = engine.distribution_version
    if not version and engine.source is None:
        version = default_version(engine.distribution)
    return EngineInfo(engine.distribution, version)


def engine_request(request: RaceRequest, artifacts: Path) -> EngineRequest:
    """Returns the engine that a race starts, with its logs in `artifacts`.

    Raises UsageError for an unknown car.
    """
    options = request.engine
    return EngineRequest(
        home=request.home,
        artifacts=artifacts,
        distribution=options.distribution,
        version=options.distribution_version,
        car=_car(request),
        nodes=options.nodes,
        data=options.data,
        cluster_name=options.cluster_name,
        runtime_jdk=None if options.runtime_jdk is None else str(options.runtime_jdk),
        maven_mirror=options.maven_mirror,
        archive=options.archive,
        preserve=options.preserve_install,
        offline=request.offline,
        purpose=NodePurpose(race_id=request.race_id),
        client=request.client,
    )


def index_settings(request: RaceRequest) -> dict[str, object]:
    """Returns the settings of all indices that the track creates: those of the car, and the user's."""
    return dict(_car(request).index_settings)


def _car(request: RaceRequest) -> Car:
    """Returns the car of the engine to start, with the user's settings of indices."""
    car = compose_car(()) if request.pipeline == "benchmark-only" else select_car(_observed(request))
    return replace(car, index_settings={**car.index_settings, **request.index_settings})


def car_profilers(engine: EngineRequest) -> tuple[str, ...]:
    """Returns what options of the JVM of the car start that observes the engine to start, those of team
    repositories and `additional_java_settings` included.
    """
    return profilers((), (option for option in engine.car.jvm_options if PROFILER_LIBRARY not in option))


def _observed(request: RaceRequest) -> EngineOptions:
    """Returns the engine with the JVM options of the telemetry devices, before those of the user."""
    engine = request.engine
    options = (*jvm_options(request.telemetry, LOGS), *engine.overrides.jvm_options)
    return structs.replace(engine, overrides=structs.replace(engine.overrides, jvm_options=options))


def engine_warnings(
    request: RaceRequest, track: Track, challenge: Challenge, engine: EngineRequest
) -> tuple[str, ...]:
    """Returns what the user should know before the race about the engine to start."""
    absent = expected_absent_modules(engine) if request.pipeline == "from-distribution" else ()
    name = f"{engine.distribution} {engine.version}".strip()
    modules = absent_module_warnings(track, challenge, absent, name)
    return (
        *engine.car.notes,
        *_client_warnings(request, engine),
        *agent_warnings(engine.car.jvm_options),
        *modules,
        *node_warnings(request),
    )


def _client_warnings(request: RaceRequest, engine: EngineRequest) -> Iterator[str]:
    """Yields a warning about credentials and TLS options that have no effect on the engine, and about
    certificates that are not verified.
    """
    tls = request.client.tls
    if request.pipeline == "benchmark-only":
        return
    if engine.security.enabled:
        if not tls.verify:
            yield "the TLS certificates of the nodes are not verified (verify_certs:false)"
        elif not tls.verify_host:
            yield "the host names in the TLS certificates are not verified (ssl_assert_hostname:false)"
    elif tls != TlsOptions() or request.client.authorization:
        yield "--client-options: an engine without security uses plain HTTP and needs no credentials"


def check_engine(request: RaceRequest) -> None:
    """Raises UsageError and EngineError for an engine, a version, a car or a Java that a race cannot start.

    A race against an existing cluster starts none, and what is built from sources is checked afterwards,
    except that a local checkout must exist.
    """
    check_cpus(request.driver_cpus, "--driver-cpus")
    _check_scheduling(request)
    engine = engine_request(request, artifacts=request.home)
    _check_client_options(request, engine)
    if request.pipeline != "benchmark-only":
        engine.check_names()
    if request.pipeline == "docker":
        if request.conditions.caches is not None:
            raise UsageError("--pipeline=docker cannot have --caches", hint="omit it")
        check_container(engine)
    elif request.pipeline == "from-sources":
        if request.engine.source is not None and request.engine.source.source_path:
            local_checkout(request.engine.source.source_path)
    elif request.pipeline == "from-distribution":
        check_engine_choice(engine)


def _check_scheduling(request: RaceRequest) -> None:
    """Raises UsageError if the driver's threads cannot have the real-time priority that the race demands."""
    if request.driver_scheduling == "realtime" and (reason := realtime_refusal()) is not None:
        allowance = allowance_for(reason)
        raise UsageError(
            f"--driver-scheduling=realtime: the driver's threads cannot have real-time priority: {reason}",
            hint=f"{allowance}, or use --driver-scheduling=auto"
            if allowance
            else "use --driver-scheduling=auto",
        )


def _check_client_options(request: RaceRequest, engine: EngineRequest) -> None:
    """Raises UsageError for client options that an engine without security cannot have."""
    security_options = {
        "use_ssl": request.client.use_ssl,
        "create_api_key_per_client": request.client.api_key_per_client,
    }
    for option in (name for name, value in security_options.items() if value):
        if request.pipeline != "benchmark-only" and not engine.security.enabled:
            raise UsageError(
                f"--client-options: {option} needs an engine with security: others that a race starts use "
                "plain HTTP without credentials",
                hint="add --car=x-pack-security with an official archive of Elasticsearch, or give the "
                "hosts of a cluster with --target-hosts",
            )


def engine_doubts(request: RaceRequest, engine: EngineRequest) -> Iterator[str]:
    """Yields why a race may refuse its engine, although nothing that a dry run may do shows it.

    Raises UsageError and EngineError for settings that the engine does not have.
    """
    if request.pipeline != "from-distribution":
        return
    try:
        check_ports(engine.car.settings)
    except EngineError as error:
        # A race may end the process: it may be a node of a command that was killed.
        yield f"{error.message}; {error.hint}"
    if not check_known_settings(engine):
        yield "the settings of the engine are not checked yet: its jars are not downloaded"


def starts_empty(request: RaceRequest) -> bool:
    """Returns whether the race starts an engine without indices. Raises UsageError and EngineError."""
    return request.pipeline != "benchmark-only" and not starts_with_data(request)


def starts_with_data(request: RaceRequest) -> bool:
    """Returns whether the race starts an engine that has indices. Raises UsageError and EngineError."""
    return (
        request.pipeline != "benchmark-only"
        and find_initial_data(engine_request(request, artifacts=request.home)) is not None
    )


def node_warnings(request: RaceRequest) -> tuple[str, ...]:
    """Returns warnings about the roles of the nodes to start, and about CPUs that they share with the driver.

    The nodes of an existing cluster are not known.
    """
    if request.pipeline == "benchmark-only":
        return ()
    nodes = request.engine.nodes
    return (*role_warnings(nodes), *overlap_warnings(nodes, request.driver_cpus))
