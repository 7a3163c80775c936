"""What pages are built from, made up: a comparison, an experiment of each design, a search, a saturation,
and a trend.
"""

from __future__ import annotations

import random
from typing import Any

from msgspec import structs
from msgspec.structs import replace

from compare.races import blocks, changed, compared, index, race
from compare.test_trend import nights, step, trend_of
from lab.experiment.experiments import evaluated, factors, pair, raced
from pacenote.compare.groups import compare_groups
from pacenote.lab.experiment.ended_races import ended_races
from pacenote.lab.saturation_curve import fitted_curve
from pacenote.model.comparison import Comparison, FactDifference
from pacenote.model.experiment import Experiment, JournalEntry, PlannedRace, Variant
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.race_record import RaceRecord, RecordedCluster, RecordedTrack, Verdict
from pacenote.model.result import CensoredPercentile
from pacenote.model.saturation import (
    ConcurrencyLevel,
    LatencyLimit,
    Objective,
    Probe,
    ProbeOutcome,
    SaturationResult,
)
from pacenote.model.trend import Trend
from pacenote.model.tune import Candidate, Drop, Knob, TriedCandidate, TuneEvent
from pacenote.report.page.comparison.build import ComparisonPageSources
from pacenote.report.page.experiment.build import ExperimentPageSources
from pacenote.report.page.saturation.build import SaturationPageSources
from pacenote.report.page.trend.build import TrendPageSources
from pacenote.report.page.tune.build import TunePageSources
from pacenote.report.page.tune.history import TuneHistory, tune_history
from pacenote.stats.usl import fit_usl
from report.render.test_flame_graph import HOSTILE
from report.test_tune import found as tune_found
from support.records import record

VOID = Verdict("void", (Finding("the driver was saturated", "driver", "use a larger machine"),))
CLIENTS = (1, 2, 4, 8, 16, 32)
DIFFERENCES = (
    FactDifference("JVM", "node.heap_max_bytes", ("1073741824",), ("2147483648",)),
    FactDifference("Race", "race.car-params", ('{"heap": "1g"}',), ('{"heap": "2g"}',)),
)


def comparison(factor: float = 1.06, count: int = 10) -> Comparison:
    """Returns a comparison of races in blocks; the contender indexes `factor` times as fast."""
    sides = [compared(*side) for side in blocks(count, factor)]
    return replace(compare_groups(*sides), differences=DIFFERENCES)


def one_race_each() -> Comparison:
    """Returns a comparison of two races."""
    return compare_groups(compared(race("a", 0)), compared(race("b", 1)))


def void_comparison() -> Comparison:
    """Returns a comparison of races that must not be compared."""
    sides = [compared(*changed(side, verdict=VOID)) for side in blocks(5)]
    return compare_groups(*sides)


def hostile_comparison() -> Comparison:
    """Returns a comparison in which all names and messages are markup."""
    plain = comparison(count=5)
    metrics = tuple(
        replace(each, metric=replace(each.metric, task=HOSTILE, unit=HOSTILE), reason=HOSTILE)
        for each in plain.metrics
    )
    sides = [
        replace(
            group,
            races=tuple(
                replace(each, race_id=f"{HOSTILE}{each.race_id}", block=HOSTILE) for each in group.races
            ),
            track=HOSTILE,
            challenge=HOSTILE,
            engine=HOSTILE,
            car=HOSTILE,
            tags={HOSTILE: HOSTILE},
        )
        for group in (plain.baseline, plain.contender)
    ]
    return replace(
        plain,
        baseline=sides[0],
        contender=sides[1],
        metrics=metrics,
        findings=(Finding(HOSTILE, "engine", HOSTILE, (HOSTILE,), EVERYTHING),),
        differences=(FactDifference(HOSTILE, HOSTILE, (HOSTILE,), (HOSTILE,)),),
        notes=(HOSTILE,),
    )


def hostile_pair_page() -> ExperimentPageSources:
    """Returns the page of a pair in which all names are markup."""
    variants = (Variant(HOSTILE), Variant(f"b{HOSTILE}"))
    page = experiment_page(pair(question=HOSTILE, blocks=3, variants=variants), {}, failed=2)
    races = tuple(replace(each, race_id=f"{HOSTILE}{at}") for at, each in enumerate(page.races))
    result = replace(page.result, notes=(HOSTILE,), machine_changes=(HOSTILE,), experiment_id=HOSTILE)
    options = ((HOSTILE, HOSTILE),)
    return replace(page, result=result, races=races, settings=options, common=HOSTILE, commands=options)


def comparison_page(given: Comparison | None = None) -> ComparisonPageSources:
    """Returns what the page of a comparison is built from."""
    commands = (("pacenote compare --baseline=tag:variant=a --contender=tag:variant=b", "compare again"),)
    return ComparisonPageSources(given or comparison(), commands, "0.1")


def experiment_page(experiment: Experiment, rates: dict[str, float], **changes: Any) -> ExperimentPageSources:
    """Returns what the page of an experiment is built from, after all its races have run."""
    draw = random.Random(3)

    def race_of(planned: PlannedRace) -> RaceRecord | str:
        own = rates.get(f"{planned.variant}@{planned.stage}", rates.get(planned.variant, 10_000.0))
        rate = own * draw.gauss(1, 0.01)
        verdict = "valid"
        if planned.number == changes.get("suspect"):
            verdict = "suspect"
        if planned.number == changes.get("void"):
            verdict = "void"
        if planned.number == changes.get("failed"):
            return "the engine did not start"
        return raced(rate, planned.number, verdict)

    evaluation, progress = evaluated(experiment, race_of)
    if experiment.design == "ladder":
        for stage in range(1, len(experiment.variants)):
            is_kept, _ = evaluation.adopts(stage, progress)
            progress.apply(JournalEntry(event="adopted", at="", stage=stage, adopted=is_kept))
    result = evaluation.result(progress)
    settings = tuple((variant.name, "--car=2gheap") for variant in experiment.variants)
    return ExperimentPageSources(
        result,
        ended_races(evaluation, progress),
        settings,
        "--track=geonames",
        (("pacenote experiment run ~/e-1/experiment.toml", "run it again"),),
        "0.1",
    )


def pair_page() -> ExperimentPageSources:
    """Returns the page of a pair with a suspect race and a failed one."""
    experiment = pair(question="Is a heap of 2 GB faster?", blocks=12)
    return experiment_page(experiment, {"a": 10_000.0, "b": 10_600.0}, suspect=3, failed=8)


def ladder_page() -> ExperimentPageSources:
    """Returns the page of a ladder of three steps."""
    names = ("start", "codec", "refresh", "buffer")
    steps = tuple(Variant(name, {"car-params": {name: "1"}}) for name in names)
    experiment = pair(design="ladder", blocks=6, variants=steps, question="What makes it faster?")
    rates = {"codec": 11_000.0, "refresh": 10_050.0, "buffer": 12_000.0, "best@4": 13_000.0}
    return experiment_page(experiment, rates)


def matrix_page() -> ExperimentPageSources:
    """Returns the page of a matrix of heaps and clients."""
    varied = factors(heap="1g 2g 4g", clients="2 4 8 16")
    rates = {
        f"{heap}+{clients}": 10_000.0 * (1 + 0.1 * at) * (1 + 0.15 * (2 - abs(place - 2)))
        for at, heap in enumerate(("1g", "2g", "4g"))
        for place, clients in enumerate(("2", "4", "8", "16"))
    }
    experiment = pair(
        design="matrix", blocks=3, variants=(), factors=varied, question="Which heap and clients?"
    )
    return experiment_page(experiment, rates)


def sweep_page() -> ExperimentPageSources:
    """Returns the page of a sweep over the clients."""
    rates = {"1": 5_000.0, "2": 8_000.0, "4": 10_000.0, "8": 10_100.0, "16": 9_000.0}
    experiment = pair(
        design="sweep",
        blocks=5,
        variants=(),
        factors=factors(clients="1 2 4 8 16"),
        question="How many clients?",
    )
    return experiment_page(experiment, rates)


def noise_page() -> ExperimentPageSources:
    """Returns the page of a noise experiment."""
    experiment = pair(design="noise", blocks=10, variants=(Variant("a"),), question="How much does it vary?")
    return experiment_page(experiment, {})


def screening_page() -> ExperimentPageSources:
    """Returns the page of a screening of three factors."""
    varied = factors(heap="1g 2g", codec="default best", refresh="1s 30s")
    experiment = pair(design="screening", blocks=3, variants=(), factors=varied, question="What matters?")
    return experiment_page(experiment, {})


def tune_page() -> TunePageSources:
    """Returns the page of a search with a winner, a candidate that dropped out, and one that failed."""
    names = [
        TriedCandidate(3, {"heap": "2g", "codec": "default"}, "drawn", 6, 0.0812, (40.0,)),
        TriedCandidate(0, {}, "default", 6, 0.0, (41.5,)),
        TriedCandidate(4, {"heap": "4g"}, "suggested", 4, 0.021, (44.0,), "worse than the best (p = 0.01)"),
        TriedCandidate(7, {"heap": "512m"}, "suggested", 0, None, (None,), "no\nheap"),
    ]
    journal = [TuneEvent(event="suggested", at="", candidates=(Candidate(0, (0, 0), "default"),))]
    draw = random.Random(5)
    number = 0
    for block in range(1, 7):
        for candidate in (3, 0, 4, 7):
            if (candidate == 4 and block > 4) or (candidate == 7 and block > 2):
                continue
            number += 1
            failed = candidate == 7
            journal.append(
                TuneEvent(
                    event="ended",
                    at="",
                    candidate=candidate,
                    block=block,
                    race=number,
                    race_id=f"tune-1-{number:03}",
                    outcome="failed" if failed else "raced",
                    verdict="" if failed else "suspect" if number == 6 else "valid",
                    objective=None if failed else draw.gauss(10_000, 100),
                    limits=() if failed else (40.0,),
                )
            )
        dropped = {2: (Drop(7, "no\nheap"),), 4: (Drop(4, "worse than the best (p = 0.01)", 0.01),)}
        journal.append(TuneEvent(event="judged", at="", block=block, dropped=dropped.get(block, ())))
    knobs = (
        Knob(
            "heap", "car-params.heap_size", ("512m", "1g", "2g", "4g"), "1g", is_ordered=True, source="cars"
        ),
        Knob("codec", "set:index.codec", ("default", "best_compression"), "default"),
    )
    confirmed = pair(question="Is it better?", blocks=6, variants=(Variant("default"), Variant("winner")))
    races = experiment_page(confirmed, {"default": 10_000.0, "winner": 10_800.0}).races
    commands = (("pacenote tune --objective=throughput:index-append --budget=10m", "search again"),)
    return TunePageSources(
        tune_found(candidates=tuple(names)), tune_history(journal), knobs, races, commands, "0.1"
    )


def hostile_tune_page() -> TunePageSources:
    """Returns the page of a search in which all names and messages are markup."""
    sources = tune_page()
    result = sources.result
    candidates = tuple(
        replace(each, settings={HOSTILE: HOSTILE}, dropped=each.dropped and HOSTILE)
        for each in result.candidates
    )
    ends = tuple(structs.replace(end, race_id=f"{HOSTILE}{end.race_id}") for end in sources.history.ends)
    drops = tuple((block, structs.replace(drop, text=HOSTILE)) for block, drop in sources.history.drops)
    confirmation = result.confirmation
    assert confirmation is not None
    variants = tuple(
        replace(each, comparison=each.comparison and hostile_comparison()) for each in confirmation.variants
    )
    constraints = tuple(structs.replace(each, metric=HOSTILE) for each in result.constraints)
    limits = tuple(replace(each, constraint=constraints[0]) for each in result.limits)
    hostile = replace(
        result,
        tune_id=HOSTILE,
        objective=structs.replace(result.objective, metric=HOSTILE),
        constraints=constraints,
        limits=limits,
        reason=HOSTILE,
        settings={HOSTILE: HOSTILE},
        options=(HOSTILE,),
        candidates=candidates,
        confirmation=replace(
            confirmation,
            variants=variants,
            notes=(HOSTILE,),
            machine_changes=(HOSTILE,),
            experiment_id=HOSTILE,
        ),
    )
    knobs = (Knob(HOSTILE, HOSTILE, (HOSTILE, "b"), HOSTILE, source=HOSTILE),)
    races = tuple(replace(each, race_id=f"{HOSTILE}{at}") for at, each in enumerate(sources.confirmation))
    return TunePageSources(hostile, TuneHistory(ends, drops), knobs, races, ((HOSTILE, HOSTILE),), HOSTILE)


def _probe(number: int, rate: float, p99: float | None, outcome: ProbeOutcome) -> Probe:
    high = None if p99 is None else p99 * 1.2
    times = tuple(
        CensoredPercentile(q, None if p99 is None else p99 * factor, high and high * factor, supported=True)
        for q, factor in ((50.0, 0.3), (99.0, 1.0))
    )
    reasons = () if outcome == "passed" else ("p99 of latency 60 ms",)
    return Probe(number, rate, rate * 0.99, rate, 0.001, (), 0, 0, outcome, reasons, times)


def saturation_page() -> SaturationPageSources:
    """Returns the page of a search with probes of each outcome, and with a fitted law."""
    probes = (
        _probe(1, 50.0, 10.0, "passed"),
        _probe(2, 100.0, 14.0, "passed"),
        _probe(3, 200.0, 90.0, "failed"),
        _probe(4, 140.0, 30.0, "passed"),
        _probe(5, 165.0, 48.0, "undecided"),
        _probe(6, 170.0, None, "failed"),
    )
    draw = random.Random(9)
    levels = tuple(
        ConcurrencyLevel(
            number,
            clients,
            40 * clients / (1 + 0.05 * (clients - 1) + 0.004 * clients**2) * draw.gauss(1, 0.02),
            0.0,
        )
        for number, clients in enumerate((1, 2, 4, 8, 16, 32, 32, 16, 8, 4, 2, 1), 1)
    )
    measured: dict[int, list[float]] = {}
    for level in levels:
        measured.setdefault(level.clients, []).append(level.work)
    result = SaturationResult(
        race_id="r-1",
        task="term",
        operation="term",
        unit="ops",
        work_per_operation=1.0,
        connections=64,
        objective=Objective((LatencyLimit(99.0, 50.0),), 0.01),
        precision=0.03,
        window_s=20.0,
        warmup_s=5.0,
        probes=probes,
        stable=140.0,
        unstable=170.0,
        limited_by="engine",
        levels=levels,
        fit=fit_usl(measured),
        complete=True,
    )
    race_record = record("r-1", track=RecordedTrack("geonames"))
    commands = (("pacenote saturate --track=geonames --task=term", "search again"),)
    return SaturationPageSources(result, race_record, fitted_curve(result), commands, "0.1")


def hostile_saturation_page() -> SaturationPageSources:
    """Returns the page of a search for the highest rate in which all names and messages are markup."""
    sources = saturation_page()
    result = structs.replace(
        sources.result,
        race_id=HOSTILE,
        task=HOSTILE,
        operation=HOSTILE,
        unit=HOSTILE,
        probes=tuple(
            structs.replace(each, reasons=each.reasons and (HOSTILE,)) for each in sources.result.probes
        ),
        levels=tuple(structs.replace(each, left_out=(HOSTILE,)) for each in sources.result.levels),
    )
    race_record = record(
        HOSTILE,
        track=RecordedTrack(HOSTILE),
        challenge=HOSTILE,
        user_tags={HOSTILE: HOSTILE},
        cluster=RecordedCluster(HOSTILE, HOSTILE, nodes=({"name": HOSTILE, "host": HOSTILE},)),
        verdict=Verdict("suspect", (Finding(HOSTILE, "driver", HOSTILE),)),
    )
    return SaturationPageSources(result, race_record, sources.fitted, ((HOSTILE, HOSTILE),), HOSTILE)


def regression() -> Trend:
    """Returns a trend over 20 nights in which indexing became slower in the 15th, with a smaller heap."""
    records = nights(20, rate=step(14, 0.85))
    return trend_of(
        structs.replace(each, car_params={"heap": "1g" if night < 14 else "512m"})
        for night, each in enumerate(records)
    )


def trend_page(trend: Trend | None = None) -> TrendPageSources:
    """Returns what the page of a trend is built from."""
    return TrendPageSources(trend or regression(), (("pacenote diff a b", "what differs"),), "0.1.0")


def hostile_trend_page() -> TrendPageSources:
    """Returns the page of a trend in which all names are markup."""
    records = [
        structs.replace(
            each,
            challenge=HOSTILE,
            tasks=(index(task=HOSTILE), *each.tasks[1:]),
            car_params={"x": HOSTILE if night >= 8 else "y"},
            user_tags={HOSTILE: HOSTILE},
        )
        for night, each in enumerate(nights(12, rate=step(8, 0.8)))
    ]
    trend = replace(trend_of(records), notes=(HOSTILE,), left_out=(HOSTILE,))
    return TrendPageSources(trend, ((HOSTILE, HOSTILE),), HOSTILE)
