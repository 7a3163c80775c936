"""When an experiment may end early, and what it says meanwhile."""

import pytest
from msgspec.structs import replace

from compare.quality_races import with_values
from compare.races import index, search
from lab.experiment.experiments import Lab, evaluated, factors, pair, raced
from pacenote.lab.experiment.progress import ExperimentProgress
from pacenote.model.custom_metrics import QualityDirection
from pacenote.model.experiment import Experiment, JournalEntry, Variant
from pacenote.stats.sequential import LookPlan
from support.records import times


def rates(lab, factor, noise=0.001):
    """Returns rates of which those of b are higher by a factor."""

    def rate(call):
        base = 10_000 * (factor if call.options["user-tags"]["variant"] == "b" else 1.0)
        return base * (1 + noise * (len(lab.runner.calls) * 7 % 5))

    return rate


@pytest.mark.process  # It stores and compares many races.
@pytest.mark.parametrize(("factor", "noise", "ended"), [(1.2, 0.001, 5), (1.0, 0.001, 5), (1.02, 0.03, 10)])
def test_an_experiment_ends_at_a_look_if_its_answer_is_clear(tmp_path, factor, noise, ended):
    lab = Lab.of(tmp_path, pair(blocks=10, looks=(5, 10), primary=("throughput:index-append",)))
    lab.runner.rate = rates(lab, factor, noise)
    progress = lab.run().progress
    assert len(progress.blocks_done()) == ended
    assert progress.stopped == ("the answer is clear after 5 blocks" if ended == 5 else "")
    result = lab.evaluation.result(progress)
    assert result.state == ("ended early" if ended == 5 else "complete")
    confidence = result.variants[1].comparison.primary[0].change.confidence
    assert confidence > 0.99 if ended == 5 else 0.95 < confidence < 0.96


@pytest.mark.process  # It stores and compares many races.
def test_an_error_rate_of_zero_does_not_keep_an_experiment_from_ending(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=10, looks=(5, 10)))
    lab.runner.rate = rates(lab, 1.2, 0.001)
    progress = lab.run().progress
    assert progress.stopped == "the answer is clear after 5 blocks"
    words = {
        each.metric.kind: each.word for each in lab.evaluation.result(progress).variants[1].comparison.primary
    }
    assert words["error rate"] == "no verdict"


@pytest.mark.process  # It stores and compares many races.
def test_an_experiment_ends_when_its_interval_is_narrow_enough(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=20, precision=0.02, primary=("throughput:index-append",)))
    lab.runner.rate = rates(lab, 1.01)
    progress = lab.run().progress
    assert progress.stopped == "the intervals are as narrow as asked for after 5 blocks, ±2 %"


def test_the_running_estimate_has_its_interval(tmp_path):
    lab = Lab.of(tmp_path, pair(blocks=3))
    lab.runner.rate = rates(lab, 1.2)
    progress = lab.run().progress
    assert lab.evaluation.estimate(progress).startswith("so far b: throughput:index-append +20.")
    assert lab.evaluation.result(progress).main_metric.label == "throughput:index-append"


def test_races_are_as_far_apart_as_in_the_plan(tmp_path):
    """With three variants, a drift of 10 % from race to race is removed whatever the order was."""
    variants = tuple(Variant(name, {"car": f"{name}heap"}) for name in "abc")
    lab = Lab.of(tmp_path, pair(variants=variants, blocks=4))
    lab.runner.rate = lambda _call: 10_000 * 0.9 ** len(lab.runner.calls)
    result = lab.evaluation.result(lab.run().progress)
    changes = [each.comparison.primary[0].change for each in result.variants[1:]]
    assert [change.value for change in changes] == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_race_that_was_skipped_has_no_place(tmp_path):
    variants = tuple(Variant(name, {"car": f"{name}heap"}) for name in "abc")
    progress = Lab.of(tmp_path, pair(variants=variants, blocks=1)).progress()
    outcomes = ("raced", "skipped", "failed")
    for race, outcome in zip(progress.plan.races, outcomes, strict=True):
        progress.apply(
            JournalEntry(event="ended", at="t", race=race.number, race_id=outcome, outcome=outcome)
        )
    assert progress.places() == {"raced": 0, "failed": 1}


def test_nothing_is_said_without_races(tmp_path):
    lab = Lab.of(tmp_path, pair())
    result = lab.evaluation.result(lab.progress())
    assert (result.state, result.main_metric, result.races_done) == ("unfinished", None, 0)


@pytest.mark.parametrize(
    ("variants", "changes", "level"),
    [
        # A tenth is for what is read before the end.
        (2, {}, 0.9 * 0.05),
        (4, {}, 0.9 * 0.05 / 3),
        (2, {"looks": (5, 10)}, LookPlan((5, 10)).level(0, 0.05)),
        (4, {"looks": (5, 10)}, LookPlan((5, 10)).level(0, 0.05 / 3)),
        (2, {"precision": 0.02}, 0.9 * 0.02),
        (3, {"precision": 0.02}, 0.9 * 0.01),
    ],
)
def test_all_contenders_and_looks_share_the_probability_of_a_false_alarm(variants, changes, level):
    names = tuple(Variant(name) for name in "abcd"[:variants])
    given = {"blocks": 5, "variants": names, "primary": ("throughput:index-append",)} | changes
    evaluation, progress = evaluated(pair(**given), lambda race: raced(1e4, race.number))
    change = evaluation.result(progress).variants[1].comparison.primary[0].change
    assert 1 - change.confidence == pytest.approx(level)


def test_the_words_of_a_sweep_allow_for_its_number_of_levels():
    sweep = Experiment(name="s", design="sweep", blocks=5, factors=factors(heap="1g 2g 4g"))
    evaluation, progress = evaluated(sweep, lambda race: raced(1e4, race.number))
    primary = evaluation.result(progress).variants[1].comparison.primary
    assert max(each.change.confidence for each in primary if each.change) > 1 - 0.05 / 2 - 1e-9


def after(races, progress):
    """The state after so many races."""
    early = ExperimentProgress(progress.plan)
    for number in range(1, races + 1):
        early.apply(progress.ends[number])
    return early


def in_region(evaluation, progress):
    return [cell.name for cell in evaluation.result(progress).cells if cell.in_best_region]


def test_the_best_region_before_the_end_allows_for_all_times_at_which_it_is_read():
    """What three blocks show at their end, they do not show as the first three of ten."""
    speeds = {"1g": 9_500.0, "2g": 10_000.0, "4g": 10_000.0}
    sweep = Experiment(name="s", design="sweep", blocks=10, factors=factors(heap="1g 2g 4g"))
    evaluation, progress = evaluated(sweep, lambda race: raced(speeds[race.variant], race.number))
    short = evaluated(replace(sweep, blocks=3), lambda race: raced(speeds[race.variant], race.number))
    assert in_region(*short) == ["2g", "4g"]
    assert in_region(evaluation, after(9, progress)) == ["1g", "2g", "4g"]
    assert in_region(evaluation, progress) == ["2g", "4g"]


def test_a_block_that_runs_decides_nothing_about_levels():
    sweep = Experiment(name="s", design="sweep", blocks=3, factors=factors(heap="1g 2g 4g"))
    speeds = {"1g": 5_000.0, "2g": 10_000.0, "4g": 10_000.0}
    evaluation, progress = evaluated(sweep, lambda race: raced(speeds[race.variant], race.number))
    # With one block there is no noise; the races of the second one are not read before it has ended.
    for races in (3, 4, 5):
        assert in_region(evaluation, after(races, progress)) == ["1g", "2g", "4g"]


def test_the_effects_of_a_screening_before_the_end_allow_for_all_times_at_which_they_are_read():
    screening = Experiment(
        name="s", design="screening", blocks=4, factors=factors(heap="low high", gc="g1 z", codec="x y")
    )
    evaluation, progress = evaluated(screening, lambda race: raced(1e4, race.number))
    early = evaluation.result(after(16, progress)).effects
    assert early
    assert all(1 - effect.change.confidence < 0.1 * 0.05 for effect in early)
    levels = [1 - effect.change.confidence for effect in evaluation.result(progress).effects]
    assert max(levels) >= 0.9 * 0.05 / 3
    # In the third block, the effects are still those of the first two.
    assert evaluation.result(after(19, progress)).effects == early


def test_an_experiment_has_directions_of_custom_metrics():
    """The declared direction of a quality decides whether a faster variant is better."""

    def race_of(race):
        is_new = race.variant == "b"
        task = with_values(index(12e3 if is_new else 1e4), {"distance": 3.0 if is_new else 2.0})
        return raced(1e4, race.number, tasks=(task,))

    for quality, answer in (("", "better"), ("distance=lower", "mixed"), ("distance=higher", "better")):
        given = tuple(filter(None, [QualityDirection.parse(quality)]))
        experiment = pair(blocks=5, primary=("throughput:index-append",), quality=given)
        evaluation, progress = evaluated(experiment, race_of)
        result = evaluation.result(progress)
        assert result.variants[1].comparison.answer == answer
        assert not result.notes


def test_a_direction_of_no_metric_is_said():
    given = (QualityDirection.parse("distanc:index-append=lower"),)
    evaluation, progress = evaluated(pair(quality=given), lambda race: raced(1e4, race.number))
    text = "no race has the metric 'distanc' of quality: distanc:index-append=lower"
    assert text in evaluation.result(progress).notes


def test_a_percentile_without_an_interval_does_not_keep_an_experiment_from_ending():
    few = search(service_time=times(20), latency=times(20))

    def race_of(race):
        return raced(1e4, race.number, tasks=(index(1e4 * (1 + 0.001 * (race.number % 3))), few))

    experiment = pair(blocks=5, precision=0.02)
    evaluation, progress = evaluated(experiment, race_of)
    evaluation.experiment = replace(experiment, blocks=20)
    assert evaluation.ends(progress).startswith("the intervals are as narrow as asked for after 5 blocks")


def test_the_estimate_of_many_blocks_is_not_renewed_after_each_one():
    experiment = pair(blocks=22, primary=("throughput:index-append",))
    evaluation, progress = evaluated(experiment, lambda race: raced(1e4, race.number))
    assert evaluation.estimate(progress) == ""
    progress.ends = {number: end for number, end in progress.ends.items() if number <= 40}
    first = evaluation.estimate(progress)
    assert first.startswith("so far b: ")
