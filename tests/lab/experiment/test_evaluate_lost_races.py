"""What an evaluation does with races that failed, are void, or cannot be read."""

import pytest
from msgspec import structs
from msgspec.structs import replace

from compare.races import index, search
from lab.experiment.experiments import Lab, evaluated, factors, pair, raced
from pacenote.lab.experiment.design import plan_races
from pacenote.lab.experiment.progress import ExperimentProgress, hopeless
from pacenote.model.experiment import BEST, Experiment, ExperimentPlan, JournalEntry, Variant
from pacenote.model.finding import Finding
from pacenote.model.race_record import Verdict
from support.records import times

THROUGHPUT = ("throughput:index-append",)


def rates(**by_variant):
    """Returns the races of variants that index at these rates."""
    return lambda race: raced(by_variant.get(race.variant, 10_000.0), race.number)


def sweep(blocks=5, levels="1g 2g 4g", **changes):
    given = {"name": "s", "design": "sweep", "blocks": blocks, "factors": factors(heap=levels)}
    return Experiment(**given | changes)


def cells(evaluation, progress):
    return {cell.name: cell for cell in evaluation.result(progress).cells}


def best_of(by_level):
    return [name for name, cell in by_level.items() if cell.is_best]


@pytest.mark.parametrize("lost", ["void", "failed"])
def test_a_level_whose_races_are_lost_is_not_the_best(lost):
    def race_of(race):
        is_lost = race.variant == "4g" and race.block % 2
        if is_lost and lost == "failed":
            return "out of memory"
        figures = {"1g": 9_000.0, "2g": 10_000.0, "4g": 20_000.0}
        return raced(figures[race.variant], race.number, "void" if is_lost else "valid")

    by_level = cells(*evaluated(sweep(), race_of))
    assert best_of(by_level) == ["2g"]
    assert (by_level["4g"].is_void, by_level["4g"].lost, by_level["4g"].in_best_region) == (True, 3, False)
    assert not by_level["2g"].is_void


def test_one_lost_race_does_not_void_its_level():
    def race_of(race):
        is_lost = race.variant == "4g" and race.block == 2
        rate = {"1g": 9_000.0, "2g": 10_000.0, "4g": 12_000.0}[race.variant]
        return raced(50_000.0 if is_lost else rate, race.number, "void" if is_lost else "valid")

    by_level = cells(*evaluated(sweep(), race_of))
    assert best_of(by_level) == ["4g"]
    assert (by_level["4g"].races, by_level["4g"].lost) == (4, 1)
    assert by_level["4g"].value == pytest.approx(12_000, rel=0.01)


@pytest.mark.process  # It compares many races.
def test_a_level_that_is_left_out_is_not_the_best():
    def race_of(race):
        if race.variant == "4g" and race.block > 8:
            return "out of memory"
        return raced({"1g": 9_000.0, "2g": 10_000.0, "4g": 12_000.0}[race.variant], race.number)

    by_level = cells(*evaluated(sweep(blocks=10), race_of))
    assert (by_level["4g"].is_void, by_level["4g"].is_left_out) == (False, True)
    assert best_of(by_level) == ["2g"]
    assert [name for name, cell in by_level.items() if cell.in_best_region] == ["2g"]


def test_the_best_level_belongs_to_its_region_although_another_one_ran_in_better_blocks():
    # The machine becomes faster from block to block, and the best level ran in the slow ones only.
    def race_of(race):
        if race.variant == "2g" and race.block == 5:
            return "the disk was full"
        return raced((10_300.0 if race.variant == "2g" else 10_000.0) * 1.2**race.block, race.number)

    by_level = cells(*evaluated(sweep(levels="1g 2g"), race_of))
    assert best_of(by_level) == ["2g"]
    assert by_level["2g"].in_best_region
    assert by_level["2g"].value > by_level["1g"].value


def test_void_races_are_not_noise():
    experiment = Experiment(name="n", design="noise", blocks=6, variants=(Variant("one"),))
    evaluation, progress = evaluated(
        experiment,
        lambda race: raced(
            99.0 if race.block == 2 else 1e4, race.number, "void" if race.block == 2 else "valid"
        ),
    )
    (value,) = [one for one in evaluation.result(progress).noise if one.metric.label in THROUGHPUT]
    assert value.races == 5
    assert value.spread < 0.01


@pytest.mark.parametrize(("lost", "counted"), [(2, 8), (3, 0)])
@pytest.mark.parametrize("is_void", [False, True])
def test_races_that_survive_are_no_spread(lost, counted, is_void):
    def race_of(race):
        # Not two in a row, after which no race is left.
        if race.number % 3 == 0 and race.number <= 3 * lost:
            return raced(1e4, race.number, "void") if is_void else "out of memory"
        return raced(1e4, race.number)

    experiment = Experiment(name="n", design="noise", blocks=10, variants=(Variant("one"),))
    evaluation, progress = evaluated(experiment, race_of)
    result = evaluation.result(progress)
    values = [one for one in result.noise if one.metric.label in THROUGHPUT]
    assert [one.races for one in values] == ([counted] if counted else [])
    assert result.is_void == (not counted)


def test_suspect_races_of_designs_without_comparisons_are_named():
    suspect = Verdict("suspect", (Finding("the CPU was throttled"),))

    def race_of(race):
        record = raced(1e4, race.number)
        return structs.replace(record, verdict=suspect) if race.block == 2 else record

    experiment = Experiment(name="n", design="noise", blocks=3, variants=(Variant("one"),))
    evaluation, progress = evaluated(experiment, race_of)
    assert evaluation.result(progress).notes == ("race e-1-002 is suspect: the CPU was throttled",)


def failing_in(blocks):
    def race_of(race):
        if race.variant == "b" and race.block in blocks:
            return "out of memory"
        return raced(10_000.0 * (1.2 if race.variant == "b" else 1.0), race.number)

    return race_of


@pytest.mark.parametrize(("failed", "answer"), [((2, 5), "better"), ((2, 5, 8), "void")])
def test_blocks_that_survive_do_not_stand_for_those_that_fail(failed, answer):
    evaluation, progress = evaluated(pair(blocks=10, primary=THROUGHPUT), failing_in(failed))
    variant = evaluation.result(progress).variants[1]
    assert (variant.comparison.answer, variant.failed, variant.races) == (
        answer,
        len(failed),
        10 - len(failed),
    )
    if answer == "void":
        finding = variant.comparison.findings[0]
        assert finding.makes_doubtful
        assert finding.text.startswith("only 7 of 10 blocks count (in 3 a race failed), so that ")
        assert {each.word for each in variant.comparison.metrics} == {"void"}


@pytest.mark.parametrize(("deleted", "answer"), [(1, "better"), (3, "void")])
def test_races_that_were_deleted_are_missing_and_nothing_else(deleted, answer):
    evaluation, progress = evaluated(pair(blocks=5, primary=THROUGHPUT), failing_in(()))
    for number in range(1, deleted + 1):
        del evaluation.read[f"e-1-{2 * number:03}"]
    result = evaluation.result(progress)
    assert result.variants[1].comparison.answer == answer
    assert sum("cannot be read, so that its block is lost" in note for note in result.notes) == deleted
    assert evaluation.estimate(progress)[:10] == ("" if answer == "void" else "so far b: ")
    assert evaluation.ends(progress) == ""


def test_a_race_that_was_deleted_is_not_read_as_another_one(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=1))
    progress = lab.run().progress
    (lab.races.races / "heap-1-001").rename(lab.races.races / "heap-1-0010")
    result = lab.evaluation.result(progress)
    assert any(note.startswith("race heap-1-001 cannot be read") for note in result.notes)


def test_a_metric_that_no_race_has_becomes_a_note():
    evaluation, progress = evaluated(pair(primary=("p99:trem",)), rates(b=12_000.0))
    result = evaluation.result(progress)
    assert "no race has the metric 'p99:trem', which the file names in primary" in result.notes
    assert "the default metrics decide instead" in result.notes
    assert result.variants[1].comparison.answer == "better"


def test_a_metric_that_one_race_lacks_does_not_decide():
    def race_of(race):
        record = raced(12_000.0 if race.variant == "b" else 10_000.0, race.number)
        return structs.replace(record, tasks=record.tasks[:1]) if race.number == 3 else record

    evaluation, progress = evaluated(pair(primary=(*THROUGHPUT, "p99:term")), race_of)
    result = evaluation.result(progress)
    assert [each.metric.label for each in result.variants[1].comparison.primary] == list(THROUGHPUT)
    assert any(note.startswith("not every race has p99-") for note in result.notes)


def test_a_metric_that_no_pair_has_in_common_decides_nothing():
    def race_of(race):
        record = raced(12_000.0 if race.variant == "b" else 10_000.0, race.number)
        return structs.replace(record, tasks=record.tasks[:1]) if race.variant == "b" else record

    evaluation, progress = evaluated(pair(primary=("p99:term",)), race_of)
    comparison = evaluation.result(progress).variants[1].comparison
    assert (comparison.answer, comparison.primary) == ("no verdict", ())


@pytest.mark.process  # It compares many races.
def test_a_percentile_with_too_few_samples_does_not_mark_the_best_level():
    few = search(service_time=times(100), latency=times(100))

    def race_of(race):
        return structs.replace(raced(10_000.0, race.number), tasks=(index(10_000.0), few))

    result = evaluation_result(sweep(primary=("p99:term",)), race_of)
    assert (result.main_metric, result.cells) == (None, ())
    assert any(note.startswith("no primary metric counts in nearly all races: p99-") for note in result.notes)


def evaluation_result(experiment, race_of):
    evaluation, progress = evaluated(experiment, race_of)
    return evaluation.result(progress)


def screening(blocks=3):
    return Experiment(
        name="s", design="screening", blocks=blocks, factors=factors(heap="low high", gc="g1 z", codec="x y")
    )


@pytest.mark.process  # It compares many races.
def test_a_screening_is_evaluated_although_races_failed():
    def race_of(race):
        if race.number % 9 == 0:
            return "the port is in use"
        return raced(13_000.0 if "high" in race.variant else 10_000.0, race.number)

    result = evaluation_result(screening(), race_of)
    assert (result.effects[0].factor, result.effects[0].word) == ("heap", "better")
    assert result.effects[0].change.value == pytest.approx(0.3, abs=0.02)
    assert sum(one.failed for one in result.variants) == 2


@pytest.mark.process  # It compares many races.
def test_a_screening_says_which_combination_is_missing():
    broken = "high+z+y"
    experiment = screening()
    evaluation, progress = evaluated(
        experiment, lambda race: "no such car" if race.variant == broken else raced(1e4, race.number)
    )
    result = evaluation.result(progress)
    assert {one.word for one in result.effects} == {"no verdict"}
    assert f"the effects are not known: no race counts of {broken}" in result.notes
    assert hopeless(evaluation.experiment, progress) == (f"the effects need all combinations: {broken}")


@pytest.mark.process  # It compares many races.
def test_the_first_of_several_replicates_alone_shows_nothing():
    def race_of(race):
        return raced(13_000.0 if "high" in race.variant else 1e4, race.number) if race.block == 1 else "x"

    result = evaluation_result(screening(2), race_of)
    assert {one.word for one in result.effects} == {"no verdict"}
    assert "the effects are not known: too few blocks have races that count (1)" in result.notes


def test_an_experiment_stops_without_its_baseline():
    variants = (*pair().variants, Variant("c", {"car": "4gheap"}))
    evaluation, progress = evaluated(
        pair(blocks=4, variants=variants),
        lambda race: "no such car" if race.variant == "a" else raced(1e4, race.number),
    )
    assert hopeless(evaluation.experiment, progress) == ("the baseline cannot be raced: a")


LADDER = Experiment(
    name="l", design="ladder", blocks=5, variants=tuple(Variant(name) for name in ("base", "x", "y"))
)


def test_a_step_that_cannot_race_ends_its_stage_and_the_next_one_is_raced():
    evaluation, progress = evaluated(
        LADDER, lambda race: "no such car" if race.variant == "x" else raced(1e4, race.number)
    )
    stages = [race.stage for race in progress.plan.races if race.number in progress.ends]
    assert stages.count(1) <= 5
    assert stages.count(2) == 10
    assert len(progress.blocks_done(1)) == 5
    assert hopeless(evaluation.experiment, progress) == ""
    assert evaluation.adopts(1, progress) == (False, "failed: no such car")


@pytest.mark.parametrize(
    ("void", "rate", "kept"),
    [
        ("term", 1.3, (True, "partly void: throughput:index-append is better")),
        ("term", 1.0, (False, "partly void: throughput:index-append is same")),
        ("index-append", 1.3, (False, "partly void: throughput:index-append is void")),
    ],
)
def test_the_main_metric_of_a_step_decides_if_another_one_is_void(void, rate, kept):
    """A race that waited for a core says little about tails, and enough about throughput."""
    verdict = Verdict("suspect", (Finding("late", "machine", "", (void,), 0.0),))

    def race_of(race):
        return structs.replace(
            raced(1e4 * (rate if race.variant == "x" else 1), race.number), verdict=verdict
        )

    evaluation, progress = evaluated(LADDER, race_of)
    assert evaluation.adopts(1, progress) == kept


def test_a_ladder_without_a_kept_step_has_nothing_to_confirm():
    experiment = replace(LADDER, blocks=3)
    plan = ExperimentPlan(experiment_id="e", created="", seed=1, folder="/", races=plan_races(experiment))
    progress = ExperimentProgress(plan)
    for race in plan.races:
        if race.stage < 3:
            progress.apply(JournalEntry(event="ended", at="", race=race.number, race_id="r", outcome="raced"))
    assert {race.stage for race in progress.left()} == {3}
    for stage, adopted in ((1, False), (2, False)):
        progress.apply(JournalEntry(event="adopted", at="", stage=stage, adopted=adopted))
    assert progress.left() == ()
    progress.apply(JournalEntry(event="adopted", at="", stage=2, adopted=True))
    assert len(progress.left()) == 6


def test_a_ladder_stops_if_its_best_cannot_race():
    evaluation, progress = evaluated(
        LADDER, lambda race: "no such car" if race.variant == BEST else raced(1e4, race.number)
    )
    assert hopeless(evaluation.experiment, progress).startswith(
        "the baseline cannot be raced: best (no such car)"
    )


@pytest.mark.parametrize(("void", "ends"), [((), False), ((1, 3), False), ((1, 2, 3), True)])
def test_an_experiment_ends_early_if_none_of_its_blocks_may_be_compared(void, ends):
    evaluation, progress = evaluated(
        pair(blocks=3), lambda race: raced(1e4, race.number, "void" if race.block in void else "valid")
    )
    assert evaluation.ends(progress).startswith("the races must not be compared: " if ends else "")
    assert bool(evaluation.ends(progress)) == ends


def test_an_experiment_of_other_data_ends_early():
    def race_of(race):
        failed = {"error_rate": 0.05} if race.variant == "b" else {}
        return raced(1e4, race.number, tasks=(index(1e4, **failed), search(**failed)))

    evaluation, progress = evaluated(pair(blocks=3), race_of)
    assert "of the operations failed in the baseline" in evaluation.ends(progress)
    assert evaluation.result(progress).is_void


@pytest.mark.process  # It compares many races.
def test_a_sweep_of_void_races_ends_early_and_is_void():
    evaluation, progress = evaluated(sweep(blocks=3), lambda race: raced(1e4, race.number, "void"))
    assert evaluation.ends(progress).startswith("no race may be compared: ")
    assert evaluation.result(progress).is_void


def test_races_that_warm_up_and_fail_do_not_leave_the_baseline_out():
    evaluation, progress = evaluated(
        pair(blocks=2, warm_up=2), lambda race: "not ready" if not race.block else raced(1e4, race.number)
    )
    assert progress.left_out_variants() == ()
    assert len(progress.block_races(("a", "b")).blocks) == 2
    assert not evaluation.is_warm(progress)


def test_races_without_a_primary_metric_are_not_warm():
    evaluation, progress = evaluated(
        pair(blocks=1, warm_up=2), lambda race: structs.replace(raced(1e4, race.number), tasks=())
    )
    assert not evaluation.is_warm(progress)
