"""The entry point of this package: installs the engine of a request and starts its nodes."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from pacenote.model.progress import ProgressCallback, no_progress
from pacenote.provision import node_registry
from pacenote.provision.cars import Car
from pacenote.provision.data_sets import check_not_replaced
from pacenote.provision.engine_checks import check_engine_memory, find_initial_data
from pacenote.provision.engine_data import check_initial_data, with_initial_data
from pacenote.provision.engine_installation import Installation, install_engine
from pacenote.provision.engine_program import EngineProgram
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.fleet import LocalFleet
from pacenote.provision.layout import create_layout
from pacenote.provision.node_spec import NodeSpec
from pacenote.provision.security.secured_cluster import (
    OPTIONS_FILE,
    SecurityRequest,
    secure,
    write_client_options,
)
from pacenote.provision.team_cars import RunnableEngine, apply_car


def start_engine(request: EngineRequest, progress: ProgressCallback = no_progress) -> LocalFleet:
    """Installs an engine, starts its nodes and waits until they are healthy. The caller must stop them.

    Kills the nodes of dead owners. Raises EngineError, DiskError and DownloadError.
    """
    layout = create_layout(request.home)
    node_registry.cleanup_orphans(layout)
    # This is checked first so that nothing is downloaded for an engine that cannot run.
    check_engine_memory(request)
    security = request.security
    installation, car = _with_car(install_engine(request, progress), request.car, progress)
    request = dataclasses.replace(request, car=car)
    template = NodeSpec(
        distribution=installation.distribution,
        version=installation.version,
        title=installation.title,
        absent_modules=installation.absent_modules,
        archive=installation.archive.origin if installation.archive else None,
        cluster_name=request.cluster_name,
        start_timeout_s=request.start_timeout_s,
        preserve=request.preserve,
        purpose=request.purpose,
    )
    program, specs = _secured(request, security, request.plan_nodes(template), installation.program)
    fleet = LocalFleet(program, layout, request.logs or request.artifacts)
    data = find_initial_data(request)
    if data is not None:
        check_initial_data(data, specs, layout)
        progress(f"starting with data set {data}", 0, 0)
    fleet.start(with_initial_data(specs, data), progress)
    try:
        write_client_options(specs[0].access, security)
        if data is not None:
            check_not_replaced(layout, data)
    except BaseException:
        fleet.stop()
        raise
    return fleet


def check_settings(request: EngineRequest, progress: ProgressCallback = no_progress) -> None:
    """Checks the settings of the car that the check before the installation could not check: installs the
    engine. Raises the same errors as `start_engine`.
    """
    if request.unchecked_settings:
        _with_car(install_engine(request, progress), request.car, no_progress)


def _secured(
    request: EngineRequest, security: SecurityRequest, specs: tuple[NodeSpec, ...], program: EngineProgram
) -> tuple[EngineProgram, tuple[NodeSpec, ...]]:
    """Returns the program and the nodes with security, if the car switches it on.

    Raises EngineError and DiskError.
    """
    if not security.enabled:
        return program, specs
    names = [str(spec.settings.get("node.name", spec.name)) for spec in specs]
    program, access = secure(program, security, names, request.artifacts)
    if request.purpose.installation_id:
        # The clients of a race need no file.
        access = replace(access, options_file=request.artifacts.absolute() / OPTIONS_FILE)
    return program, tuple(replace(spec, access=access) for spec in specs)


def _with_car(installation: Installation, car: Car, progress: ProgressCallback) -> tuple[Installation, Car]:
    """Returns the engine as the car configures it, and the part of the car that is the same for all nodes.

    Raises UsageError and EngineError for settings that the engine does not have.
    """
    name = installation.title or f"{installation.distribution} {installation.version}"
    engine = RunnableEngine(name, installation.program, installation.java)
    car, program = apply_car(car, engine, progress)
    return replace(installation, program=program), car
