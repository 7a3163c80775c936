"""Builds the plan of a race from the request and the known properties of the engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from pacenote.cluster.cluster import Cluster
from pacenote.errors import UsageError
from pacenote.model.engine import SERVERLESS, EngineInfo
from pacenote.model.plugin_names import PluginNames
from pacenote.model.race_request import RaceRequest
from pacenote.model.shell_command import shell_command
from pacenote.model.track import Challenge, Task, Track
from pacenote.operations.base import OperationType
from pacenote.operations.registry import find_type
from pacenote.plan.build import PlanContext, PlanSettings, build_plan
from pacenote.plan.document import DriverScheduling, OnError, Plan, SampleRetention
from pacenote.race.engine_request import engine_to_start, starts_with_data
from pacenote.track.prepare import PreparedTrack, prepare_track


def plan_challenge(request: RaceRequest, track: Track, challenge: Challenge, context: PlanContext) -> Plan:
    """Returns the plan of a challenge without its targets, which are not known before the engine runs.

    Raises TrackError with the problems of all tasks.
    """
    settings = PlanSettings(
        race_id=request.race_id,
        seed=request.seed,
        hosts=(),
        threads=request.driver_threads,
        on_error=None if request.on_error is None else OnError(request.on_error),
        samples=SampleRetention(request.samples),
        scheduling=DriverScheduling(request.driver_scheduling),
        pacing=request.pacing,
    )
    return build_plan(track, challenge.name, settings, context)


def expected_engine(request: RaceRequest, existing: Cluster | None) -> EngineInfo:
    """Returns the engine that the race will start, or the one of the existing cluster.

    The planner needs it because some requests differ between engines. Raises EngineError, and UsageError for
    an unknown distribution.
    """
    if existing is None:
        return engine_to_start(request.engine)
    return running_engine(existing)


def with_operator_status(
    request: RaceRequest, existing: Cluster | None, tell: Callable[[str], None]
) -> RaceRequest:
    """Returns the request with whether its user operates the serverless cluster, if the user did not say it
    and the cluster is serverless. `tell` is called with the cluster's answer.

    Raises EngineError if the cluster cannot be reached.
    """
    if existing is None or request.serverless_operator is not None:
        return request
    if not running_engine(existing).is_serverless:
        return request
    response = existing.rest().exchange("GET", "/_security/_authenticate")
    body = response.body if response.ok and isinstance(response.body, dict) else {}
    operator = body.get("operator") is True
    answer = f"the user is {'' if operator else 'not '}its operator"
    if not response.ok:
        answer = f"does not tell whether the user is its operator (status {response.status}): assuming not"
    tell(f"the cluster is serverless, and {answer}")
    return dataclasses.replace(request, serverless_operator=operator)


def running_engine(cluster: Cluster) -> EngineInfo:
    """Returns the engine of a running cluster. Raises EngineError."""
    return cluster.info().engine


def check_searched_indices(request: RaceRequest, prepared: PreparedTrack, plugins: PluginNames) -> None:
    """Raises UsageError for a challenge that only searches on a new engine, which has no indices.

    A search with an index pattern that matches no index succeeds without hits, so the results would be
    misleading.
    """
    challenge = prepared.challenge
    if starts_with_data(request):
        return
    searches = any(kind.searches for kind in map(_type_of, challenge.tasks()) if kind is not None)
    if request.pipeline == "benchmark-only" or not searches or _creators(challenge.tasks(), plugins):
        return
    raise UsageError(
        f"challenge '{challenge.name}' searches indices that a new engine does not have",
        hint=f"{_creation_hint(request, prepared, plugins)}use data that has them, with --data=restore:NAME, "
        "or a cluster, with --target-hosts",
    )


def _creation_hint(request: RaceRequest, prepared: PreparedTrack, plugins: PluginNames) -> str:
    """Returns how the race can create the indices: with tasks that are filtered out, or another challenge."""
    if names := _creators(prepared.excluded, plugins):
        if not request.include_tasks:
            return f"do not exclude {', '.join(names)}, which create them; or "
        included = shell_command(f"--include-tasks={','.join((*names, *request.include_tasks))}")
        return f"include the tasks that create them, {included}; or "
    challenges = sorted(prepared.track.challenges, key=lambda challenge: not challenge.default)
    others = [challenge.name for challenge in challenges if _creators(challenge.tasks(), plugins)]
    if not others:
        return ""
    return f"choose a challenge that creates them, such as {shell_command(f'--challenge={others[0]}')}; or "


def _creators(tasks: Iterable[Task], plugins: PluginNames) -> list[str]:
    """Returns the names of the tasks that may create indices."""
    return [
        task.name
        for task in tasks
        if task.operation.type in plugins.runners
        or ((operation_type := _type_of(task)) is not None and operation_type.may_create_indices)
    ]


def _type_of(task: Task) -> OperationType | None:
    return find_type(task.operation.type)


def load_race_track(
    request: RaceRequest, existing: Cluster | None, progress: Callable[[str], None]
) -> PreparedTrack:
    """Returns the track as it runs; an existing cluster determines the version and flavor of the engine."""
    engine = expected_engine(request, existing)
    if engine.is_serverless:
        request = dataclasses.replace(request, build_flavor=SERVERLESS)
    unknown = existing is None and request.pipeline == "benchmark-only"
    return prepare_track(request.track_request("" if unknown else engine.track_version), progress)
