"""What an evaluation does with races that are suspect, and say which of their figures are doubtful."""

import pytest
from msgspec.structs import replace

from compare.races import index, search
from lab.experiment.experiments import evaluated, factors, pair, raced
from pacenote.lab.experiment.noise import noise_values
from pacenote.model.experiment import Experiment
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.race_record import Verdict
from pacenote.model.result import Steadiness

THROUGHPUT = ("throughput:index-append",)
BUSY = Finding("the driver was busy for 97 % of the time", "driver", "", ("index-append",), EVERYTHING)
STOLEN = Finding("12 % of the CPU was stolen", "machine", "", (), EVERYTHING)
LATE = Finding("requests were late", "driver", "", ("term",), 99.0)


def suspect(rate, number, finding=BUSY):
    """Returns a race that indexes at this rate, and makes figures of its own doubtful."""
    return replace(raced(rate, number), verdict=Verdict("suspect", (finding,)))


def of_blocks(doubtful, rates=None, finding=BUSY, variants="b"):
    """Returns races of which those of some variants are doubtful in these blocks, where they are ten times as
    fast.
    """

    def race_of(race):
        rate = (rates or {}).get(race.variant, 10_000.0)
        if race.variant in variants and race.block in doubtful:
            return suspect(10 * rate, race.number, finding)
        return raced(rate, race.number)

    return race_of


def compared(blocks, race_of, primary=THROUGHPUT):
    evaluation, progress = evaluated(pair(blocks=blocks, primary=primary), race_of)
    return evaluation.result(progress).variants[1].comparison


@pytest.mark.parametrize(("doubtful", "answer", "left"), [((2,), "better", 9), ((2, 7), "better", 8)])
def test_a_doubtful_race_costs_its_block(doubtful, answer, left):
    comparison = compared(10, of_blocks(doubtful, {"b": 12_000.0}))
    (metric,) = comparison.primary
    assert (comparison.answer, len(metric.baseline), len(metric.contender)) == (answer, left, left)
    assert metric.change.value == pytest.approx(0.2, abs=0.01)
    assert metric.lost_blocks == tuple(f"e-1/{block}" for block in doubtful)
    assert not any(each.makes_doubtful for each in comparison.findings)
    texts = [each.text for each in comparison.findings]
    assert any(text.startswith(f"{BUSY.text} (in {len(doubtful)} of 20 races") for text in texts)
    blocks = " and ".join(metric.lost_blocks)
    assert (
        f"{len(doubtful)} of 10 blocks do not count for throughput:index-append: "
        f"a race of {blocks} is doubtful" in texts
    )


def test_more_than_a_fifth_of_doubtful_blocks_voids_the_metric():
    outcome = compared(10, of_blocks((2, 5, 8), {"b": 12_000.0}))
    assert (outcome.answer, outcome.primary[0].word, outcome.primary[0].lost_blocks) == ("void", "void", ())
    assert outcome.findings[0].makes_doubtful
    assert (
        "3 of 10 blocks do not count for throughput:index-append: a race of e-1/2, e-1/5 and e-1/8 is "
        "doubtful; at most 2 may be lost"
    ) in [each.text for each in outcome.findings]


def test_doubtful_and_void_races_count_together():
    def race_of(race):
        if race.variant == "a" and race.block in (3, 4):
            return raced(10_000.0, race.number, "void")
        return of_blocks((2,))(race)

    assert compared(10, race_of).answer == "void"


def test_a_doubtful_percentile_costs_no_block_of_the_throughput():
    outcome = compared(5, of_blocks((1, 2, 3), {"b": 12_000.0}, LATE), (*THROUGHPUT, "p99-service-time:term"))
    words = {each.metric.key: each.word for each in outcome.primary}
    assert words["p99-service-time"] == "void"
    throughput = next(each for each in outcome.primary if each.metric.key == "throughput")
    assert throughput.lost_blocks == ()
    assert throughput.change is not None


def test_a_race_with_many_errors_costs_its_block():
    def race_of(race):
        failed = {"error_rate": 0.05} if (race.variant, race.block) == ("b", 3) else {}
        return raced(1e4, race.number, tasks=(index(1e4 + race.number, **failed), search()))

    comparison = compared(5, race_of)
    assert comparison.answer != "void"
    assert comparison.primary[0].lost_blocks == ("e-1/3",)


@pytest.mark.parametrize(("rate", "answer"), [(8_000.0, "worse"), (12_000.0, "partly void")])
def test_a_race_of_a_spared_block_voids_only_metrics_that_lost_too_many(rate, answer):
    doubtful = {("b", 3): STOLEN, ("b", 4): LATE, ("b", 5): LATE}

    def race_of(race):
        own = raced(rate if race.variant == "b" else 10_000.0, race.number)
        finding = doubtful.get((race.variant, race.block))
        return replace(own, verdict=Verdict("suspect", (finding,))) if finding else own

    comparison = compared(10, race_of, (*THROUGHPUT, "p99-service-time:term"))
    throughput = next(each for each in comparison.primary if each.metric.key == "throughput")
    assert (comparison.answer, throughput.lost_blocks) == (answer, ("e-1/3",))
    stolen = next(each for each in comparison.findings if each.text.startswith(STOLEN.text))
    assert (stolen.tasks, stolen.makes_doubtful) == (("term",), True)


def test_errors_are_not_hidden_by_leaving_out_their_blocks():
    def race_of(race):
        failed = {"error_rate": 0.5} if race.variant == "b" and race.block in (2, 7) else {}
        rate = 12_000.0 if race.variant == "b" else 10_000.0
        return raced(rate, race.number, tasks=(index(rate + race.number, **failed), search()))

    comparison = compared(10, race_of, (*THROUGHPUT, "error-rate:index-append"))
    words = {each.metric.key: (each.word, len(each.lost_blocks)) for each in comparison.primary}
    assert words == {"throughput": ("better", 2), "error-rate": ("void", 0)}
    assert comparison.answer == "partly void"


def test_what_voids_only_the_blocks_that_count_is_shown():
    """In 8 of 10 blocks only the contender is warming, which is void; the others are doubtful."""

    def race_of(race):
        is_warming = (race.variant == "b") == (race.block not in (2, 7))
        steady = Steadiness("warming" if is_warming else "steady")
        own = raced(1e4, race.number, tasks=(index(1e4 + race.number, steady=steady), search()))
        is_doubtful = race.variant == "b" and race.block in (2, 7)
        return replace(own, verdict=Verdict("suspect", (BUSY,))) if is_doubtful else own

    comparison = compared(10, race_of)
    assert comparison.answer == "void"
    assert (
        "still became faster while it was measured (in 0 of 8 races of the baseline, 8 of 8 of the "
        "contender) (of the blocks that count for throughput:index-append)"
    ) in [each.text for each in comparison.findings if each.makes_doubtful]


@pytest.mark.parametrize(("done", "doubtful", "ends"), [(3, (2,), ""), (3, (1, 3), ""), (5, (2,), "")])
def test_single_doubtful_races_do_not_end_an_experiment(done, doubtful, ends):
    evaluation, progress = evaluated(pair(blocks=done, primary=THROUGHPUT), of_blocks(doubtful))
    assert evaluation.ends(progress) == ends


def test_an_experiment_ends_if_a_race_of_each_block_is_doubtful():
    evaluation, progress = evaluated(pair(blocks=3, primary=THROUGHPUT), of_blocks((1, 2, 3)))
    assert evaluation.ends(progress).startswith(f"the races must not be compared: {BUSY.text}")


def sweep(blocks=5):
    return Experiment(
        name="s", design="sweep", blocks=blocks, factors=factors(heap="1g 2g 4g"), primary=THROUGHPUT
    )


@pytest.mark.parametrize(("doubtful", "best"), [((1, 2), "2g"), ((3,), "4g")])
def test_doubtful_races_do_not_make_a_level_the_best(doubtful, best):
    rates = {"1g": 9_000.0, "2g": 10_000.0, "4g": 12_000.0}
    evaluation, progress = evaluated(sweep(), of_blocks(doubtful, rates, variants="4g"))
    result = evaluation.result(progress)
    cells = {cell.name: cell for cell in result.cells}
    assert [name for name, cell in cells.items() if cell.is_best] == [best]
    assert (cells["4g"].lost, cells["4g"].is_void) == (len(doubtful), best != "4g")
    assert not result.is_void


def test_a_sweep_of_doubtful_races_only_is_void_and_ends():
    race_of = of_blocks((1, 2, 3), variants=("1g", "2g", "4g"))
    evaluation, progress = evaluated(sweep(3), race_of)
    assert evaluation.result(progress).is_void
    assert evaluation.ends(progress) == f"no race may be compared: index-append: {BUSY.text}"


def test_a_sweep_without_a_level_that_counts_is_void():
    def race_of(race):
        is_doubtful = race.block % 2 or race.variant != "1g"
        return suspect(1e4, race.number) if is_doubtful else raced(1e4, race.number)

    evaluation, progress = evaluated(sweep(3), race_of)
    assert evaluation.result(progress).is_void


def test_races_in_test_mode_decide_no_sweep():
    def race_of(race):
        record = raced(1e4, race.number)
        return replace(record, options=replace(record.options, test_mode=True))

    evaluation, progress = evaluated(sweep(3), race_of)
    assert evaluation.result(progress).is_void


def test_doubtful_races_are_not_noise():
    records = [suspect(99.0, 3) if number == 3 else raced(1e4, number) for number in range(6)]
    values = {one.metric.label: one for one in noise_values(records)}
    assert values["throughput:index-append"].races == 5
    assert values["throughput:index-append"].spread < 0.01
    assert values["p50-service-time:term"].races == 6
    records[4] = suspect(99.0, 4)
    assert "throughput:index-append" not in {one.metric.label for one in noise_values(records)}
