"""Runs a search: one step after another, each of which is in the journal before it counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from pacenote.errors import StoreError
from pacenote.lab.child_command import ChildExit, Show
from pacenote.lab.disk_space import missing_space
from pacenote.lab.experiment.machine import read_machine
from pacenote.lab.experiment.options import joined
from pacenote.lab.experiment.run import MAX_ATTEMPTS, NEIGHBOUR_S, RunEnd, seconds_between
from pacenote.lab.machine_changes import new_changes
from pacenote.lab.planned_record import PlannedRecord, search_tags
from pacenote.lab.race_child import RaceCall, race_end, wait_for_races
from pacenote.lab.race_folders import data_file_folder, written_folders
from pacenote.lab.tune.candidates import candidate_options
from pacenote.lab.tune.confirm import confirmation, confirmation_folder
from pacenote.lab.tune.evaluate import tune_result
from pacenote.lab.tune.measure import RaceMeasures, disturbance, measured, unprovable_limit
from pacenote.lab.tune.progress import TuneProgress
from pacenote.lab.tune.steps import SEEDS, Choose, Confirm, EndBlock, Race, Suggest, block_seed, next_step
from pacenote.model.experiment import REPEATS_TAG, Experiment, MachineFacts, Options, RaceOutcome
from pacenote.model.race_record import RaceRecord
from pacenote.model.tune import DEFAULT, TuneEvent
from pacenote.race.generated_corpora import remove_generated
from pacenote.store.experiment_store import ExperimentFolder, ExperimentStore
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from pacenote.store.tune_store import TuneFolder
from pacenote.system.paths import exists


class TuneListener(Protocol):
    """Is told what happens in a search."""

    def changed(self, event: TuneEvent, state: TuneProgress) -> None:
        """Something was added to the journal."""

    def race_line(self, text: str) -> None:
        """A race reports its progress."""


class TuneRun(Struct, frozen=True):
    """A search with everything that running it needs."""

    folder: TuneFolder
    """Its files, which this process has locked."""

    races: RaceStore
    """The races of the home folder."""

    run_races: Callable[[Sequence[RaceCall], Sequence[Show]], tuple[ChildExit, ...]]
    """Runs races to their ends; here, it is always one."""

    confirm: Callable[[ExperimentFolder, Experiment], RunEnd]
    """Runs the confirmation."""

    listener: TuneListener
    """Is told what happens."""

    machine: Callable[[], MachineFacts] = read_machine
    """Reads the facts of the machine."""

    clock: Callable[[], float] = time.monotonic
    """Returns the time in seconds."""

    others: Callable[[], tuple[str, ...]] = tuple
    """Returns what else races on this machine now."""

    is_resumed: bool = False
    """Whether the user resumes the search, so that it goes on although it could not before."""

    budget_s: float | None = None
    """Seconds of the races from now on; None keeps the budget."""


class TuneEnd(Struct, frozen=True):
    """How far a search came."""

    state: TuneProgress
    """Its state."""

    paused: str = ""
    """Why races are left to run; empty if none is."""

    interrupted: bool = False
    """Whether the user stopped it."""


def run_tune(run: TuneRun) -> TuneEnd:
    """Runs what is left of a search and of its confirmation. Raises StoreError."""
    state = TuneProgress.of(run.folder.plan(), run.folder.journal())
    wait_for_races(run.folder.files.races_lock)
    if state.open_race is not None:
        _settle(run, state, state.open_race)
    _begin_again(run, state)
    while True:
        step = next_step(state)
        if step is None or isinstance(step, Confirm):
            _remove_corpora(run, state)
        if step is None:
            return TuneEnd(state)
        if isinstance(step, Confirm):
            end = _confirm(run, state, step.candidate)
            return TuneEnd(state, end.paused, end.interrupted)
        if not isinstance(step, Race):
            _note(run, state, _event_of(step, state))
            continue
        options = _race_options(state, step.candidate)
        written = written_folders(options, Path(state.plan.folder), run.races.home / "corpora")
        if missing := missing_space((run.races.home, *written)):
            return TuneEnd(state, missing)
        _check_machine(run, state, step)
        if _race(run, state, step):
            return TuneEnd(state, "stopped by the user", interrupted=True)


def _begin_again(run: TuneRun, state: TuneProgress) -> None:
    """Notes what a search that goes on does again: it goes on although it could not before, confirms its
    winner again, or races a block again that was left long ago or on another machine.
    """
    if reason := _lost_confirmation(run, state):
        event = TuneEvent(event="retried", at=_now(), experiment_id=state.confirmation, text=reason)
        _note(run, state, event)
    if run.is_resumed and state.chosen is None and (state.stopped or run.budget_s is not None):
        budget = None if run.budget_s is None else state.seconds + run.budget_s
        _note(run, state, TuneEvent(event="retried", at=_now(), budget_s=budget))
    block = state.judged + 1
    ended = [end for end in state.ends if end.block == block]
    if not ended or all(state.has_raced(candidate, block) for candidate in state.active):
        return
    changed = set(state.plan.machine.changes(run.machine())).difference(state.machine_changes)
    if changed or seconds_between(ended[-1].at, _now()) > NEIGHBOUR_S:
        _note(run, state, TuneEvent(event="repeated", at=_now(), block=block))


def _lost_confirmation(run: TuneRun, state: TuneProgress) -> str:
    """Returns why the confirmation has no answer, if another one is to begin: it was deleted, or it is void,
    and the user resumes the search nevertheless. Raises StoreError.
    """
    if state.chosen is None or not state.confirmation:
        return ""
    result = tune_result(state, run.races)
    is_lost = result.confirmation is None or (run.is_resumed and result.answer == "void")
    return result.reason if is_lost else ""


def _check_machine(run: TuneRun, state: TuneProgress, step: Race) -> None:
    """Notes before each block what differs from the machine that the search began on."""
    if any(end.block == step.block for end in state.ends):
        return
    changes = state.plan.machine.changes(run.machine())
    for text in new_changes(state.machine_changes, changes, run.others()):
        _note(run, state, TuneEvent(event="machine", at=_now(), text=text))


def _remove_corpora(run: TuneRun, state: TuneProgress) -> None:
    """Removes the data that was generated for the search: the confirmation has data of its own."""
    root = data_file_folder(state.plan.race, Path(state.plan.folder), run.races.home / "corpora")
    for block in range(SEEDS):
        remove_generated(root, block_seed(state, block))


def _event_of(step: object, state: TuneProgress) -> TuneEvent:
    """Returns the event of a step that races nothing."""
    now = _now()
    if isinstance(step, Suggest):
        return TuneEvent(event="suggested", at=now, candidates=step.candidates, block=state.judged)
    if isinstance(step, EndBlock):
        return TuneEvent(event="judged", at=now, block=step.block, dropped=step.dropped)
    if isinstance(step, Choose):
        return TuneEvent(event="chosen", at=now, candidate=step.candidate, text=step.reason)
    return TuneEvent(event="stopped", at=now, text=getattr(step, "reason", ""))


def _race(run: TuneRun, state: TuneProgress, step: Race) -> bool:
    """Runs one race, and returns whether the user stopped it."""
    plan = state.plan
    number = state.started + 1
    while exists(run.races.races / (race_id := f"{plan.tune_id}-{number:03}")):
        number += 1
    event = TuneEvent(
        event="started", at=_now(), candidate=step.candidate, block=step.block, race=number, race_id=race_id
    )
    _note(run, state, event)
    options = _race_options(state, step.candidate)
    given = options.get("user-tags")
    tags = {
        **(given if isinstance(given, dict) else {}),
        **search_tags(plan.tune_id, step.candidate, step.block),
        **({REPEATS_TAG: repeated} if (repeated := state.disturbed_race(step.candidate, step.block)) else {}),
    }
    call = RaceCall(
        race_id,
        {**options, "seed": step.seed, "user-tags": tags, "race-id": race_id},
        run.folder.files.log(race_id),
        Path(plan.folder),
        run.folder.files.races_lock,
    )
    began = run.clock()
    (exit_,) = run.run_races([call], [run.listener.race_line])
    seconds = round(run.clock() - began, 3)
    _note(run, state, replace(_ended(run, state, event, exit_), seconds=seconds))
    return exit_.stopped


def _race_options(state: TuneProgress, candidate: int) -> Options:
    """Returns the options of the races of a candidate."""
    return joined(state.plan.race, candidate_options(state.plan.knobs, state.candidates[candidate].levels))


def _ended(run: TuneRun, state: TuneProgress, started: TuneEvent, exit_: ChildExit) -> TuneEvent:
    """Returns the event of a race whose process has ended."""
    end = race_end(run.races, started.race_id, _planned_record(state, started), exit_.error)
    outcome: RaceOutcome = end.outcome
    is_repeated = exit_.stopped or exit_.code < 0 or outcome == "interrupted" or bool(end.problem)
    if outcome != "raced" and is_repeated:
        kills = state.kills.get((started.candidate, started.block), 0) + 1
        outcome = "interrupted" if exit_.stopped else "killed" if kills < MAX_ATTEMPTS else "failed"
    measures = _measured(run, state, started.race_id) if outcome == "raced" else RaceMeasures()
    text = end.problem or exit_.error or f"the race ended with exit code {exit_.code}"
    ended = replace(
        started,
        event="ended",
        at=_now(),
        outcome=outcome,
        verdict=end.verdict,
        objective=measures.objective,
        limits=measures.limits,
        operations=measures.operations,
        text=measures.problem if outcome == "raced" else text,
    )
    return _without_disturbed(run, state, ended)


def _without_disturbed(run: TuneRun, state: TuneProgress, end: TuneEvent) -> TuneEvent:
    """Returns the end of a race, as one that is repeated if it was disturbed from outside so that it does not
    count, and if it may be: the same as in an experiment.
    """
    if end.outcome != "raced" or not state.may_be_repeated(end.candidate, end.block):
        return end
    try:
        reason = disturbance(RaceFolder(run.races.races / end.race_id).read(), state.plan)
    except StoreError:
        return end
    return (
        replace(end, outcome="disturbed", objective=None, limits=(), operations=(), text=reason)
        if reason
        else end
    )


def _settle(run: TuneRun, state: TuneProgress, started: TuneEvent) -> None:
    """Completes the journal after the process was killed: the race that it ran has ended, or is repeated."""
    end = race_end(run.races, started.race_id, _planned_record(state, started))
    is_raced = end.outcome == "raced"
    measures = _measured(run, state, started.race_id) if is_raced else RaceMeasures()
    event = replace(
        started,
        event="ended",
        at=_now(),
        outcome="raced" if is_raced else "interrupted",
        verdict=end.verdict,
        seconds=seconds_between(started.at, end.ended_at),
        objective=measures.objective,
        limits=measures.limits,
        operations=measures.operations,
        text=measures.problem or end.problem,
    )
    _note(run, state, _without_disturbed(run, state, event))


def _measured(run: TuneRun, state: TuneProgress, race_id: str) -> RaceMeasures:
    try:
        record = RaceFolder(run.races.races / race_id).read()
    except StoreError as error:
        return RaceMeasures(problem=str(error))
    plan = state.plan
    measures = measured(record, plan.objective, plan.constraints, plan.quality, _default_record(run, state))
    problem = measures.problem or unprovable_limit(measures, plan)
    return RaceMeasures(problem=problem) if problem else measures


def _default_record(run: TuneRun, state: TuneProgress) -> RaceRecord | None:
    """Returns the first race of the default that counts; None before, or if it cannot be read any more."""
    ends = (end for end in state.ends if end.candidate == DEFAULT and end.objective is not None)
    if (first := next(ends, None)) is None:
        return None
    try:
        record = RaceFolder(run.races.races / first.race_id).read()
    except StoreError:
        return None
    # It began before the time of its event.
    planned = replace(_planned_record(state, first), started="")
    return None if planned.problem(record, is_of_past=True) else record


def _planned_record(state: TuneProgress, event: TuneEvent) -> PlannedRecord:
    """Returns what the record of a race states that began with this event."""
    tags = search_tags(state.plan.tune_id, event.candidate, event.block)
    return PlannedRecord(block_seed(state, event.block), tags, event.at)


def _confirm(run: TuneRun, state: TuneProgress, candidate: int) -> RunEnd:
    """Runs the confirmation, or the rest of it."""
    assert candidate != DEFAULT
    earlier = len(state.earlier_confirmations)
    experiment = confirmation(state.plan, state.candidates[candidate].levels, earlier)
    store = ExperimentStore(run.races.home)
    folder = confirmation_folder(store, state.plan, experiment, run.machine(), _now())
    if state.confirmation != folder.experiment_id:
        event = TuneEvent(event="confirming", at=_now(), experiment_id=folder.experiment_id)
        _note(run, state, event)
    return run.confirm(folder, experiment)


def _note(run: TuneRun, state: TuneProgress, event: TuneEvent) -> None:
    """Adds an event to the journal, and applies it. Raises StoreError, also for one with which the journal
    could not be read.
    """
    if problem := state.problem(event):
        raise StoreError(
            f"the search {state.plan.tune_id} cannot go on: its next event {problem}",
            hint="begin a new search",
        )
    run.folder.append(event)
    state.apply(event)
    run.listener.changed(event, state)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
