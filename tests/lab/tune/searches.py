"""Searches whose races are stored without an engine."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import structs
from msgspec.structs import replace

from compare.races import index, search
from pacenote.errors import StoreError
from pacenote.lab.child_command import ChildExit
from pacenote.lab.experiment.evaluate import Evaluation
from pacenote.lab.experiment.run import ExperimentRun, RunEnd, run_experiment
from pacenote.lab.race_child import RaceCall
from pacenote.lab.tune.evaluate import tune_result
from pacenote.lab.tune.progress import TuneProgress
from pacenote.lab.tune.run import TuneEnd, TuneRun, run_tune
from pacenote.model.experiment import Experiment, MachineFacts
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import DurationSummary, OperationTotals, Throughput
from pacenote.model.system_metrics import SystemMetrics
from pacenote.model.tune import Constraint, Knob, TuneEvent, TuneObjective, TunePlan, TuneResult
from pacenote.store.experiment_store import ExperimentFolder, ExperimentStore
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from pacenote.store.tune_store import TuneFolder, create_tune, write_tune
from support.records import record, times

MACHINE = MachineFacts("host", "6.1", "A CPU", 2, 8 << 30)
RACE_S = 10.0


def knob(name: str, count: int = 3, **changes: Any) -> Knob:
    """A knob with values 1, 2, …, of which 1 is the default."""
    values = tuple(range(1, count + 1))
    return Knob(**{"name": name, "option": f"track-params.{name}", "values": values, "default": 1} | changes)


def search_plan(**changes: Any) -> TunePlan:
    own = {
        "tune_id": "tune-1",
        "created": "2026-03-01T12:00:00+00:00",
        "seed": 1,
        "folder": "/",
        "objective": TuneObjective("throughput:index-append"),
        "budget_s": 80 * RACE_S,
        "knobs": (knob("a"), knob("b")),
        "machine": MACHINE,
        "race": {"track": "t"},
    }
    return TunePlan(**own | changes)


Effect = Callable[[Mapping[str, Any]], float]
"""Returns the factor of the throughput for the parameters of the track."""


@dataclass
class FakeRunner:
    """Stores a race for each call, which indexes at the rate of its parameters; a race takes ten seconds."""

    races: RaceStore
    effect: Effect = lambda _params: 1.0
    noise: float = 0.01
    p99: Callable[[Mapping[str, Any]], float] = lambda _params: 8.0
    bulks: Callable[[Mapping[str, Any]], int] = lambda _params: 500
    """Returns of how many bulks its documents are."""
    wander: float = 0.0
    """Spread of the speed of the machine, which remembers nine tenths of it from race to race."""
    drift: float = 0.0
    """Share by which the machine becomes slower with each race."""
    before: Callable[[RaceCall], ChildExit | None] = lambda _call: None
    calls: list[RaceCall] = field(default_factory=list)
    now: float = 0.0
    _speed: float = 0.0

    def run(self, races: Sequence[RaceCall], shows: Sequence[Callable[[str], None]]) -> tuple[ChildExit, ...]:
        return tuple(self.run_one(race) for race in races)

    def run_one(self, race: RaceCall) -> ChildExit:
        self.calls.append(race)
        self.now += RACE_S
        if ended := self.before(race):
            return ended
        self.store(race)
        return ChildExit(0)

    def engine_problem(self, options: Any) -> str:
        return ""

    def stop_engine(self) -> str:
        return ""

    def store(self, race: RaceCall) -> None:
        """Stores a complete race. Its noise follows from its block and its parameters alone."""
        params = race.options.get("track-params", {})
        tags: Any = race.options["user-tags"]
        block = f"{race.options['seed']} {tags.get('block')}"
        draw = random.Random(f"{block} {params} {tags.get('variant')}")
        shared = random.Random(block).gauss(0, 3 * self.noise)
        if self.wander or self.drift:
            innovation = random.Random(f"{block} {len(self.calls)}").gauss(0, self.wander * math.sqrt(0.19))
            self._speed = 0.9 * self._speed + innovation
        machine = self._speed - self.drift * len(self.calls)
        rate = 10_000 * self.effect(params) * math.exp(shared + machine + draw.gauss(0, self.noise))
        folder = self.races.races / race.race_id
        folder.mkdir(parents=True)
        (folder / "race.json").touch()
        tail = math.exp(draw.gauss(0, self.noise) - shared - machine)
        bulks = self.bulks(params)
        indexing = structs.replace(
            INDEXING,
            throughput=Throughput(rate * 0.8, rate, rate, rate * 1.2),
            accounting=OperationTotals(bulks, bulks, 0, 0, 0, 0, bulks, bulks),
        )
        searching = structs.replace(SEARCHING, latency=_times(self.p99(params) * tail))
        RECORDS[str(folder)] = structs.replace(
            BASE,
            race_id=race.race_id,
            timestamp=TODAY + timedelta(minutes=10 * len(self.calls)),
            tasks=(indexing, searching),
            user_tags=tags,
            seed=race.options["seed"],
        )


def _times(p99: float) -> DurationSummary:
    """Returns a distribution with a 99th percentile."""
    percentiles = [structs.replace(each, ms=p99) if each.q == 99 else each for each in TIMES.percentiles]
    return structs.replace(TIMES, percentiles=tuple(percentiles))


TIMES = times()
INDEXING, SEARCHING = index(), search()
BASE = record("base", tasks=(INDEXING, SEARCHING), system=SystemMetrics(), telemetry_errors=())
"""What races have in common: complete records take longer to build than a simulated search has."""

TODAY = datetime.now(UTC).replace(microsecond=0)
"""Before the first race of a search, whose journal has the real times."""

RECORDS: dict[str, RaceRecord] = {}
"""The races, by folder: to write and read them would take most of the time of the tests."""


class MemoryRaces(RaceStore):
    """Finds races without reading their files."""

    def folder(self, reference: str) -> RaceFolder:
        return RaceFolder(self.races / reference)


def read_record(folder: RaceFolder) -> RaceRecord:
    """Takes the place of `RaceFolder.read`."""
    try:
        return RECORDS[str(folder.path)]
    except KeyError:
        raise StoreError(f"there is no race {folder.path.name}") from None


class Told:
    """Keeps the events and the lines that it is told."""

    def __init__(self) -> None:
        self.events: list[TuneEvent] = []

    def changed(self, event: TuneEvent, state: TuneProgress) -> None:
        self.events.append(event)

    def race_line(self, text: str) -> None: ...
    def race_started(self, race: Any, progress: Any) -> None: ...
    def race_ended(self, race: Any, end: Any, progress: Any) -> None: ...
    def block_ended(self, block: int, progress: Any) -> None: ...
    def warning(self, text: str) -> None: ...


@dataclass
class Search:
    """A home folder with one search."""

    folder: TuneFolder
    runner: FakeRunner
    told: Told = field(default_factory=Told)

    @classmethod
    def of(cls, home: Path, plan: TunePlan | None = None, **runner: Any) -> Search:
        folder = create_tune(ExperimentStore(home))
        write_tune(folder, structs.replace(plan or search_plan(), folder=str(home)))
        return cls(folder, FakeRunner(MemoryRaces(home), **runner))

    def run(self, **changes: Any) -> TuneEnd:
        run = TuneRun(
            self.folder, self.runner.races, self.runner.run, self.confirm, self.told,
            lambda: MACHINE, lambda: self.runner.now,
        )  # fmt: skip
        run = replace(run, **changes)
        with self.folder.locked():
            return run_tune(run)

    def confirm(self, folder: ExperimentFolder, experiment: Experiment) -> RunEnd:
        races = self.runner.races
        run = ExperimentRun(
            experiment, folder, races, self.runner, self.told, Evaluation(experiment, races),
            machine=lambda: MACHINE, others=lambda: (),
        )  # fmt: skip
        with folder.locked():
            return run_experiment(run)

    @property
    def state(self) -> TuneProgress:
        return TuneProgress.of(self.folder.plan(), self.folder.journal())

    def result(self) -> TuneResult:
        return tune_result(self.state, self.runner.races)


def limit(text: str, value: float) -> Constraint:
    return Constraint(text, "<", value)
