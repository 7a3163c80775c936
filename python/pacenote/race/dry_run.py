"""What a race would do, without running it: nothing is sent, downloaded or written (`race --dry-run`)."""

from __future__ import annotations

from msgspec import Struct

from pacenote.model.custom_metrics import declared_metrics
from pacenote.model.engine import EngineInfo
from pacenote.model.race_request import RaceRequest
from pacenote.model.secrets import redact_urls
from pacenote.plan.build import PlanContext
from pacenote.plan.duration import ExpectedDuration, expected_duration
from pacenote.plan.explain import StepDescription, explain
from pacenote.provision.engine_checks import check_engine_memory, find_initial_data
from pacenote.provision.engine_request import EngineRequest
from pacenote.provision.engine_selection import expected_title
from pacenote.race.capacity import check_capacity
from pacenote.race.engine_request import (
    check_engine,
    engine_doubts,
    engine_request,
    engine_warnings,
    index_settings,
)
from pacenote.race.expected_corpora import ExpectedCorpus, expect_corpora
from pacenote.race.operation_counts import operation_count_notes
from pacenote.race.planning import check_searched_indices, expected_engine, load_race_track, plan_challenge
from pacenote.race.plugins import plugin_names, run_track_processors, source_files, track_plugins
from pacenote.race.record import task_metadata
from pacenote.race.targets import host_counts, parse_clusters
from pacenote.race.team import with_team
from pacenote.race.unsent_documents import unsent_documents


class DryRun(Struct, frozen=True):
    """The description of a race."""

    engine: str
    """The engine and its host."""

    corpora: tuple[ExpectedCorpus, ...]
    """The data that it would send."""

    duration: ExpectedDuration
    """How long its steps would take."""

    steps: tuple[StepDescription, ...]
    """Its steps in order."""

    notes: tuple[str, ...]
    """What else the user should know about the track: where it comes from, and tasks that will not send all
    of their documents.
    """

    warnings: tuple[str, ...]
    """What is probably not as the user wants it."""

    custom_metrics: tuple[str, ...] = ()
    """The keys of the custom metrics that the track declares."""


def dry_run(request: RaceRequest) -> DryRun:
    """Returns what a race would do.

    Raises TrackError, and UsageError and EngineError for options that the race would reject.
    """
    request = with_team(request)
    started = engine_request(request, artifacts=request.home)
    described = _described_engine(request, started)
    doubts = tuple(engine_doubts(request, started))
    prepared = load_race_track(request, None, lambda _: None)
    with track_plugins(
        prepared.track,
        request.home,
        offline=request.offline,
        warn=lambda _: None,
        in_copy=request.owns_process,
    ) as plugins:
        prepared = run_track_processors(prepared, plugins, request)
        names = plugin_names(plugins)
        check_searched_indices(request, prepared, names)
        corpora = expect_corpora(prepared, request, source_files(plugins, prepared.track))
        context = PlanContext(
            corpora.data_file,
            _known_engine(request),
            names,
            request.enable_assertions,
            index_settings(request),
        )
        plan = plan_challenge(request, prepared.track, prepared.challenge, context)
    check_capacity(plan, host_counts(request))
    return DryRun(
        described,
        corpora.corpora,
        expected_duration(plan),
        explain(plan),
        (
            *prepared.notes,
            *operation_count_notes(prepared.unpaced, plan),
            *(f"{task.task} {task.text}" for task in unsent_documents(plan, test_mode=request.test_mode)),
        ),
        (
            *prepared.located.warnings,
            *doubts,
            *engine_warnings(request, prepared.track, prepared.challenge, started),
        ),
        tuple(
            key for _, key in declared_metrics([task_metadata(prepared.track, prepared.challenge)]).declared
        ),
    )


def _described_engine(request: RaceRequest, started: EngineRequest) -> str:
    """Describes the engine.

    Raises UsageError and EngineError for hosts, an engine, a car, a heap or a Java that the race would
    reject.
    """
    clusters = parse_clusters(request)
    if clusters:
        hosts = ", ".join(map(str, clusters[0].hosts))
        return f"the cluster at {hosts}, which a dry run does not contact"
    check_engine(request)
    check_engine_memory(started)
    name, car, nodes = _engine_name(request, started), started.car, started.nodes.count
    where = "on a free port of 127.0.0.1" if nodes == 1 else f"on {nodes} nodes on 127.0.0.1"
    per_node = "" if nodes == 1 else " each"
    data = find_initial_data(started)
    with_data = "" if data is None else f", and data set {data}"
    return f"{name}, started {where} with car '{car.name}' and {car.heap_size} of heap{per_node}{with_data}"


def _engine_name(request: RaceRequest, started: EngineRequest) -> str:
    """Returns what the engine is that a race starts."""
    engine = expected_engine(request, None)
    source = request.engine.source
    if source is not None:
        origin = redact_urls(source.source_path) or "the vendor's repository"
        return f"{engine.distribution}, built from {source.revision} of {origin}"
    name = f"{engine.distribution} {engine.version}"
    if request.pipeline == "docker":
        return f"{name} in a container"
    return expected_title(started) or name


def _known_engine(request: RaceRequest) -> EngineInfo:
    return EngineInfo() if request.pipeline == "benchmark-only" else expected_engine(request, None)
