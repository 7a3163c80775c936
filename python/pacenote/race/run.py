"""The stages of a race in order.

    load        the track, and a plan from its declarations, so that mistakes are found before any download
    prepare     the data: found, downloaded, unpacked or generated
    provision   the engine: assembled and started, or an existing cluster
    drive       the plan; each task's result is stored when the task ends
    conclude    telemetry, document counts, verdict

If a race ends early for any reason, the results so far are stored and the engine is stopped.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pacenote.cluster.cluster import Cluster
from pacenote.cluster.container_cluster import StartedCluster
from pacenote.errors import DriverError, StoreError
from pacenote.evidence.telemetry_values import observe_tasks
from pacenote.model.engine import SERVERLESS
from pacenote.model.race_listener import DriveListener, RaceListener
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.model.recorded_sources import RecordedSources
from pacenote.model.redaction import redact_error, redact_record
from pacenote.model.snapshot import RaceSnapshot
from pacenote.model.track import Challenge
from pacenote.operations.base import CompileContext
from pacenote.plan.build import PlanContext
from pacenote.plan.document import Plan
from pacenote.provision.cpu_affinity import on_cpus
from pacenote.provision.engine import check_settings
from pacenote.provision.engine_request import EngineRequest
from pacenote.race.capacity import check_capacity
from pacenote.race.client_api_keys import client_api_keys
from pacenote.race.corpora import PreparedCorpora, prepare_corpora
from pacenote.race.document_check import check_documents, unchecked_documents
from pacenote.race.drive import DriveResult, drive
from pacenote.race.engine_request import (
    check_engine,
    engine_request,
    engine_warnings,
    index_settings,
    starts_empty,
)
from pacenote.race.engine_sources import with_built_engine, with_source_version
from pacenote.race.engine_start import check_engine_start, start_race_cluster
from pacenote.race.index_settings_check import check_index_settings
from pacenote.race.local_engines import NO_ENGINES, find_local_engines
from pacenote.race.observed_host import observed_host
from pacenote.race.plan_progress import PlanProgress
from pacenote.race.planning import (
    check_searched_indices,
    expected_engine,
    plan_challenge,
    running_engine,
    with_operator_status,
)
from pacenote.race.plugins import (
    plugin_names,
    prepare_plugin_data,
    python_tasks_of,
    run_track_processors,
    set_data_files,
    source_files,
    track_plugins,
)
from pacenote.race.race_secrets import race_secrets
from pacenote.race.record import (
    expected_results,
    initial_record,
    recorded_cluster,
    recorded_plan,
    recorded_steps,
    with_clients,
    with_failure,
    with_verdict,
)
from pacenote.race.snapshots import SnapshotReader
from pacenote.race.start_gate import pass_gate
from pacenote.race.starting_state import bring_about, cool_down
from pacenote.race.stop_signals import interrupting, postponed
from pacenote.race.stored_data import storing_data
from pacenote.race.stored_progress import storing_progress
from pacenote.race.supervisor import ProcessEnded, ProcessInterrupted
from pacenote.race.target_rates import target_rates
from pacenote.race.targets import check_clusters, host_counts, with_targets
from pacenote.race.team import TeamMessages, with_team
from pacenote.race.telemetry import ObservedRace, telemetry_devices
from pacenote.race.telemetry_file import RaceTelemetry
from pacenote.race.unsent_documents import unsent_documents
from pacenote.race.wildcard_setting import restored_wildcard_setting
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from pacenote.telemetry.device import TelemetryResult
from pacenote.track.locate import check_track
from pacenote.track.prepare import PreparedTrack, prepare_track

if TYPE_CHECKING:
    from pacenote.plugins.track_plugins import TrackPlugins


@dataclass(frozen=True, slots=True)
class RaceContext:
    """A race whose data is prepared and whose engine runs, ready to be driven."""

    request: RaceRequest
    """The request of the user."""

    prepared: PreparedTrack
    """The track after its processors have run, and its challenge."""

    plan: Plan
    """The plan of the whole challenge, without its targets."""

    cluster: Cluster
    """The cluster under test."""

    folder: RaceFolder
    """The folder of the race."""

    record: RaceRecord
    """The record as stored in the folder before the race is driven, without results."""

    listener: RaceListener
    """Receives notes, progress and results."""

    corpora: PreparedCorpora
    """The data of the race."""

    snapshots: SnapshotReader
    """Reads the configuration of the engine and the machine."""

    snapshot: RaceSnapshot | None = field(repr=False)
    """That configuration before the race, or None if it could not be stored."""

    plan_context: PlanContext = field(repr=False)
    """The context of the plan, for planning a changed challenge."""

    plugins: TrackPlugins | None = field(repr=False)
    """The plug-ins of the track, if it has any."""

    def replan(self, challenge: Challenge) -> Plan:
        """Returns the plan of a changed challenge. Raises TrackError."""
        track = dataclasses.replace(self.prepared.track, challenges=(challenge,))
        return plan_challenge(self.request, track, challenge, self.plan_context)

    def drive(self, plan: Plan, folder: RaceFolder, events: DriveListener | None = None) -> DriveResult:
        """Drives a plan against the cluster. `events` receives its events instead of the race's listener.

        Raises DriverError and StoreError.
        """
        # An existing cluster is not checked: requests to it would disturb the measurement, and failures are
        # recorded.
        exit_reason = self.cluster.exit_reason if isinstance(self.cluster, StartedCluster) else None
        context = CompileContext(
            self.prepared.track,
            self.plan_context.data_file,
            running_engine(self.cluster),
            self.request.enable_assertions,
            self.plan_context.index_settings,
        )
        plan = with_targets(plan, self.cluster, self.request)
        check_capacity(plan, (len(plan.target.hosts), *(len(other.target.hosts) for other in plan.others)))
        python_tasks = python_tasks_of(plan, self.prepared, self.plugins, context, self.listener.warning)
        driven = None
        try:
            with (
                self._settings_of_existing_cluster(plan),
                self._with_api_keys(plan) as authorized,
                on_cpus(self.request.driver_cpus),
                storing_progress(events or self.listener, self.folder) as stored,
            ):
                listener = PlanProgress(stored, plan)
                driven = drive(authorized.to_json(), folder, exit_reason, listener, python_tasks)
        except KeyboardInterrupt:
            # A signal while the settings are restored must not lose the result.
            if driven is None:
                raise
            driven = dataclasses.replace(driven, interrupted=True)
        changes = self.corpora.changes()
        files = {
            "changed_files": [change.text for change in changes if change.certain],
            "possibly_changed_files": [change.text for change in changes if not change.certain],
        }
        return dataclasses.replace(driven, summary={**driven.summary, **files})

    def cool_down(self) -> None:
        """Waits as long as the request demands. Raises EngineError if the engine ends in the meantime."""
        ended = self.cluster.exit_reason if isinstance(self.cluster, StartedCluster) else None
        cool_down(self.request.conditions.cooldown_s, ended, self.listener.preparing)

    def compare_snapshots(self, record: RaceRecord) -> RaceRecord:
        """Returns the record with what has changed of the configuration of engine and machine since the race
        began. Call it when no task runs, and before the verdict.
        """
        return self.snapshots.after(record, self.snapshot)

    def finish(self, record: RaceRecord) -> RaceRecord:
        """Stores the final record and returns it, without secrets.

        If it cannot be stored, warns and returns it with the reason, so that what was measured is reported.
        """
        record = redact_record(record, self.folder.secrets)
        try:
            self.folder.finish(record)
        except StoreError as error:
            self.listener.warning(f"the results are not stored: {error.message}")
            return with_failure(dataclasses.replace(record, complete=False), error)
        if problem := self.folder.plan_problem(record):
            self.listener.warning(problem)
        if self.folder.unfinished_files():
            completed = f"`pacenote report {record.race_id}` completes them when there is room"
            self.listener.warning(f"samples, statistics or telemetry are not complete yet: {completed}")
        return record

    def _settings_of_existing_cluster(self, plan: Plan) -> AbstractContextManager[None]:
        if isinstance(self.cluster, StartedCluster):
            return nullcontext()  # The cluster ends with the race.
        return restored_wildcard_setting(plan, self.cluster.rest(), self.listener.warning)

    def _with_api_keys(self, plan: Plan) -> AbstractContextManager[Plan]:
        if not self.request.client.api_key_per_client:
            return nullcontext(plan)
        return client_api_keys(plan, self.cluster.rest(), self.listener.warning)


DriveStage = Callable[[RaceContext], RaceRecord]
"""Drives a race that is ready and concludes it; the record is stored when it returns."""

PlanCheck = Callable[[Challenge, Plan], None]
"""Checks a challenge and the plan of its declarations. Raises UsageError."""


def race(request: RaceRequest, listener: RaceListener) -> RaceRecord:
    """Runs a race and returns its record with the verdict, even if it was interrupted or aborted.

    Raises PacenoteError if the race could not begin, and KeyboardInterrupt if it was stopped before it began.
    """
    return run_stages(request, listener, _drive_and_conclude)


def run_stages(
    request: RaceRequest,
    listener: RaceListener,
    drive_stage: DriveStage,
    check: PlanCheck = lambda *_: None,
) -> RaceRecord:
    """Prepares a race, calls `drive_stage` to drive it, and returns the record.

    `check` rejects challenges that `drive_stage` does not support, before any download. Raises the errors of
    both functions and of `race`.
    """
    with interrupting():
        check_track(request.track_request())
        existing = check_clusters(request, listener.warning)
        request = with_operator_status(request, existing, listener.info)
        request = with_source_version(request, listener.preparing)
        request = with_team(
            request,
            TeamMessages(lambda label: listener.preparing(label, 0, 0), listener.info, listener.warning),
        )
        # The track's Python code must not run for an engine that cannot start.
        check_engine(request)
        prepared = load_race_track(request, existing, lambda label: listener.preparing(label, 0, 0))
        _announce(prepared, listener)
        try:
            with track_plugins(
                prepared.track,
                request.home,
                offline=request.offline,
                warn=listener.warning,
                in_copy=request.owns_process,
            ) as plugins:
                prepared = run_track_processors(prepared, plugins, request)
                preparation = _Preparation(request, prepared, plugins, existing, listener)
                record = preparation.run(drive_stage, check)
        except (ProcessEnded, ProcessInterrupted) as error:
            raise _with_stored_race(request, error) from None
    listener.finished(record)
    return record


@dataclass(frozen=True, slots=True)
class _Preparation:
    """The stages between a loaded track and a race that is ready to be driven."""

    request: RaceRequest
    prepared: PreparedTrack
    plugins: TrackPlugins | None
    existing: Cluster | None
    listener: RaceListener

    def run(self, drive_stage: DriveStage, check: PlanCheck) -> RaceRecord:
        request, track, challenge = self.request, self.prepared.track, self.prepared.challenge
        declared = self._declared_context()
        plan = plan_challenge(request, track, challenge, declared)
        check(challenge, plan)
        check_capacity(plan, host_counts(request))
        check_searched_indices(request, self.prepared, declared.plugins)
        engine, sources = self._check_engine()
        for warning in engine_warnings(request, track, challenge, engine):
            self.listener.warning(warning)
        corpora = self._prepare_data()
        context = dataclasses.replace(
            declared, data_file=corpora.data_file, engine=expected_engine(request, self.existing)
        )
        plan = plan_challenge(request, track, challenge, context)
        unsent = tuple(unsent_documents(plan, test_mode=request.test_mode))
        record = initial_record(request, self.prepared, corpora)
        record = dataclasses.replace(
            record, targets=target_rates(challenge, plan), sources=sources, unsent_documents=unsent
        )
        secrets = race_secrets(request) | plan.secrets() | engine.security.secrets
        folder = None
        try:
            with postponed():
                folder = RaceStore(request.home).create(record, expected_results(plan), secrets)
            if self.plugins is not None:
                self.plugins.log_to(folder.artifacts, folder.secrets)
            with (
                _redacted_logs(folder, self.listener.warning),
                storing_data(request, self.listener.info, self.listener.warning) as store_data,
                self._cluster(engine) as cluster,
            ):
                record = _record_start(folder, plan, cluster, request)
                corpora.verify()
                engines = NO_ENGINES if cluster.local_nodes() else find_local_engines(cluster.rest())
                snapshots = SnapshotReader(cluster, folder, request.data_root, self.listener, engines)
                record, snapshot = self._begin(record, snapshots)
                final = drive_stage(
                    RaceContext(
                        request=request,
                        prepared=self.prepared,
                        plan=plan,
                        cluster=cluster,
                        folder=folder,
                        record=record,
                        listener=self.listener,
                        corpora=corpora,
                        snapshots=snapshots,
                        snapshot=snapshot,
                        plan_context=context,
                        plugins=self.plugins,
                    )
                )
                store_data(cluster, final)
                return final
        except BaseException as error:
            redact_error(error, secrets)
            if folder is not None:
                _record_failure(folder, error)
            raise

    def _declared_context(self) -> PlanContext:
        return PlanContext(
            plugins=plugin_names(self.plugins),
            assertions=self.request.enable_assertions,
            index_settings=index_settings(self.request),
        )

    @contextmanager
    def _cluster(self, engine: EngineRequest) -> Generator[Cluster, None, None]:
        """Yields the cluster, and stops it if it was started. Warns about logs that were not kept."""
        with self.existing or start_race_cluster(self.request, engine, self.listener.preparing) as cluster:
            try:
                yield cluster
            finally:
                cluster.stop()
                for node in cluster.local_nodes():
                    if node.log_problem:
                        self.listener.warning(node.log_problem)

    def _begin(self, record: RaceRecord, snapshots: SnapshotReader) -> tuple[RaceRecord, RaceSnapshot | None]:
        """Announces the race, reads the configuration and brings about the conditions of the request.

        Returns the record with both, and the snapshot of the configuration.
        """
        self._announce_start(record, snapshots.cluster)
        record, snapshot = snapshots.before(record)
        listener = self.listener
        cluster = snapshots.cluster
        state = bring_about(self.request.conditions, cluster, listener.warning, listener.preparing)
        ended = cluster.exit_reason if isinstance(cluster, StartedCluster) else None
        pass_gate(ended, listener.preparing)
        return dataclasses.replace(record, starting_state=state), snapshot

    def _check_engine(self) -> tuple[EngineRequest, RecordedSources | None]:
        """Returns the engine to start, and the sources that it was built from.

        Raises UsageError and EngineError if it cannot be built, or if it is known that it cannot start.
        """
        request, sources = with_built_engine(self.request, self.listener.preparing)
        folder = RaceFolder(RaceStore(request.home).races / request.race_id, race_secrets(request))
        engine = engine_request(request, folder.artifacts)
        engine = check_engine_start(request, engine)
        # Preparing the data may take hours.
        check_settings(engine, self.listener.preparing)
        return engine, sources

    def _prepare_data(self) -> PreparedCorpora:
        request, plugins, progress = self.request, self.plugins, self.listener.preparing
        track = self.prepared.track
        prepare_plugin_data(plugins, request, progress)
        corpora = prepare_corpora(
            track, self.prepared.challenge, request, progress, source_files(plugins, track)
        )
        for text in corpora.warnings:
            self.listener.warning(text)
        set_data_files(plugins, corpora, request)
        return corpora

    def _announce_start(self, record: RaceRecord, cluster: Cluster) -> None:
        self.listener.started(record)
        for task in record.unsent_documents:
            self.listener.info(f"{task.task} {task.text}")
        if isinstance(cluster, StartedCluster):
            title = cluster.assembled.title if cluster.assembled else ""
            name = title or cluster.info().distribution
            hosts = ", ".join(map(str, cluster.hosts))
            self.listener.info(f"{name} is running at {hosts}")


def load_race_track(
    request: RaceRequest, existing: Cluster | None, progress: Callable[[str], None]
) -> PreparedTrack:
    """Returns the track as it runs; an existing cluster determines the version and flavor of the engine."""
    engine = expected_engine(request, existing)
    if engine.is_serverless:
        request = dataclasses.replace(request, build_flavor=SERVERLESS)
    unknown = existing is None and request.pipeline == "benchmark-only"
    return prepare_track(request.track_request("" if unknown else engine.track_version), progress)


def _announce(prepared: PreparedTrack, listener: RaceListener) -> None:
    """Reports the source of the track, the tasks that are omitted, and the track's notes to users."""
    for text in prepared.located.warnings:
        listener.warning(text)
    for text in (*prepared.notes, *prepared.challenge.user_info.splitlines()):
        listener.info(text)


def _record_start(folder: RaceFolder, plan: Plan, cluster: Cluster, request: RaceRequest) -> RaceRecord:
    """Stores the final plan without its secrets, and the record with the cluster."""
    plan = with_targets(plan, cluster, request)
    public = plan.to_public_json(folder.secrets)
    folder.write_plan(public)
    record = dataclasses.replace(
        with_clients(folder.read(), plan),
        cluster=recorded_cluster(cluster.info(), cluster),
        plan=recorded_plan(folder.plan_json.name, public),
        steps=recorded_steps(plan),
    )
    if request.client.api_key_per_client:
        client = dataclasses.replace(record.client, authentication="api-key")
        record = dataclasses.replace(record, client=client)
    folder.write(record)
    return record


def _drive_and_conclude(context: RaceContext) -> RaceRecord:
    """Drives the plan with telemetry and concludes the race."""
    get = context.cluster.rest().get
    nodes, found = context.cluster.local_nodes(), context.snapshots.engines
    host = observed_host(nodes, context.request.driver_cpus, found)
    samples = RaceTelemetry(context.folder, host)
    observed = ObservedRace(
        context.request, context.record, context.prepared.track, context.cluster, context.folder
    )
    telemetry = telemetry_devices(observed, samples)
    driven = None
    try:
        telemetry.start()
        if context.request.telemetry.default_devices:
            samples.start_sampler()
        listener = samples.listener(context.listener, telemetry.task_ended)
        driven = context.drive(context.plan, context.folder, listener)
        record = _with_drive_result(context.record, driven)
        # If what follows is interrupted, nothing that was measured is lost.
        with contextlib.suppress(StoreError):
            context.folder.write(record)
        measured = telemetry.stop() if driven.completed else TelemetryResult()
    finally:
        unclosed = telemetry.close()
        sampled, unsampled = samples.close(driven)
    documents = (
        check_documents(context.plan, driven.tasks, get, starts_empty=starts_empty(context.request))
        if driven.completed
        else ()
    )
    for text in check_index_settings(context.plan_context.index_settings, get) if driven.completed else ():
        context.listener.warning(text)
    unchecked = tuple(unchecked_documents(context.plan, driven.tasks)) if driven.completed else ()
    record = dataclasses.replace(
        record,
        system=measured.system,
        telemetry={**measured.values, **sampled},
        telemetry_errors=(*measured.errors, *unclosed, *unsampled),
        documents=documents,
        unchecked_documents=unchecked,
    )
    record = observe_tasks(record, context.folder.telemetry, context.snapshot)
    if driven.completed:
        record = context.compare_snapshots(record)
    return _conclude(record, driven, context)


def _with_drive_result(record: RaceRecord, driven: DriveResult) -> RaceRecord:
    return dataclasses.replace(
        record,
        tasks=driven.tasks,
        driver=driven.summary,
        interrupted=driven.interrupted,
        aborted=driven.aborted,
    )


def _conclude(record: RaceRecord, driven: DriveResult, context: RaceContext) -> RaceRecord:
    """Stores the final record. Raises DriverError if nothing was measured, since such a race has no verdict,
    and after a defect.
    """
    folder = context.folder
    record = with_verdict(dataclasses.replace(record, complete=driven.completed))
    record = context.finish(record)
    if driven.defect:
        raise DriverError(driven.error, hint=f"what was measured is kept: pacenote report {record.race_id}")
    if driven.error and not driven.tasks:
        provisioned = record.pipeline != "benchmark-only"
        raise DriverError(
            driven.error, hint=f"the engine's log is in {folder.artifacts}" if provisioned else ""
        )
    return record


def _with_stored_race(
    request: RaceRequest, error: ProcessEnded | ProcessInterrupted
) -> ProcessEnded | ProcessInterrupted:
    """Stores why the process of a race ended, and returns the error with a hint if the race had begun."""
    folder = RaceFolder(RaceStore(request.home).races / request.race_id)
    # Another process may have started a race with the same id in the meantime.
    if not folder.race_json.exists() or folder.is_in_use():
        return error
    _record_failure(folder, error)
    # The process that has ended could not do this itself.
    with contextlib.suppress(StoreError):
        folder.redact_logs()
    kept = "finished tasks, per-second statistics and all but the last samples are kept"
    return type(error)(error.message, hint=f"{kept}: pacenote report {request.race_id}")


@contextmanager
def _redacted_logs(folder: RaceFolder, warn: Callable[[str], None]) -> Generator[None, None, None]:
    """Removes secrets from the logs of the engine at the end of the block, when it has ended. Calls `warn` if
    that fails.
    """
    try:
        yield
    finally:
        try:
            folder.redact_logs()
        except StoreError as error:
            warn(f"the logs of the engine may contain secrets: {error.message}")


def _record_failure(folder: RaceFolder, error: BaseException) -> None:
    """Stores the reason why a race ended outside its measured part. Does not change a complete record."""
    # If the folder cannot be written, the error is more important than its record.
    with contextlib.suppress(StoreError):
        record = folder.read()
        if not record.complete:
            folder.finish(with_failure(record, error), keep_damaged_journal=True)
