"""Experiments, and runners whose races are stored without an engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from compare.races import index, search
from pacenote.lab.child_command import ChildExit
from pacenote.lab.experiment.design import plan_races
from pacenote.lab.experiment.evaluate import Evaluation
from pacenote.lab.experiment.progress import ExperimentProgress
from pacenote.lab.experiment.run import ExperimentRun, RunEnd, run_experiment
from pacenote.lab.race_child import RaceCall
from pacenote.model.comparison import ComparedRace
from pacenote.model.experiment import (
    Experiment,
    ExperimentPlan,
    Factor,
    Half,
    JournalEntry,
    MachineFacts,
    PlannedRace,
    Variant,
)
from pacenote.model.race_record import RaceRecord, Verdict
from pacenote.store.experiment_store import ExperimentFolder, ExperimentStore
from pacenote.store.race_store import RaceStore
from support.records import record

TODAY = datetime.now(UTC).replace(microsecond=0)
"""Before the first race of an experiment, whose journal has the real times."""

HALVES = (Half("0-2", "3"), Half("4-6", "7"))
MACHINE = MachineFacts("host", "6.1", "A CPU", 2, 8 << 30)


def pair(**changes: Any) -> Experiment:
    variants = (Variant("a", {"car": "1gheap"}), Variant("b", {"car": "2gheap"}))
    return Experiment(**{"name": "heap", "blocks": 3, "race": {"track": "t"}, "variants": variants} | changes)


def factors(**levels: str) -> tuple[Factor, ...]:
    """Factors from `heap="1g 2g"`; each level is a parameter of the car."""
    return tuple(
        Factor(name, tuple(Variant(value, {"car-params": {name: value}}) for value in text.split()))
        for name, text in levels.items()
    )


@dataclass
class StoringRunner:
    """Stores a race for each call, which indexes at the rate of its options."""

    races: RaceStore
    rate: Callable[[RaceCall], float] = lambda _call: 10_000.0
    before: Callable[[RaceCall], ChildExit | None] = lambda _call: None
    """Returns how the race ends without being stored; None stores it."""
    engine_state: Callable[[Any], str] = lambda _options: ""
    calls: list[RaceCall] = field(default_factory=list)
    stopped_engines: int = 0
    rounds: list[tuple[RaceCall, ...]] = field(default_factory=list)
    """The races that were to run at the same time."""

    def run(self, races: Sequence[RaceCall], shows: Sequence[Callable[[str], None]]) -> tuple[ChildExit, ...]:
        self.rounds.append(tuple(races))
        return tuple(self.run_one(*each) for each in zip(races, shows, strict=True))

    def run_one(self, race: RaceCall, show: Callable[[str], None]) -> ChildExit:
        self.calls.append(race)
        if ended := self.before(race):
            return ended
        show("index-append: 50 %")
        self.store(race)
        return ChildExit(0)

    def store(self, race: RaceCall, *, complete: bool = True) -> None:
        """Stores a race, which began ten minutes after the one before."""
        stored = record(
            race.race_id,
            timestamp=TODAY + timedelta(minutes=10 * len(self.calls)),
            tasks=(index(self.rate(race)), search()),
            user_tags=race.options["user-tags"],
            seed=race.options["seed"],
            telemetry_errors=(),
            complete=complete,
        )
        folder = self.races.races / race.race_id
        folder.mkdir(parents=True)
        # As `RaceStore` does, but without room that is reserved and without indentation, which are slow.
        (folder / "race.json").write_text(json.dumps(stored.to_document()))

    def engine_problem(self, options: Any) -> str:
        return self.engine_state(options)

    def stop_engine(self) -> str:
        self.stopped_engines += 1
        return ""

    @contextmanager
    def kept_engine(self, options: Any) -> Iterator[Any]:
        yield {**options, "target-hosts": "127.0.0.1:39200"}


class Events:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def race_started(self, race: Any, progress: Any) -> None: ...
    def race_line(self, text: str) -> None:
        self.told.append(text)

    def race_ended(self, race: Any, end: Any, progress: Any) -> None:
        self.told.append(f"{race.variant} {end.outcome}")

    def block_ended(self, block: int, progress: Any) -> None:
        self.told.append(f"block {block}")

    def warning(self, text: str) -> None:
        self.told.append(f"warning: {text}")


class KilledError(BaseException):
    """Ends an experiment as a kill does."""


@dataclass
class Lab:
    """A home folder with one experiment."""

    experiment: Experiment
    races: RaceStore
    folder: ExperimentFolder
    runner: StoringRunner
    events: Events = field(default_factory=Events)
    machine: Callable[[], MachineFacts] = lambda: MACHINE
    others: Callable[[], tuple[str, ...]] = tuple
    waits: list[float] = field(default_factory=list)
    data_root: Path | None = None

    @classmethod
    def of(cls, home: Path, experiment: Experiment) -> Lab:
        store = ExperimentStore(home)
        folder = store.create(experiment.name)
        plan = ExperimentPlan(
            experiment_id=folder.experiment_id,
            created="2026-03-01T12:00:00+00:00",
            seed=42,
            folder=str(home),
            machine=MACHINE,
            cool_down_s=experiment.cool_down_s,
            halves=HALVES if experiment.design == "duet" else (),
            races=plan_races(experiment),
        )
        store.write(folder, "", plan)
        races = RaceStore(home)
        return cls(experiment, races, folder, StoringRunner(races))

    @property
    def evaluation(self) -> Evaluation:
        return Evaluation(self.experiment, self.races)

    def run_until_killed(self, calls: int) -> None:
        """Runs the experiment until this many races have been started, in the last of which it is killed."""

        def kill(_call: Any) -> None:
            if len(self.runner.calls) == calls:
                raise KilledError

        self.runner.before = kill
        with pytest.raises(KilledError):
            self.run()

    def run(self) -> RunEnd:
        run = ExperimentRun(
            self.experiment, self.folder, self.races, self.runner, self.events, self.evaluation,
            self.machine, self.others, self.waits.append, self.data_root,
        )  # fmt: skip
        with self.folder.locked():
            return run_experiment(run)

    def progress(self) -> ExperimentProgress:
        return ExperimentProgress.of(self.folder.plan(), self.folder.journal())


def evaluated(
    experiment: Experiment, race_of: Callable[[PlannedRace], RaceRecord | str]
) -> tuple[Evaluation, ExperimentProgress]:
    """Returns an evaluation after all races have run: `race_of` has the record of each, or why it failed."""
    plan = ExperimentPlan(
        experiment_id="e-1", created="", seed=1, folder="/", machine=MACHINE, races=plan_races(experiment)
    )
    progress, evaluation = ExperimentProgress(plan), Evaluation(experiment, RaceStore(Path("/nonexistent")))
    while race := next(iter(progress.left()), None):
        outcome, race_id = race_of(race), f"e-1-{race.number:03}"
        entry = {"event": "ended", "at": "", "race": race.number, "race_id": race_id}
        if isinstance(outcome, str):
            entry |= {"outcome": "failed", "text": outcome}
        else:
            own = replace(
                outcome,
                race_id=race_id,
                timestamp=outcome.timestamp + timedelta(minutes=10 * race.number),
                user_tags={"experiment": "e-1", "block": str(race.block), "variant": race.variant},
            )
            evaluation.read[race_id] = ComparedRace(own)
            entry |= {"outcome": "raced", "verdict": own.verdict.state}
        progress.apply(JournalEntry(**entry))
    return evaluation, progress


def raced(rate: float, number: int = 0, verdict: str = "valid", **changes: Any) -> RaceRecord:
    """Returns a race that indexes at nearly this rate, with a noise that follows from its number."""
    noise = 1 + 0.002 * (number * 7 % 5)
    own = {"tasks": (index(rate * noise), search()), "verdict": Verdict(verdict), "telemetry_errors": ()}
    return record(**own | changes)
