"""Simulates whole experiments through the evaluation that `pacenote experiment` uses.

Each simulated experiment has the plan of its design, records of races whose throughput is drawn, and the
same decisions after each block. The printed tables are those of docs/comparing.md. The simulations need no
engine and take about twenty minutes of CPU time, most of them for the experiments with a precision, which are
evaluated after each block.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import numpy as np
from comparison_simulations import Machine
from msgspec import structs
from msgspec.structs import replace
from simulations import Rows, print_tables, share_with_exact_interval

from pacenote.compare import groups
from pacenote.compare.metrics import race_metrics
from pacenote.lab.experiment.design import plan_races
from pacenote.lab.experiment.evaluate import Evaluation
from pacenote.lab.experiment.progress import ExperimentProgress, hopeless
from pacenote.model.comparison import ComparedRace, MetricComparison
from pacenote.model.experiment import (
    Experiment,
    ExperimentPlan,
    JournalEntry,
    PlannedRace,
    RaceOutcome,
    Variant,
)
from pacenote.model.experiment_result import ExperimentResult
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.race_record import RaceRecord, RecordedTrack, Verdict
from pacenote.model.result import OperationTotals, TaskResult, Throughput, WorkTotals
from pacenote.store.race_store import RaceStore

_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_TASK = TaskResult(
    task="",
    operation="index",
    operation_type="bulk",
    index=0,
    unit="docs",
    clients=1,
    started_s=0.0,
    duration_s=60.0,
    window_s=50.0,
    paced=False,
    throughput=None,
    service_time=None,
    latency=None,
    processing_time=None,
    lateness=None,
    failed_service_time=None,
    accounting=OperationTotals(500, 500, 0, 0, 0, 0, 500, 500),
    work=WorkTotals(500_000, 0),
    bytes_out=0,
    bytes_in=0,
    error_rate=0.0,
    errors=(),
    ended_by="iterations",
)

_DOUBTS = (Finding("the driver was busy", "driver", doubtful_from=EVERYTHING),)

MACHINE = Machine(0.3, 0.003)
"""How races differ unless something else is stated."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Experiments with the same settings."""

    experiment: Experiment
    """The experiment; its seed is that of each simulation."""

    machine: Machine = MACHINE
    """How races differ although nothing changed."""

    metrics: int = 1
    """Number of tasks, whose throughputs decide together."""

    change: float = 0.0
    """The true change of every task of every contender; 0.03 is 3 %."""

    failing: float = 0.0
    """Probability with which a race of a contender fails."""

    void: float = 0.0
    """Probability with which a race is void."""

    doubtful: float = 0.0
    """Probability with which something makes a race half as fast, so that it is suspect."""

    repeats: bool = False
    """Whether that comes from outside of the race, so that it is repeated."""

    def run(self, experiments: int, seed: int) -> Iterator[ExperimentResult]:
        """Yields the results of simulated experiments."""
        random = np.random.default_rng(seed)
        # The configurations of the races, which all are alike, say nothing about their numbers.
        with patch.object(groups, "group_differences", lambda *_: ((), ())):
            for number in range(experiments):
                # The figures of a race are the same in each decision.
                with patch.object(groups, "race_metrics", _once(race_metrics)):
                    yield simulated(self, number, random)


def _once(figures_of: Callable[..., object]) -> Callable[..., object]:
    """Returns a function that computes the figures of each record once."""
    known: dict[int, tuple[RaceRecord, object]] = {}

    def figures(record: RaceRecord, *others: object) -> object:
        if id(record) not in known:
            known[id(record)] = (record, figures_of(record, *others))
        return known[id(record)][1]

    return figures


def pair(variants: int = 2, **changes: object) -> Experiment:
    """Returns an experiment that compares so many variants, of which the first is the baseline."""
    names = tuple(Variant(f"v{number}", {"car-params": {"v": number}}) for number in range(variants))
    given = {"name": "s", "blocks": 10, "variants": names} | changes
    return Experiment(**given)  # type: ignore[arg-type]


def simulated(scenario: Scenario, number: int, random: np.random.Generator) -> ExperimentResult:
    """Returns the result of one simulated experiment."""
    experiment = replace(scenario.experiment, seed=number)
    plan = ExperimentPlan(
        experiment_id="s-1", created="", seed=number, folder="/", races=plan_races(experiment)
    )
    progress = ExperimentProgress(plan)
    evaluation = Evaluation(experiment, RaceStore(Path("/nonexistent")))
    rates = _rates(scenario, plan.races, random)
    baseline = evaluation.baseline(progress)
    while race := next(iter(progress.left()), None):
        index = race.number - 1
        outcome: RaceOutcome = "raced"
        verdict = "valid"
        if race.variant != baseline and random.random() < scenario.failing:
            outcome = "failed"
        elif random.random() < scenario.void:
            verdict = "void"
        elif scenario.doubtful and random.random() < scenario.doubtful:
            if scenario.repeats and progress.may_be_repeated(race):
                progress.apply(JournalEntry(event="ended", at="", race=race.number, outcome="disturbed"))
                continue
            verdict = "suspect"
            rates[:, index] /= 2
        race_id = f"s-1-{race.number}"
        if outcome == "raced":
            evaluation.read[race_id] = ComparedRace(_record(race, race_id, rates[:, index].tolist(), verdict))
        progress.apply(
            JournalEntry(
                event="ended",
                at="",
                race=race.number,
                race_id=race_id,
                outcome=outcome,
                verdict=verdict,
            )
        )
        _decide(evaluation, progress, race)
    return evaluation.result(progress)


def _decide(evaluation: Evaluation, progress: ExperimentProgress, race: PlannedRace) -> None:
    """Ends the experiment as `pacenote.lab.experiment.run` does."""
    left = progress.left()
    reason = hopeless(evaluation.experiment, progress)
    if not reason and left and left[0].block > race.block:
        reason = evaluation.ends(progress)
    if reason:
        progress.apply(JournalEntry(event="stopped", at="", text=reason))


def _rates(scenario: Scenario, races: Sequence[PlannedRace], random: np.random.Generator) -> np.ndarray:
    """Returns the throughput of each task in each race: the same trend, but noise of its own."""
    names = [variant.name for variant in scenario.experiment.variants]
    logs = np.array([scenario.machine.races(len(races), random) for _ in range(scenario.metrics)])
    logs += [math.log1p(scenario.change) * (race.variant != names[0]) for race in races]
    rates: np.ndarray = 10_000 * np.exp(logs)
    return rates


def _record(race: PlannedRace, race_id: str, rates: Sequence[float], verdict: str) -> RaceRecord:
    return RaceRecord(
        race_id=race_id,
        timestamp=_BEGAN + timedelta(minutes=10 * race.number),
        track=RecordedTrack("http_logs"),
        challenge="append",
        user_tags={"experiment": "s-1", "block": str(race.block), "variant": race.variant},
        tasks=tuple(
            structs.replace(_TASK, task=f"index-{number}", throughput=Throughput(rate, rate, rate, rate))
            for number, rate in enumerate(rates)
        ),
        verdict=Verdict(verdict, _DOUBTS if verdict == "suspect" else ()),  # type: ignore[arg-type]
        complete=True,
    )


def decided(result: ExperimentResult) -> list[MetricComparison]:
    """Returns the primary metrics of all contenders that have an interval."""
    compared = [variant.comparison for variant in result.variants if variant.comparison]
    return [each for one in compared for each in one.primary if each.change]


def sees(result: ExperimentResult) -> bool:
    """Returns whether any interval excludes "no change"."""
    return not all(contains(result, 0.0))


def says_changed(result: ExperimentResult) -> bool:
    """Returns whether any metric is said to have changed. The interval of one that is said to be the same may
    exclude "no change" by little, because it is that of this metric alone.
    """
    return any("better" in each.word or "worse" in each.word for each in decided(result))


def contains(result: ExperimentResult, change: float) -> list[bool]:
    """Returns for each interval whether it contains the true change."""
    changes = [each.change for each in decided(result) if each.change]
    return [one.low <= change <= (math.inf if one.high is None else one.high) for one in changes]


_HEADING = (
    *("experiment", "autocorrelation", "noise of a race", "true change", "blocks (mean)"),
    *("a metric is said to have changed", 'an interval excludes "no change"'),
    *("all intervals contain the change", "answered void"),
)

_LOOKS = pair(looks=(5, 10))
_PRECISE = pair(blocks=20, precision=0.015)


def pairs(given: argparse.Namespace) -> Rows:
    """Two variants: false alarms, coverage and power of the whole experiment."""
    print("Pairs, evaluated as the product does\n")
    rows: list[tuple[str, ...]] = [_HEADING]
    for name, experiment, metrics in (
        ("10 blocks", pair(), 1),
        ("looks at 5, 10", _LOOKS, 1),
        ("looks at 5, 10, 3 metrics", _LOOKS, 3),
    ):
        rows += _alike(given, name, Scenario(experiment, metrics=metrics))
    for name, experiment in (("10 blocks", pair()), ("looks at 5, 10", _LOOKS)):
        # What ten blocks with independent noise of 1 % are stated to see.
        rows.append(_row(given, name, Scenario(experiment, Machine(0.0, 0.003), change=0.0144)))
    return rows


def contenders(given: argparse.Namespace) -> Rows:
    """Three contenders, which share the probability of a false alarm."""
    print("Three contenders and a baseline, evaluated as the product does\n")
    rows: list[tuple[str, ...]] = [_HEADING]
    rows += _alike(given, "10 blocks", Scenario(pair(4)))
    rows += _alike(given, "looks at 5, 10, 3 metrics", Scenario(pair(4, looks=(5, 10)), metrics=3))
    return rows


def precision(given: argparse.Namespace) -> Rows:
    """Experiments that end as soon as their intervals are narrow enough."""
    print("Pairs of 5 to 20 blocks that end when their intervals are ±1.5 %\n")
    rows: list[tuple[str, ...]] = [_HEADING]
    for noise in (0.01, 0.02, 0.03):
        for name, metrics in (("1 metric", 1), ("3 metrics", 3)):
            scenario = Scenario(_PRECISE, Machine(0.3, 0.003, noise), metrics)
            rows.append(_row(given, name, scenario))
    return rows


def losses(given: argparse.Namespace) -> Rows:
    """Races that fail, are void, or are doubtful."""
    print("Pairs of 10 blocks in which races fail, are void, or are doubtful\n")
    rows: list[tuple[str, ...]] = [_HEADING]
    for failing, void in ((0.05, 0.0), (0.0, 0.05), (0.3, 0.0), (0.0, 0.3)):
        what = "of the contender's races fail" if failing else "of all races are void"
        name = f"{100 * (failing or void):g} % {what}"
        rows.append(_row(given, name, Scenario(pair(), failing=failing, void=void)))
    for doubtful in (0.05, 0.3):
        name = f"{100 * doubtful:g} % of all races are half as fast and suspect"
        rows.append(_row(given, name, Scenario(pair(), doubtful=doubtful)))
    return rows


def repetitions(given: argparse.Namespace) -> Rows:
    """Races that other programs disturb, which are left out or repeated."""
    print("Pairs in which other programs make races half as fast, so that they do not count\n")
    rows: list[tuple[str, ...]] = [_HEADING]
    for blocks in (4, 10):
        for disturbed in (0.05, 0.1, 0.2):
            for repeats in (False, True):
                what = "repeated" if repeats else "left out"
                name = f"{blocks} blocks, {100 * disturbed:g} % of all races are disturbed and {what}"
                scenario = Scenario(pair(blocks=blocks), doubtful=disturbed, repeats=repeats)
                rows.append(_row(given, name, scenario))
    return rows


def _alike(given: argparse.Namespace, name: str, scenario: Scenario) -> Iterator[tuple[str, ...]]:
    """Yields the rows of a scenario with independent and with correlated noise."""
    for correlation in (0.0, 0.6):
        yield _row(given, name, dataclasses.replace(scenario, machine=Machine(correlation, 0.003)))


def _row(given: argparse.Namespace, name: str, scenario: Scenario) -> tuple[str, ...]:
    results = list(scenario.run(given.experiments, given.seed))
    covered = [contains(result, scenario.change) for result in results]
    answers = [
        [variant.comparison.answer for variant in result.variants if variant.comparison] for result in results
    ]
    return (
        name,
        f"{scenario.machine.correlation:g}",
        f"{100 * scenario.machine.noise:g} %",
        f"{100 * scenario.change:g} %",
        f"{np.mean([result.blocks for result in results]):.1f}",
        share_with_exact_interval([says_changed(result) for result in results]),
        share_with_exact_interval([sees(result) for result in results]),
        share_with_exact_interval([all(one) for one in covered]),
        share_with_exact_interval([bool(one) and set(one) == {"void"} for one in answers]),
    )


SIMULATIONS = {
    "pairs": pairs,
    "contenders": contenders,
    "precision": precision,
    "losses": losses,
    "repetitions": repetitions,
}


if __name__ == "__main__":
    print_tables(SIMULATIONS, __doc__ or "", 500, Path(__file__))
