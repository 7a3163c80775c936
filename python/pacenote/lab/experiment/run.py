"""Runs the races of an experiment that have not run yet, one after another.

The journal decides what is done: an entry before each race and one after it. A race without the second entry
was killed with its process, and is raced again under another id.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from msgspec import Struct, structs
from msgspec.structs import replace

from pacenote.errors import StoreError
from pacenote.lab.child_command import ChildExit, Show
from pacenote.lab.disk_space import missing_space
from pacenote.lab.experiment.design import race_options
from pacenote.lab.experiment.kept_engine import starts_engine
from pacenote.lab.experiment.machine import read_machine
from pacenote.lab.experiment.progress import ExperimentProgress, hopeless, is_retried
from pacenote.lab.machine_changes import new_changes
from pacenote.lab.planned_record import experiment_tags
from pacenote.lab.race_child import RaceCall, race_end, wait_for_races
from pacenote.lab.race_folders import data_file_folder, written_folders
from pacenote.model.experiment import (
    OUT_OF_BUDGET,
    REPEATS_TAG,
    Experiment,
    JournalEntry,
    MachineFacts,
    Options,
    PlannedRace,
)
from pacenote.race.generated_corpora import remove_generated
from pacenote.store.experiment_store import ExperimentFolder
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from pacenote.system.paths import exists
from pacenote.units import format_seconds

MAX_ATTEMPTS = 3
"""How often a planned race is begun whose process is killed."""

NEIGHBOUR_S = 600.0
"""Seconds after which a race is no neighbour of the races of its block: after a longer pause, the block is
raced again.
"""


class RaceRunner(Protocol):
    """Runs races; the command line supplies it."""

    def run(self, races: Sequence[RaceCall], shows: Sequence[Show]) -> tuple[ChildExit, ...]:
        """Runs races at the same time to their ends, and calls the `show` of each with its progress."""

    def kept_engine(self, options: Options) -> AbstractContextManager[Options]:
        """Starts an engine for all races within the block, and returns their options."""

    def engine_problem(self, options: Options) -> str:
        """Returns what is wrong with the engine that was started for all races; empty if it can be raced."""

    def stop_engine(self) -> str:
        """Stops an engine for all races that a killed process has left. Returns why that failed, or empty
        text.
        """


class ExperimentListener(Protocol):
    """Is told what happens in an experiment."""

    def race_started(self, race: PlannedRace, progress: ExperimentProgress) -> None:
        """A race begins."""

    def race_line(self, text: str) -> None:
        """A race reports its progress."""

    def race_ended(self, race: PlannedRace, end: JournalEntry, progress: ExperimentProgress) -> None:
        """A race has ended."""

    def block_ended(self, block: int, progress: ExperimentProgress) -> None:
        """All races of a block have ended."""

    def warning(self, text: str) -> None:
        """Something may affect the results."""


class BlockJudge(Protocol):
    """Decides after each block whether the experiment goes on, and which steps of a ladder are kept."""

    def is_warm(self, progress: ExperimentProgress) -> bool:
        """Returns whether the last two races that warm up hardly differ."""

    def adopts(self, stage: int, progress: ExperimentProgress) -> tuple[bool, str]:
        """Returns whether a step of a ladder is kept, and why."""

    def ends(self, progress: ExperimentProgress) -> str:
        """Returns why the experiment ends after the last block; empty if it goes on."""

    def disturbance(self, race_id: str) -> str:
        """Returns what disturbed a race from outside, so that it does not count; empty if nothing did."""


_DISK_FULL = ("the disk is full", "No space left on device")
"""What messages of a race say if a disk is full."""


class ExperimentRun(Struct, frozen=True):
    """An experiment with everything that running it needs."""

    experiment: Experiment
    """The experiment."""

    folder: ExperimentFolder
    """Its files, which this process has locked."""

    races: RaceStore
    """The races of the home folder."""

    runner: RaceRunner
    """Runs its races."""

    listener: ExperimentListener
    """Is told what happens."""

    judge: BlockJudge
    """Decides after each block."""

    machine: Callable[[], MachineFacts] = read_machine
    """Reads the facts of the machine."""

    others: Callable[[], tuple[str, ...]] = tuple
    """Returns what else races on this machine now."""

    wait: Callable[[float], None] = time.sleep
    """Waits for a number of seconds."""

    data_root: Path | None = None
    """The folder of the data files of races whose options name none; None for that of the home folder."""


class RunEnd(Struct, frozen=True):
    """How far an experiment came."""

    progress: ExperimentProgress
    """Its state."""

    paused: str = ""
    """Why races are left to run; empty if none is."""

    interrupted: bool = False
    """Whether the user stopped it."""


def run_experiment(run: ExperimentRun) -> RunEnd:
    """Runs the races that are left. Raises StoreError if the journal cannot be written."""
    journal = run.folder.journal()
    progress = ExperimentProgress.of(run.folder.plan(), journal)
    _settle(run, progress, journal)
    if problem := run.runner.stop_engine():
        run.listener.warning(problem)
    _begin_again(run, progress)
    cleaned: set[int] = set()
    is_kept = False
    with contextlib.ExitStack() as stack:
        while True:
            _repeat_half_block(run, progress)
            _decide(run, progress)
            _remove_corpora(run, progress, cleaned)
            race = next(iter(progress.left()), None)
            if race is None:
                return RunEnd(progress)
            if paused := _paused(run, progress, race):
                return RunEnd(progress, paused)
            if run.experiment.engine == "keep" and not is_kept:
                options = stack.enter_context(run.runner.kept_engine(run.experiment.race))
                run, is_kept = replace(run, experiment=replace(run.experiment, race=options)), True
            if problem := run.runner.engine_problem(run.experiment.race):
                return RunEnd(progress, problem)
            _check_machine(run, progress, race)
            run.wait(run.experiment.cool_down_s)
            if end := _race(run, progress, progress.next_races()):
                return end


def _remove_corpora(run: ExperimentRun, progress: ExperimentProgress, cleaned: set[int]) -> None:
    """Removes the data that was generated for blocks of which no race is left; each block has data of its
    own, and so have the races that warm up.
    """
    left = {race.block for race in progress.left()}
    new = {race.block for race in progress.plan.races} - left - cleaned
    races = [race for race in progress.plan.races if race.block in new]
    for root, seed in {(_data_root(run, progress, race), race.seed) for race in races}:
        remove_generated(root, seed)
    cleaned |= new


def _data_root(run: ExperimentRun, progress: ExperimentProgress, race: PlannedRace) -> Path:
    """Returns the folder of the data files of a race."""
    options = race_options(run.experiment, race, progress.adopted_steps)
    return data_file_folder(options, Path(progress.plan.folder), _default_data_root(run))


def _default_data_root(run: ExperimentRun) -> Path:
    return run.data_root or run.races.home / "corpora"


def _race(run: ExperimentRun, progress: ExperimentProgress, races: Sequence[PlannedRace]) -> RunEnd | None:
    """Runs races at the same time. Returns the end of the run if the user stopped them, or if a full disk
    kept one from beginning, as it would all others.
    """
    calls = [_begun(run, progress, race) for race in races]
    began = time.monotonic()
    exits = run.runner.run(calls, [_show_of(run, race) for race in races])
    seconds = round((time.monotonic() - began) / len(races), 3)
    ends = []
    for race, call, exit_ in zip(races, calls, exits, strict=True):
        end = structs.replace(_end_of(run, progress, race, exit_), race_id=call.race_id, seconds=seconds)
        if _is_kept_out(run, call, exit_):
            end = structs.replace(end, outcome="interrupted", text=exit_.error)
        ends.append(end)
    for race, end in zip(races, _without_disturbed(run, progress, races, ends), strict=True):
        _note(run, progress, end)
        run.listener.race_ended(race, end, progress)
    if any(exit_.stopped for exit_ in exits):
        return RunEnd(progress, "stopped by the user", interrupted=True)
    ended = zip(calls, exits, strict=True)
    error = next((exit_.error for call, exit_ in ended if _is_kept_out(run, call, exit_)), None)
    return None if error is None else RunEnd(progress, error)


def _without_disturbed(
    run: ExperimentRun, progress: ExperimentProgress, races: Sequence[PlannedRace], ends: list[JournalEntry]
) -> Sequence[JournalEntry]:
    """Returns the ends of races that ran at the same time: all of them are repeated if one was disturbed from
    outside so that it does not count, and if they may be.
    """
    is_complete = all(end.outcome == "raced" for end in ends)
    if not is_complete or not all(progress.may_be_repeated(race) for race in races):
        return ends
    reason = next(filter(None, (run.judge.disturbance(end.race_id) for end in ends)), "")
    return [structs.replace(end, outcome="disturbed", text=reason) for end in ends] if reason else ends


def _is_kept_out(run: ExperimentRun, call: RaceCall, exit_: ChildExit) -> bool:
    """Returns whether a full disk kept a race from beginning: it has no record. It is then repeated, because
    its variant is not to blame, and its block would be lost.
    """
    if not any(text in exit_.error for text in _DISK_FULL):
        return False
    return not exists(RaceFolder(run.races.races / call.race_id).race_json)


def _begun(run: ExperimentRun, progress: ExperimentProgress, race: PlannedRace) -> RaceCall:
    """Notes that a race begins, and returns how to run it."""
    race_id = _new_id(run, race)
    _note(run, progress, JournalEntry(event="started", at=_now(), race=race.number, race_id=race_id))
    run.listener.race_started(race, progress)
    return RaceCall(
        race_id,
        _call_options(run, progress, race) | {"race-id": race_id},
        run.folder.log(race_id),
        Path(progress.plan.folder),
        run.folder.races_lock,
        run.folder.start_gate if race.half else None,
    )


def _show_of(run: ExperimentRun, race: PlannedRace) -> Show:
    """Returns what shows the progress of a race, with its variant if another one runs, too."""
    if not race.half:
        return run.listener.race_line
    return lambda text: run.listener.race_line(f"{race.variant}: {text}")


def _call_options(run: ExperimentRun, progress: ExperimentProgress, race: PlannedRace) -> dict[str, object]:
    """Returns the options of a race: those of its variant, its seed, and its tags."""
    options = dict(race_options(run.experiment, race, progress.adopted_steps))
    user_tags = options.get("user-tags")
    tags = {
        **(user_tags if isinstance(user_tags, dict) else {}),
        **experiment_tags(progress.plan.experiment_id, race),
        **({"half": str(race.half)} if race.half else {}),
        **({REPEATS_TAG: repeated} if (repeated := progress.disturbed_race(race)) else {}),
    }
    options |= {"seed": race.seed, "user-tags": tags}
    if not race.half:
        return options
    half = progress.plan.halves[race.half - 1]
    return options | {"node-cpus": half.node_cpus, "driver-cpus": half.driver_cpus}


def _end_of(
    run: ExperimentRun, progress: ExperimentProgress, race: PlannedRace, exit_: ChildExit
) -> JournalEntry:
    """Returns the entry of a race whose process has ended, without its id and its time."""
    race_id = progress.attempts[race.number][-1]
    end = race_end(run.races, race_id, progress.planned_record(race_id), exit_.error)
    outcome, text = end.outcome, ""
    if outcome != "raced":
        text = end.problem or exit_.error or f"the race ended with exit code {exit_.code}"
        kills = progress.kills.get(race.number, 0) + 1
        if exit_.stopped:
            outcome = "interrupted"
        elif end.problem:
            # Its variant is not to blame. Repeats are limited: each takes the time of a race.
            outcome = "killed" if kills < MAX_ATTEMPTS else "failed"
        elif exit_.code < 0 or outcome == "interrupted":
            signal_name = f" by {_signal_name(-exit_.code)}" if exit_.code < 0 else ""
            outcome = "killed" if kills < MAX_ATTEMPTS else "failed"
            text = f"its process was killed{signal_name}, for the {kills}. time"
    return JournalEntry(
        event="ended", at=_now(), race=race.number, outcome=outcome, verdict=end.verdict, text=text
    )


def _signal_name(number: int) -> str:
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


def _settle(run: ExperimentRun, progress: ExperimentProgress, journal: Sequence[JournalEntry]) -> None:
    """Completes the journal after the process was killed: what it ran has ended, or is repeated."""
    wait_for_races(run.folder.races_lock, run.wait)
    count = len(progress.open_races)
    for number, race_id in sorted(progress.open_races.items()):
        end = race_end(run.races, race_id, progress.planned_record(race_id))
        entry = JournalEntry(
            event="ended",
            at=end.ended_at or _now(),
            race=number,
            race_id=race_id,
            # What has no complete record may have been killed, so it is repeated and is not a failure.
            outcome="raced" if end.outcome == "raced" else "interrupted",
            verdict=end.verdict,
            seconds=seconds_between(journal[-1].at, end.ended_at) / count,
            text=end.problem,
        )
        race = next(race for race in progress.plan.races if race.number == number)
        # A duet is repeated as a whole, and only if both of its races have ended.
        if not race.half:
            (entry,) = _without_disturbed(run, progress, [race], [entry])
        _note(run, progress, entry)
        if entry.outcome == "interrupted":
            reason = f"does not count: {end.problem}" if end.problem else "was killed before it ended"
            run.listener.warning(f"race {number} ({race_id}) {reason}: it is repeated")


def _begin_again(run: ExperimentRun, progress: ExperimentProgress) -> None:
    """Notes what an experiment that goes on does again: variants that were left out, and the races of a block
    that was left long ago, on another machine or with another engine. What failed or was deleted stays lost:
    racing it until it succeeds would select by the outcome.
    """
    if is_retried(run.experiment, progress):
        _note(run, progress, JournalEntry(event="retried", at=_now()))
    race = next(iter(progress.left()), None)
    if race is None or not race.block or _begins_block(progress, race):
        return
    ended = [progress.ends.get(race_of_block.number) for race_of_block in progress.plan.block(race.block)]
    last = max(end.at for end in ended if end is not None)
    changed = set(progress.plan.machine.changes(run.machine())).difference(progress.machine_changes)
    # Engines differ from start to start: a block must not have races on two of them.
    is_other_engine = run.experiment.engine == "keep" and starts_engine(run.experiment.race)
    if changed or is_other_engine or seconds_between(last, _now()) > NEIGHBOUR_S:
        _note(run, progress, JournalEntry(event="repeated", at=_now(), block=race.block))


def _repeat_half_block(run: ExperimentRun, progress: ExperimentProgress) -> None:
    """Notes that a block of a duet is repeated if only one of its races has ended: neither runs alone."""
    race = next(iter(progress.left()), None)
    if race is not None and race.half and not _begins_block(progress, race):
        _note(run, progress, JournalEntry(event="repeated", at=_now(), block=race.block))


def seconds_between(first: str, last: str) -> float:
    """Returns the seconds from one time to another; 0 if one is not known."""
    try:
        return max(0.0, (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def _decide(run: ExperimentRun, progress: ExperimentProgress) -> None:
    """Decides what the blocks that are done decide: a step of a ladder, or that the experiment ends."""
    if (race := next(iter(progress.left()), None)) and not race.block and run.judge.is_warm(progress):
        for warm_up in (warm_up for warm_up in progress.left() if not warm_up.block):
            _note(
                run, progress, JournalEntry(event="ended", at=_now(), race=warm_up.number, outcome="skipped")
            )
    if progress.left() and (reason := hopeless(run.experiment, progress)):
        _stop(run, progress, reason)
        return
    for stage in range(1, len(run.experiment.variants)) if run.experiment.design == "ladder" else ():
        if stage not in progress.adopted and len(progress.blocks_done(stage)) == run.experiment.blocks:
            adopted, text = run.judge.adopts(stage, progress)
            entry = JournalEntry(event="adopted", at=_now(), stage=stage, adopted=adopted, text=text)
            _note(run, progress, entry)
    race = next(iter(progress.left()), None)
    if race is None or not race.block or not _begins_block(progress, race):
        return
    if reason := run.judge.ends(progress):
        _stop(run, progress, reason)


def _stop(run: ExperimentRun, progress: ExperimentProgress, reason: str) -> None:
    _note(run, progress, JournalEntry(event="stopped", at=_now(), text=reason))


def _paused(run: ExperimentRun, progress: ExperimentProgress, race: PlannedRace) -> str:
    """Returns why no further race may begin now; empty if it may."""
    options = race_options(run.experiment, race, progress.adopted_steps)
    written = written_folders(options, Path(progress.plan.folder), _default_data_root(run))
    if problem := missing_space((run.races.home, *written)):
        return problem
    budget, race_s = run.experiment.budget_s, progress.seconds_per_race
    if budget is None or race_s is None or not _begins_block(progress, race):
        return ""
    block = sum(planned.block == race.block for planned in progress.left())
    if progress.seconds + block * race_s <= budget:
        return ""
    return (
        f"{OUT_OF_BUDGET}{format_seconds(budget)} does not suffice for another block of "
        f"{format_seconds(round(block * race_s))}: {format_seconds(round(progress.seconds))} are used"
    )


def _begins_block(progress: ExperimentProgress, race: PlannedRace) -> bool:
    return not any(other.number in progress.ends for other in progress.plan.block(race.block))


def _check_machine(run: ExperimentRun, progress: ExperimentProgress, race: PlannedRace) -> None:
    """Notes before each block what differs from the machine that the plan was made on."""
    if not _begins_block(progress, race):
        return
    changes = progress.plan.machine.changes(run.machine())
    for text in new_changes(progress.machine_changes, changes, run.others()):
        _note(run, progress, JournalEntry(event="machine", at=_now(), race=race.number, text=text))
        run.listener.warning(f"the machine is not as it was: {text}")


def _new_id(run: ExperimentRun, race: PlannedRace) -> str:
    """Returns an id that no race has: that of an earlier attempt is taken."""
    race_id = f"{run.folder.experiment_id}-{race.number:03}"
    attempt = 1
    while exists(run.races.races / (race_id if attempt == 1 else f"{race_id}.{attempt}")):
        attempt += 1
    return race_id if attempt == 1 else f"{race_id}.{attempt}"


def _note(run: ExperimentRun, progress: ExperimentProgress, entry: JournalEntry) -> None:
    """Adds an entry to the journal, and applies it. Raises StoreError, also for one with which the journal
    could not be read.
    """
    if problem := progress.problem(entry):
        raise StoreError(
            f"{run.folder.experiment_id} cannot go on: with the next event, its journal {problem}",
            hint="copy its file, and run it as a new experiment",
        )
    before = progress.blocks_done() if entry.event == "ended" else ()
    run.folder.append(entry)
    progress.apply(entry)
    done = progress.blocks_done() if entry.event == "ended" else ()
    if len(done) > len(before):
        run.listener.block_ended(done[-1], progress)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
