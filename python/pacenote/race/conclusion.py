"""The last stages of a race: it is driven, and what was measured and observed of it is judged and stored."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from msgspec.structs import replace

from pacenote.errors import DriverError, PacenoteError, StoreError
from pacenote.evidence.telemetry_values import observe_tasks
from pacenote.model.document_checks import DocumentCheck
from pacenote.model.engine import GetJson
from pacenote.model.finding import Cause
from pacenote.model.messages import DEFECT
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.model.result import TaskResult
from pacenote.model.shell_command import shell_command
from pacenote.plan.document import Plan
from pacenote.race.context import RaceContext
from pacenote.race.document_check import check_documents, unchecked_documents
from pacenote.race.document_counts import CheckStopped
from pacenote.race.drive import DriveResult
from pacenote.race.engine_request import starts_empty
from pacenote.race.index_settings_check import check_index_settings
from pacenote.race.observed_host import observed_host
from pacenote.race.race_secrets import race_secrets
from pacenote.race.record import record_failure, with_verdict
from pacenote.race.supervisor import ProcessEnded, ProcessInterrupted
from pacenote.race.telemetry import ObservedRace, telemetry_devices
from pacenote.race.telemetry_file import RaceTelemetry
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from pacenote.system.paths import exists
from pacenote.telemetry.device import TelemetryResult


def drive_and_conclude(context: RaceContext) -> RaceRecord:
    """Drives the plan with telemetry and concludes the race."""
    nodes, engines = context.cluster.local_nodes(), context.snapshots.engines
    host = observed_host(nodes, context.request.driver_cpus, engines)
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
    documents = _checked_documents(context, driven) if driven.completed else ()
    if driven.completed:
        _check_settings(context)
    unchecked = tuple(unchecked_documents(context.plan, driven.tasks)) if driven.completed else ()
    record = replace(
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


def checked_documents(
    plan: Plan, results: Sequence[TaskResult], get: GetJson, *, starts_empty: bool = False
) -> tuple[DocumentCheck, ...]:
    """Checks the documents of a race like `check_documents`, but never raises: an error, also a defect, is a
    problem of one check of all indices, and what was measured is kept.
    """
    try:
        return check_documents(plan, results, get, starts_empty=starts_empty)
    except Exception as error:
        is_engine = isinstance(error, PacenoteError) and not isinstance(error, CheckStopped)
        cause: Cause = "engine" if is_engine else "pacenote"
        problem = _described(error)
        return (DocumentCheck("all indices", None, None, count_problem=problem, problem_cause=cause),)


def _checked_documents(context: RaceContext, driven: DriveResult) -> tuple[DocumentCheck, ...]:
    get, is_empty = context.cluster.rest().get, starts_empty(context.request)
    return checked_documents(context.plan, driven.tasks, get, starts_empty=is_empty)


def _check_settings(context: RaceContext) -> None:
    """Warns of indices without the settings that are given; an error is a warning, too."""
    try:
        for text in check_index_settings(context.plan_context.index_settings, context.cluster.rest().get):
            context.listener.warning(text)
    except Exception as error:
        context.listener.warning(f"the settings of indices are not checked: {_described(error)}")


def _described(error: Exception) -> str:
    if isinstance(error, PacenoteError):
        return error.message
    return f"{DEFECT}: {type(error).__name__}: {error}"


def _with_drive_result(record: RaceRecord, driven: DriveResult) -> RaceRecord:
    return replace(
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
    record = with_verdict(replace(record, complete=driven.completed))
    record = context.finish(record)
    if driven.defect:
        kept = f"what was measured is kept: {_report_command(record.race_id)}"
        raise DriverError(driven.error, hint=kept)
    if driven.error and not driven.tasks:
        provisioned = record.pipeline != "benchmark-only"
        raise DriverError(
            driven.error, hint=f"the engine's log is in {folder.artifacts}" if provisioned else ""
        )
    return record


def with_stored_race(
    request: RaceRequest, error: ProcessEnded | ProcessInterrupted
) -> ProcessEnded | ProcessInterrupted:
    """Stores why the process of a race ended, and returns the error with a hint if the race had begun."""
    folder = RaceFolder(RaceStore(request.home).races / request.race_id, race_secrets(request))
    # Another process may have started a race with the same id in the meantime.
    if not exists(folder.race_json) or folder.is_in_use():
        return error
    record_failure(folder, error)
    # The process that has ended could not do this itself.
    with contextlib.suppress(StoreError):
        folder.redact_logs()
    kept = "finished tasks, per-second statistics and all but the last samples are kept"
    return type(error)(error.message, hint=f"{kept}: {_report_command(request.race_id)}")


def _report_command(race_id: str) -> str:
    """Returns the command that shows a race."""
    return shell_command("pacenote", "report", race_id)
