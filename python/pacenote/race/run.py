"""A race from beginning to end: the table of contents.

    load        the track, and a plan of what is declared, so that a mistake shows before anything is fetched
    prepare     the data: found, unpacked or generated
    provision   the engine: assembled and started, or found running
    drive       the plan, stored task by task, watched
    conclude    telemetry, document counts, verdict

Whatever ends a race early, what was measured is stored and the engine is stopped.
"""

from __future__ import annotations

import dataclasses
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pacenote.cluster.cluster import Cluster, EmbeddedCluster, embedded_cluster
from pacenote.errors import DriverError, PacenoteError, UsageError
from pacenote.model.plugin_names import PluginNames
from pacenote.model.race_listener import RaceListener
from pacenote.model.race_record import PlanFile, RaceRecord, RecordedTrack
from pacenote.model.race_request import RaceRequest
from pacenote.model.secrets import secret_values
from pacenote.model.track import Challenge, Track
from pacenote.model.verdict import determine_verdict
from pacenote.operations.base import CompileContext, EngineInfo, included_in_report
from pacenote.operations.registry import find_type
from pacenote.plan.build import PlanContext, PlanSettings, build_plan
from pacenote.plan.document import OnError, Plan, SampleRetention
from pacenote.plan.explain import StepDescription, explain
from pacenote.provision.cars import compose_car
from pacenote.provision.engine import EmbeddedRequest, check_request
from pacenote.race.corpora import PreparedCorpora, prepare
from pacenote.race.document_check import check_documents
from pacenote.race.drive import Drive, drive, stopping
from pacenote.race.plugins import (
    after_load,
    names_of,
    plugins_of,
    prepare_data,
    program_of,
    sourced_by,
    tell_data_files,
)
from pacenote.race.record import cluster_used, sha256_of
from pacenote.race.targets import aimed, client_used, found, known
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from pacenote.telemetry.device import Devices
from pacenote.telemetry.environment import read_environment
from pacenote.telemetry.index_stats import IndexStats
from pacenote.telemetry.jvm_stats import JvmStats
from pacenote.track.prepare import PreparedTrack, prepare_track
from pacenote.track.serverless import SERVERLESS as SERVERLESS

if TYPE_CHECKING:
    from pacenote.plugins.track_plugins import TrackPlugins


def dry_run(request: RaceRequest) -> tuple[StepDescription, ...]:
    """What a race would do, step by step, from what the track declares.

    Raises TrackError, and UsageError for hosts or cars that the race itself would refuse.
    """
    known(request)
    if request.pipeline != "benchmark-only":
        compose_car(request.car, request.car_params)
    prepared = _load(request, None, lambda _: None)
    with plugins_of(prepared.track, request.home, offline=request.offline, warn=lambda _: None) as plugins:
        prepared = after_load(prepared, plugins, request)
        context = PlanContext(plugins=names_of(plugins), assertions=request.enable_assertions)
        return explain(_plan(request, prepared.track, prepared.challenge, context))


def race(request: RaceRequest, listener: RaceListener) -> RaceRecord:
    """Runs a race; returns its record with the verdict, also of one that was interrupted or aborted.

    Raises PacenoteError when the race could not begin, KeyboardInterrupt when it was stopped before.
    """
    return stage(request, listener, _run)


def stage(
    request: RaceRequest, listener: RaceListener, course: Course, check: Check = lambda *_: None
) -> RaceRecord:
    """Makes everything ready for a race and lets `course` drive it; its record is the answer.

    `check` refuses what `course` cannot do, before anything is fetched. Raises as it does, and as `race`.
    """
    with _stoppable():
        existing = found(request, listener.warning)
        prepared = _load(request, existing, lambda label: listener.preparing(label, 0, 0))
        _announce(prepared, listener)
        track = prepared.track
        with plugins_of(track, request.home, offline=request.offline, warn=listener.warning) as plugins:
            crew = _Crew(request, plugins, existing, listener, check)
            record = _race(crew, after_load(prepared, plugins, request), course)
    listener.finished(record)
    return record


@dataclasses.dataclass(frozen=True, slots=True)
class _Crew:
    """What goes with a race from its beginning."""

    request: RaceRequest
    plugins: TrackPlugins | None
    existing: Cluster | None
    listener: RaceListener
    check: Check


@dataclasses.dataclass(frozen=True, slots=True)
class Stage:
    """A race whose data is there and whose engine runs: it only has to be driven.

    `plan` is the whole challenge, without its target. `record` is stored in `folder` as far as it is known.
    """

    request: RaceRequest
    prepared: PreparedTrack
    plan: Plan
    cluster: Cluster
    folder: RaceFolder
    record: RaceRecord
    listener: RaceListener
    _context: PlanContext
    _plugins: TrackPlugins | None

    def replan(self, challenge: Challenge) -> Plan:
        """The plan of the challenge as it was changed. Raises TrackError."""
        track = dataclasses.replace(self.prepared.track, challenges=(challenge,))
        return _plan(self.request, track, challenge, self._context)

    def drive(self, plan: Plan, folder: RaceFolder) -> Drive:
        """Drives a plan against the engine; raises as `drive.drive` does."""
        # Asking an existing cluster whether it lives would disturb what is measured; its refusals tell.
        alive = self.cluster.alive if self.record.pipeline != "benchmark-only" else None
        lookup = self._context.data_file
        engine = _engine_of(self.cluster)
        context = CompileContext(self.prepared.track, lookup, engine, self.request.enable_assertions)
        plan = aimed(plan, self.cluster, self.request)
        program = program_of(plan, self.prepared, self._plugins, context, self.listener.warning)
        return drive(plan.to_json(), folder, alive, self.listener, program)


Course = Callable[[Stage], RaceRecord]
"""Drives what is ready and concludes the race: the record is stored when it returns."""

Check = Callable[[Challenge, Plan], None]
"""Looks at a challenge and at the plan of what it declares. Raises UsageError."""


def _race(crew: _Crew, prepared: PreparedTrack, course: Course) -> RaceRecord:
    """The race of a track as it is going to run."""
    request, plugins, existing, listener = crew.request, crew.plugins, crew.existing, crew.listener
    track, challenge = prepared.track, prepared.challenge
    context = PlanContext(plugins=names_of(plugins), assertions=request.enable_assertions)
    plan = _plan(request, track, challenge, context)
    crew.check(challenge, plan)
    _check_indices(request, challenge, context.plugins)
    place = RaceFolder(RaceStore(request.home).races / request.race_id)
    provision = _provision(request, place)
    prepare_data(plugins, request, listener.preparing)
    corpora = prepare(track, challenge, request, listener.preparing, sourced_by(plugins, track))
    tell_data_files(plugins, corpora, request)
    context = dataclasses.replace(context, data_file=corpora.data_file, engine=_engine(request, existing))
    plan = _plan(request, track, challenge, context)
    folder = RaceStore(request.home).create(_begin(request, prepared, corpora))
    try:
        with existing or embedded_cluster(provision, listener.preparing) as cluster:
            record = _set_out(
                folder, aimed(plan, cluster, request), cluster, secret_values(request.track_params)
            )
            listener.started(record)
            if isinstance(cluster, EmbeddedCluster):
                listener.info(f"{cluster.info().distribution} answers at {cluster.hosts[0]}")
            ready = Stage(request, prepared, plan, cluster, folder, record, listener, context, plugins)
            return course(ready)
    except BaseException as error:
        _break_off(folder, error)
        raise


def _check_indices(request: RaceRequest, challenge: Challenge, plugins: PluginNames) -> None:
    """A new engine has no indices, and a search for a pattern that matches nothing succeeds without hits."""
    kinds = {task.operation.type for task in challenge.tasks()}
    makes = kinds & {"bulk", "create-index", "create-data-stream", *plugins.runners}
    if request.pipeline == "benchmark-only" or "search" not in kinds or makes:
        return
    raise UsageError(
        f"challenge '{challenge.name}' searches indices that a new engine does not have",
        hint="race it on a cluster that has them, with --target-hosts",
    )


def _load(request: RaceRequest, existing: Cluster | None, progress: Callable[[str], None]) -> PreparedTrack:
    """The track as it is going to run; an existing cluster says for which engine, and which flavor of it."""
    distribution, version = request.distribution, request.distribution_version
    if existing is not None:
        info = existing.info()
        distribution, version = info.distribution, info.version
        if info.flavor == SERVERLESS:
            # The version it says stands still; the newest track is the one for it.
            request, version = dataclasses.replace(request, build_flavor=SERVERLESS), ""
    elif request.pipeline == "benchmark-only":
        version = ""
    # Branches of track repositories are named after versions of Elasticsearch.
    return prepare_track(request.track_request(version if distribution == "elasticsearch" else ""), progress)


def _announce(prepared: PreparedTrack, listener: RaceListener) -> None:
    """Where the track comes from, what of it is left out, and what its author wants to be known."""
    for text in prepared.found.warnings:
        listener.warning(text)
    for text in (*prepared.notes, *prepared.challenge.user_info.splitlines()):
        listener.info(text)


def _plan(request: RaceRequest, track: Track, challenge: Challenge, context: PlanContext) -> Plan:
    """The plan without its target, which is known only when the engine runs."""
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


def _engine(request: RaceRequest, existing: Cluster | None) -> EngineInfo:
    """The engine as the planner knows it: some requests differ between engines."""
    if existing is None:
        return EngineInfo(request.distribution, request.distribution_version)
    info = existing.info()
    return EngineInfo(info.distribution, info.version, info.flavor)


def _provision(request: RaceRequest, folder: RaceFolder) -> EmbeddedRequest:
    """The engine to start. Raises UsageError or EngineError for what is known to be impossible."""
    provisioned = request.pipeline != "benchmark-only"
    jdk = request.runtime_jdk
    wanted = EmbeddedRequest(
        home=request.home,
        artifacts=folder.artifacts,
        distribution=request.distribution,
        version=request.distribution_version,
        car=compose_car(request.car, request.car_params if provisioned else {}),
        runtime_jdk=None if jdk is None else str(jdk),
        maven_mirror=request.maven_mirror,
        preserve=request.preserve_install,
        offline=request.offline,
    )
    if provisioned:
        check_request(wanted)
    return wanted


def _begin(request: RaceRequest, prepared: PreparedTrack, corpora: PreparedCorpora) -> RaceRecord:
    """The record as far as it is known before there is an engine."""
    track, challenge = prepared.track, prepared.challenge
    provisioned = request.pipeline != "benchmark-only"
    hidden = [
        task.name
        for task in challenge.tasks()
        if not included_in_report(find_type(task.operation.type), task.operation.params)
    ]
    return RaceRecord(
        race_id=request.race_id,
        timestamp=request.effective_start or datetime.now(UTC),
        track=RecordedTrack(track.name, prepared.found.revision, request.track_params),
        challenge=None if challenge.auto_generated else challenge.name,
        pipeline=request.pipeline,
        car=request.car if provisioned else ("external",),
        car_params=request.car_params if provisioned else {},
        user_tags=request.user_tags,
        environment=read_environment(),
        seed=request.seed,
        pacing=request.pacing,
        max_error_rate=request.max_error_rate,
        corpora=corpora.used,
        unreported=tuple(hidden),
    )


def _set_out(folder: RaceFolder, plan: Plan, cluster: Cluster, secrets: frozenset[str]) -> RaceRecord:
    """Stores the plan as it will be driven; what is secret in it is left out."""
    record = folder.read()
    public = plan.to_public_json(secrets)
    folder.write_plan(public)
    info = cluster.info()
    record = dataclasses.replace(
        record,
        cluster=cluster_used(info),
        client=client_used(plan.target),
        plan=PlanFile(folder.plan_json.name, sha256_of(public)),
    )
    folder.write(record)
    return record


def _engine_of(cluster: Cluster) -> EngineInfo:
    """The engine that runs."""
    info = cluster.info()
    return EngineInfo(info.distribution, info.version, info.flavor)


def _run(ready: Stage) -> RaceRecord:
    """Drives the plan and concludes the race; the record is stored when this returns."""
    cluster = ready.cluster
    get = cluster.rest().get
    devices = Devices([IndexStats(get), JvmStats(get)])
    devices.start()
    driven = ready.drive(ready.plan, ready.folder)
    record = dataclasses.replace(
        ready.record,
        tasks=driven.tasks,
        driver=driven.summary,
        interrupted=driven.interrupted,
        aborted=driven.aborted,
    )
    if driven.ended_by_itself:
        observed = devices.stop()
        checks, problems = check_documents(ready.plan, driven.tasks, get)
        record = dataclasses.replace(
            record,
            system=observed.system,
            telemetry={**observed.values, **_startup(cluster)},
            telemetry_errors=(*observed.errors, *problems),
            documents=checks,
        )
    return _conclude(record, driven, ready.folder)


def _startup(cluster: Cluster) -> dict[str, float]:
    """How long a node of ours took to be healthy, in seconds, under Rally's name."""
    return {"node_startup_time": cluster.node.start_seconds} if isinstance(cluster, EmbeddedCluster) else {}


def _conclude(record: RaceRecord, driven: Drive, folder: RaceFolder) -> RaceRecord:
    record = dataclasses.replace(record, complete=driven.ended_by_itself)
    record = dataclasses.replace(record, verdict=determine_verdict(record))
    folder.finish(record)
    if driven.error and not driven.tasks:
        # Nothing was measured: the race could not run, which is another thing than a void result.
        provisioned = record.pipeline != "benchmark-only"
        raise DriverError(
            driven.error, hint=f"the engine's log is in {folder.artifacts}" if provisioned else ""
        )
    return record


def _break_off(folder: RaceFolder, error: BaseException) -> None:
    """Stores why a race ended outside its measured part; one that was concluded before stays as it is."""
    record = folder.read()
    if record.complete:
        return
    if isinstance(error, KeyboardInterrupt):
        record = dataclasses.replace(record, interrupted=True)
    else:
        text = error.message if isinstance(error, PacenoteError) else f"{type(error).__name__}: {error}"
        record = dataclasses.replace(record, aborted=record.aborted or text)
    folder.finish(dataclasses.replace(record, verdict=determine_verdict(record)))


@contextmanager
def _stoppable() -> Generator[None, None, None]:
    """A request to terminate, or a terminal that is closed, ends the race as Ctrl-C does, so that the engine
    is stopped and results stay.

    SIGINT is set too: a shell starts background jobs with it ignored, but whoever sends it means it.
    """
    try:
        before = {number: signal.signal(number, signal.default_int_handler) for number in stopping()}
    except ValueError:  # Not in the main thread, where signals are not ours to handle.
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
