"""The stages of a race in order.

    load        the track, and a plan from its declarations, so that mistakes are found before any download
    prepare     the data: found, downloaded, unpacked or generated (`preparation.py`, as is `provision`)
    provision   the engine: assembled and started, or an existing cluster
    drive       the plan; each task's result is stored when the task ends (`conclusion.py`, as is `conclude`)
    conclude    telemetry, document counts, verdict

If a race ends early for any reason, the results so far are stored and the engine is stopped.
"""

from __future__ import annotations

from pacenote.model.race_listener import RaceListener
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.race.conclusion import drive_and_conclude, with_stored_race
from pacenote.race.engine_request import check_engine
from pacenote.race.engine_sources import with_source_version
from pacenote.race.planning import load_race_track, with_operator_status
from pacenote.race.plugins import run_track_processors, track_plugins
from pacenote.race.preparation import DriveStage, PlanCheck, RacePreparation
from pacenote.race.stop_signals import interrupting
from pacenote.race.supervisor import ProcessEnded, ProcessInterrupted
from pacenote.race.targets import check_clusters
from pacenote.race.team import TeamMessages, with_team
from pacenote.track.locate import check_track
from pacenote.track.prepare import PreparedTrack


def race(request: RaceRequest, listener: RaceListener) -> RaceRecord:
    """Runs a race and returns its record with the verdict, even if it was interrupted or aborted.

    Raises PacenoteError if the race could not begin, and KeyboardInterrupt if it was stopped before it began.
    """
    return run_stages(request, listener, drive_and_conclude)


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
                preparation = RacePreparation(request, prepared, plugins, existing, listener)
                record = preparation.run(drive_stage, check)
        except (ProcessEnded, ProcessInterrupted) as error:
            raise with_stored_race(request, error) from None
    listener.finished(record)
    return record


def _announce(prepared: PreparedTrack, listener: RaceListener) -> None:
    """Reports the source of the track, the tasks that are omitted, and the track's notes to users."""
    for text in prepared.located.warnings:
        listener.warning(text)
    for text in (*prepared.notes, *prepared.challenge.user_info.splitlines()):
        listener.info(text)
