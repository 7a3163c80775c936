"""Builds the plan of a race from the request and the known properties of the engine."""

from __future__ import annotations

from pacenote.cluster.cluster import Cluster
from pacenote.errors import UsageError
from pacenote.model.engine import EngineInfo
from pacenote.model.plugin_names import PluginNames
from pacenote.model.race_request import RaceRequest
from pacenote.model.track import Challenge, Track
from pacenote.operations.registry import find_type
from pacenote.plan.build import PlanContext, PlanSettings, build_plan
from pacenote.plan.document import OnError, Plan, SampleRetention
from pacenote.provision.distributions.registry import default_version


def plan_challenge(request: RaceRequest, track: Track, challenge: Challenge, context: PlanContext) -> Plan:
    """Returns the plan of a challenge without its targets, which are not known before the engine runs.

    Raises TrackError with the problems of all tasks.
    """
    settings = PlanSettings(
        race_id=request.race_id,
        seed=request.seed,
        hosts=(),
        threads=request.driver_threads,
        on_error=OnError(request.on_error),
        samples=SampleRetention(request.samples),
        pacing=request.pacing,
    )
    return build_plan(track, challenge.name, settings, context)


def expected_engine(request: RaceRequest, existing: Cluster | None) -> EngineInfo:
    """Returns the engine that the race will start, or the one of the existing cluster.

    The planner needs it because some requests differ between engines. Raises EngineError, and UsageError for
    an unknown distribution.
    """
    if existing is None:
        version = request.distribution_version or default_version(request.distribution)
        return EngineInfo(request.distribution, version)
    return running_engine(existing)


def running_engine(cluster: Cluster) -> EngineInfo:
    """Returns the engine of a running cluster. Raises EngineError."""
    return cluster.info().engine


def check_searched_indices(request: RaceRequest, challenge: Challenge, plugins: PluginNames) -> None:
    """Raises UsageError for a challenge that only searches on a new engine, which has no indices.

    A search with an index pattern that matches no index succeeds without hits, so the results would be
    misleading.
    """
    names = {task.operation.type for task in challenge.tasks()}
    types = [found for found in map(find_type, names) if found is not None]
    creates = not names.isdisjoint(plugins.runners) or any(one.may_create_indices for one in types)
    if request.pipeline == "benchmark-only" or creates or not any(one.searches for one in types):
        return
    raise UsageError(
        f"challenge '{challenge.name}' searches indices that a new engine does not have",
        hint="use a cluster that has them, with --target-hosts",
    )
