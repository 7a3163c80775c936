"""A race that is ready to be driven."""

from __future__ import annotations

import dataclasses
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import structs
from msgspec.structs import replace

from pacenote.cluster.cluster import Cluster
from pacenote.cluster.container_cluster import StartedCluster
from pacenote.errors import StoreError
from pacenote.model.race_listener import DriveListener, RaceListener
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.model.redaction import redact_record
from pacenote.model.shell_command import shell_command
from pacenote.model.snapshot import RaceSnapshot
from pacenote.model.track import Challenge
from pacenote.operations.base import CompileContext
from pacenote.plan.build import PlanContext
from pacenote.plan.document import Plan
from pacenote.provision.cpu_affinity import on_cpus
from pacenote.race.capacity import check_capacity
from pacenote.race.client_api_keys import client_api_keys
from pacenote.race.corpora import PreparedCorpora
from pacenote.race.drive import DriveResult, drive
from pacenote.race.plan_progress import PlanProgress
from pacenote.race.planning import plan_challenge, running_engine
from pacenote.race.plugins import python_tasks_of
from pacenote.race.record import with_failure
from pacenote.race.snapshots import SnapshotReader
from pacenote.race.starting_state import cool_down
from pacenote.race.stored_progress import storing_progress
from pacenote.race.targets import with_targets
from pacenote.race.wildcard_setting import restored_wildcard_setting
from pacenote.store.race_folder import RaceFolder
from pacenote.track.prepare import PreparedTrack

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
            driven = replace(driven, interrupted=True)
        changes = self.corpora.changes()
        files = {
            "changed_files": [change.text for change in changes if change.certain],
            "possibly_changed_files": [change.text for change in changes if not change.certain],
        }
        return replace(driven, summary={**driven.summary, **files})

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
            return with_failure(structs.replace(record, complete=False), error)
        if problem := self.folder.plan_problem(record):
            self.listener.warning(problem)
        if self.folder.unfinished_files():
            completed = (
                f"`{shell_command('pacenote', 'report', record.race_id)}` completes them when there is room"
            )
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
