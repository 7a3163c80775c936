"""Converts a race request to the request for its engine."""

from __future__ import annotations

from pathlib import Path

from pacenote.model.race_request import RaceRequest
from pacenote.provision.cars import compose_car
from pacenote.provision.engine import EngineRequest, check_engine_choice


def engine_request(request: RaceRequest, artifacts: Path) -> EngineRequest:
    """Returns the engine that a race starts, with its logs in `artifacts`.

    Raises UsageError for an unknown car.
    """
    provisioned = request.pipeline != "benchmark-only"
    return EngineRequest(
        home=request.home,
        artifacts=artifacts,
        distribution=request.distribution,
        version=request.distribution_version,
        car=compose_car(request.car, request.car_params if provisioned else {}),
        cluster_name=request.cluster_name,
        runtime_jdk=None if request.runtime_jdk is None else str(request.runtime_jdk),
        maven_mirror=request.maven_mirror,
        preserve=request.preserve_install,
        offline=request.offline,
    )


def check_engine(request: RaceRequest) -> None:
    """Raises UsageError and EngineError for an engine, a version, a car or a Java that a race cannot start.

    A race against an existing cluster starts none.
    """
    if request.pipeline != "benchmark-only":
        check_engine_choice(engine_request(request, artifacts=request.home))
