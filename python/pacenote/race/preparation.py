"""The stages between a loaded track and a race that is ready: data, folder, engine, starting state."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct, structs
from msgspec.structs import replace

from pacenote.cluster.cluster import Cluster
from pacenote.cluster.container_cluster import StartedCluster
from pacenote.errors import StoreError
from pacenote.model.race_listener import RaceListener
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.model.recorded_sources import RecordedSources
from pacenote.model.redaction import redact_error
from pacenote.model.snapshot import RaceSnapshot
from pacenote.model.track import Challenge
from pacenote.plan.build import PlanContext
from pacenote.plan.document import Plan
from pacenote.provision.engine import check_settings
from pacenote.provision.engine_request import EngineRequest
from pacenote.race.capacity import check_capacity
from pacenote.race.context import RaceContext
from pacenote.race.corpora import PreparedCorpora, prepare_corpora
from pacenote.race.engine_request import car_profilers, engine_request, engine_warnings, index_settings
from pacenote.race.engine_sources import with_built_engine
from pacenote.race.engine_start import check_engine_start, start_race_cluster
from pacenote.race.local_engines import NO_ENGINES, find_local_engines, with_further_engines
from pacenote.race.operation_counts import operation_count_notes
from pacenote.race.planning import check_searched_indices, expected_engine, plan_challenge
from pacenote.race.plugins import plugin_names, prepare_plugin_data, set_data_files, source_files
from pacenote.race.race_secrets import race_secrets
from pacenote.race.record import (
    expected_results,
    initial_record,
    record_failure,
    recorded_cluster,
    recorded_plan,
    recorded_steps,
    with_clients,
    with_reported_profilers,
)
from pacenote.race.snapshots import SnapshotReader
from pacenote.race.start_gate import pass_gate
from pacenote.race.starting_state import bring_about
from pacenote.race.stop_signals import postponed
from pacenote.race.stored_data import storing_data
from pacenote.race.target_rates import target_rates
from pacenote.race.targets import host_counts, with_targets
from pacenote.race.unsent_documents import unsent_documents
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from pacenote.track.prepare import PreparedTrack

if TYPE_CHECKING:
    from pacenote.plugins.track_plugins import TrackPlugins


DriveStage = Callable[[RaceContext], RaceRecord]
"""Drives a race that is ready and concludes it; the record is stored when it returns."""

PlanCheck = Callable[[Challenge, Plan], None]
"""Checks a challenge and the plan of its declarations. Raises UsageError."""


class RacePreparation(Struct, frozen=True):
    """The stages between a loaded track and a race that is ready to be driven."""

    request: RaceRequest
    """The request of the user."""

    prepared: PreparedTrack
    """The track after its processors have run, and its challenge."""

    plugins: TrackPlugins | None
    """The plug-ins of the track, if it has any."""

    existing: Cluster | None
    """The cluster, if the race does not start one."""

    listener: RaceListener
    """Receives notes and progress."""

    def run(self, drive_stage: DriveStage, check: PlanCheck) -> RaceRecord:
        """Prepares the race, calls `drive_stage`, and returns its record. Raises PacenoteError."""
        request, track, challenge = self.request, self.prepared.track, self.prepared.challenge
        declared = self._declared_context()
        plan = self._check_declarations(declared, check)
        for note in operation_count_notes(self.prepared.unpaced, plan):
            self.listener.info(note)
        engine, sources = self._check_engine()
        for warning in engine_warnings(request, track, challenge, engine):
            self.listener.warning(warning)
        corpora = self._prepare_data()
        context = replace(
            declared, data_file=corpora.data_file, engine=expected_engine(request, self.existing)
        )
        plan = plan_challenge(request, track, challenge, context)
        record = self._initial_record(plan, corpora, engine, sources)
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
                engines = NO_ENGINES
                if not cluster.local_nodes():
                    engines = find_local_engines(cluster.rest(), cluster.node_names)
                engines = with_further_engines(engines, request.additional_clusters)
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
                record_failure(folder, error)
            raise

    def _initial_record(
        self,
        plan: Plan,
        corpora: PreparedCorpora,
        engine: EngineRequest,
        sources: RecordedSources | None,
    ) -> RaceRecord:
        record = initial_record(self.request, self.prepared, corpora)
        return structs.replace(
            record,
            options=structs.replace(record.options, car_profilers=car_profilers(engine)),
            targets=target_rates(self.prepared.challenge, plan),
            sources=sources,
            unsent_documents=tuple(unsent_documents(plan, test_mode=self.request.test_mode)),
        )

    def _check_declarations(self, context: PlanContext, check: PlanCheck) -> Plan:
        """Checks what is known without data, and returns the plan of it. Raises PacenoteError."""
        challenge = self.prepared.challenge
        plan = plan_challenge(self.request, self.prepared.track, challenge, context)
        check(challenge, plan)
        check_capacity(plan, host_counts(self.request))
        check_searched_indices(self.request, self.prepared, context.plugins)
        return plan

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
        return structs.replace(record, starting_state=state), snapshot

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


def _record_start(folder: RaceFolder, plan: Plan, cluster: Cluster, request: RaceRequest) -> RaceRecord:
    """Stores the final plan without its secrets, and the record with the cluster."""
    plan = with_targets(plan, cluster, request)
    public = plan.to_public_json(folder.secrets)
    folder.write_plan(public)
    record = structs.replace(
        with_clients(folder.read(), plan),
        cluster=recorded_cluster(cluster.info(), cluster),
        plan=recorded_plan(folder.plan_json.name, public),
        steps=recorded_steps(plan),
    )
    if isinstance(cluster, StartedCluster):
        record = with_reported_profilers(record, cluster.info())
    if request.client.api_key_per_client:
        client = structs.replace(record.client, authentication="api-key")
        record = structs.replace(record, client=client)
    folder.write(record)
    return record


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
