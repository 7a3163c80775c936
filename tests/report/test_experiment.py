"""The result of an experiment in words and tables, for each design."""

import pytest
from msgspec import structs
from msgspec.structs import replace

from compare.races import blocks, compared
from pacenote.cli.lab.experiment_output import report_markdown
from pacenote.compare.groups import compare_groups
from pacenote.model.comparison import ComparisonOptions, EstimatedChange, MetricId
from pacenote.model.experiment_result import (
    CellValue,
    ExperimentResult,
    FactorEffect,
    NoiseValue,
    VariantResult,
)
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.report.experiment import build_experiment_report

THROUGHPUT = MetricId("index-append", "Mean Throughput", "docs/s", "throughput", "throughput", 0.0, True)


def result(**changes):
    given = {
        "experiment_id": "heap-1",
        "question": "Is it faster?",
        "design": "pair",
        "state": "complete",
        "baseline": "1g",
        "races_done": 10,
        "races_planned": 10,
        "blocks": 5,
        "seconds": 3725.0,
        "main_metric": THROUGHPUT,
    }
    return ExperimentResult(**given | changes)


def comparison(factor):
    sides = [compared(*side) for side in blocks(6, factor, noise=0.001)]
    return compare_groups(*sides, ComparisonOptions(primary=("throughput:index-append",)))


@pytest.mark.parametrize(
    ("factor", "answer"),
    [
        (1.1, "Yes: 2g is better than 1g."),
        (0.9, "No: 2g is worse than 1g."),
        (1.0, "No: 2g and 1g do not differ by what matters."),
    ],
)
def test_a_pair_has_one_answer_with_what_it_rests_on(factor, answer):
    variants = (VariantResult("1g", 6), VariantResult("2g", 6, comparison(factor)))
    report = build_experiment_report(result(variants=variants, order=(("1g", "2g"), ("2g", "1g"))))
    assert report.title == "heap-1: Is it faster?"
    assert report.answers[0] == answer
    assert "interval" in report.answers[1]
    assert report.answers[1].endswith("from 6 blocks")
    assert report.answers[2].startswith("  can it be trusted? ")
    assert "order: 1g 2g | 2g 1g" in report.notes
    assert "10 of 10 races in 62 min 5 s" in report.notes
    (table,) = report.tables
    assert table.headers[2:4] == ("1g", "2g")


def test_a_table_whose_medians_move_against_its_change_says_why():
    example = comparison(1.1)
    (metric,) = example.primary
    opposite = replace(metric, baseline_value=11_000.0, contender_value=10_000.0)
    metrics = tuple(opposite if each is metric else each for each in example.metrics)
    variants = [VariantResult("1g", 6), VariantResult("2g", 6, replace(example, metrics=metrics))]
    text = "throughput:index-append: the median falls, although the change is +"
    notes = build_experiment_report(result(variants=tuple(variants))).notes
    assert any(note.startswith(text) for note in notes)
    variants.append(VariantResult("4g", 6, example))
    notes = build_experiment_report(result(variants=tuple(variants))).notes
    assert [note.startswith(f"2g: {text}") for note in notes if "the median" in note] == [True]


def test_the_answer_of_an_unfinished_sweep_or_screening_is_one_so_far():
    cell = CellValue("1g", ("1g",), 2, 5_000.0, is_best=True, in_best_region=True)
    sweep = result(design="sweep", state="unfinished", cells=(cell,), factors=(("heap", ("1g",)),))
    assert build_experiment_report(sweep).answers[0].startswith("Best so far: 1g, throughput of")
    change = EstimatedChange(0.3, 0.2, 0.4, 0.95, 0.0001, 0.02)
    effects = (FactorEffect("heap", "1g", "2g", "better", change),)
    shown = build_experiment_report(result(design="screening", state="running", effects=effects)).answers[0]
    assert shown == "Factors that matter for throughput of index-append so far: heap=2g (better, +30.0 %)."
    effects = (replace(effects[0], word="unclear"),)
    shown = build_experiment_report(result(design="screening", state="unfinished", effects=effects))
    assert shown.answers[0] == "No factor has an effect that was shown so far."


def test_an_unfinished_experiment_says_how_to_go_on():
    report = build_experiment_report(
        result(state="unfinished", paused="stopped by the user", races_done=0, order=())
    )
    assert report.answers == ("No answer yet: no race has ended.",)
    assert report.next == (
        "not final, because races are left (stopped by the user): pacenote experiment resume heap-1",
    )


def test_commands_can_be_copied_whatever_the_folder_of_the_experiment_is_named():
    shown = result(state="unfinished", experiment_id="a; rm -rf $HOME", races_done=0, order=())
    assert build_experiment_report(shown).next[0].endswith(r"pacenote experiment resume a\;\ rm\ -rf\ \$HOME")


def test_an_experiment_without_budget_says_that_it_needs_more():
    report = build_experiment_report(result(state="unfinished", paused="the budget of 20 s does not suffice"))
    assert report.next[0].endswith("suffice): pacenote experiment resume heap-1 --budget=TIME")


def test_a_running_experiment_says_that_it_runs_and_not_what_to_do_after_it():
    void = replace(comparison(1.1), answer="void")
    variants = (VariantResult("1g", 3), VariantResult("2g", 3, void))
    assert build_experiment_report(result(state="running", variants=variants)).next == (
        "not final, because it is running; again: pacenote experiment report heap-1",
    )


def test_a_long_reason_is_shown_to_its_end():
    failed = VariantResult(
        "2g", 0, None, 60 * "reason " + "(look here)", 2, is_left_out=True, failed_race="heap-1-003"
    )
    report = build_experiment_report(result(variants=(VariantResult("1g", 5), failed)))
    assert report.limits[0].endswith("(look here); it was not raced from then on")
    assert report.next[0].startswith("find out why races fail (pacenote report heap-1-003); ")


def test_markdown_says_what_is_next():
    report = build_experiment_report(result(state="unfinished"))
    assert report_markdown(report).endswith(
        "\n## Next\n\n- not final, because races are left: pacenote experiment resume heap-1\n"
    )


def test_a_variant_that_failed_is_named_with_its_reason():
    failed = VariantResult("2g", 3, None, "no such car", 2, ("heap-1-004",), is_left_out=True)
    report = build_experiment_report(result(variants=(VariantResult("1g", 5), failed)))
    assert report.answers == ("No answer for 2g: its races failed.",)
    assert "2g failed in 2 of 5 races: no such car; it was not raced from then on" in report.limits
    assert "1 void race left out with the others of the block: heap-1-004" in report.limits
    assert report.next[0] == "find out why races fail; after a change of the file, run it as a new experiment"
    assert "no such car" not in f"{report.answers}{report.notes}{report.next}"


def test_what_can_be_tried_again_is_named_with_its_command():
    experiment_result = result(variants=(VariantResult("1g", 5),), retryable=("2g", "4g"))
    assert build_experiment_report(experiment_result).next[0] == (
        "to try 2g, 4g again: pacenote experiment resume heap-1"
    )


def test_the_number_of_reasons_is_that_of_the_listed_ones():
    care = Finding("the page cache was full", doubtful_from=EVERYTHING)
    voiding = Finding("other data", doubtful_from=EVERYTHING)
    first = replace(comparison(1.1), findings=(care,))
    second = replace(comparison(1.1), findings=(voiding,), answer="void")
    variants = (VariantResult("1g", 6), VariantResult("2g", 6, first), VariantResult("4g", 6, second))
    changes = ("kernel 1 → 2", "another experiment runs")
    report = build_experiment_report(result(variants=variants, machine_changes=changes, notes=("a note",)))
    # Those of the experiment, and its own one.
    assert report.answers[2].startswith("  can it be trusted? with care: 4 reasons below")
    assert report.answers[4] == "  can it be trusted? no: 1 reason below makes it void"
    assert report.limits == (
        *(f"the machine changed while the experiment ran: {text}" for text in changes),
        "a note",
        "2g: the page cache was full",
        "4g: void: other data",
    )
    # What is void cannot become an answer by more races.
    assert "remove what limits the answer, and run a new experiment" in report.next


def test_nearly_equal_reasons_of_several_contenders_are_one_line():
    def late(share: int, where: str, *tasks: str, doubtful_from: float = EVERYTHING) -> Finding:
        text = f"the driver was late for up to {share} ms{where}"
        return Finding(text, "driver", "use a faster machine", tasks, doubtful_from)

    def limits(*findings: Finding) -> tuple[str, ...]:
        compared = [replace(comparison(1.1), findings=(each,)) for each in findings]
        names = ("2g", "4g", "8g")
        contenders = [VariantResult(name, 6, each) for name, each in zip(names, compared, strict=False)]
        return build_experiment_report(result(variants=(VariantResult("1g", 6), *contenders))).limits

    assert limits(late(5, " (in 2 of 12 races)"), late(9, " (in 4 of 12 races)")) == (
        "the driver was late for 5 ms to 9 ms (in 2 to 4 of 12 races): use a faster machine",
    )
    # Some of them name their races.
    some = late(5, " (in 1 of 12 races: a-1-003)"), late(5, " (in 1 of 12 races: a-1-004)"), late(7, "")
    assert limits(*some) == (
        "the driver was late for 5 ms to 7 ms (in 1 of 12 races: a-1-003; 1 of 12 races: a-1-004): "
        "use a faster machine",
    )
    # A sentence that joined other tasks would be wrong for some of them.
    assert limits(late(5, "", "a", "b"), late(6, "", "b", "a")) == (
        "a, b: the driver was late for 5 ms to 6 ms: use a faster machine",
    )
    assert limits(late(5, "", "a"), late(6, "", "b"), late(7, "", "a")) == (
        "2g, 8g: a: the driver was late for 5 ms to 7 ms: use a faster machine",
        "4g: b: the driver was late for up to 6 ms: use a faster machine",
    )
    assert len(limits(late(5, "", "a"), late(6, "", "a", "b"))) == 2
    assert len(limits(late(5, "", "a", doubtful_from=99.0), late(6, "", "b", doubtful_from=99.0))) == 2
    other = structs.replace(late(5, ""), advice="raise the limit")
    assert len(limits(late(5, ""), other)) == 2
    # A contender without it is not named.
    assert limits(late(5, ""), late(6, ""), other)[0] == (
        "2g, 4g: the driver was late for 5 ms to 6 ms: use a faster machine"
    )


def test_a_ladder_shows_its_steps_and_what_they_add_up_to():
    steps = (
        VariantResult("base", 15, adopted=True, cumulative=1.0),
        VariantResult("heap", 6, comparison(1.2), adopted=True, cumulative=1.2),
        VariantResult("codec", 6, comparison(0.9), adopted=False, cumulative=1.08),
        VariantResult("refresh", 0),
    )
    report = build_experiment_report(result(design="ladder", variants=steps, baseline="best"))
    assert report.answers == (
        "Best so far: base + heap, +20.0 % against base.",
        "  without an effect that was shown, so not kept: codec",
        "  still to race: refresh",
    )
    (table,) = report.tables
    assert [row[4:6] for row in table.rows] == [
        ("kept", "1.000"),
        ("kept", "1.200"),
        ("not kept", "1.080"),
        ("", ""),
    ]
    assert len(table.rows[1][6]) > len(table.rows[2][6]) > len(table.rows[0][6]) > 0


def test_the_gain_of_a_ladder_is_that_of_races_against_its_start():
    steps = (
        VariantResult("base", 15, adopted=True, cumulative=1.0),
        VariantResult("heap", 6, comparison(1.3), adopted=True, cumulative=1.3),
    )
    report = build_experiment_report(
        result(design="ladder", variants=steps, baseline="best", confirmation=comparison(1.2))
    )
    assert report.answers[0] == "Best: base + heap."
    assert report.answers[1].startswith("  against base: better, +20")
    assert report.answers[1].endswith("from 6 blocks of their own")
    assert not any("cumulative" in line for line in report.next)


def cell(heap, clients, value, **changes):
    return replace(CellValue(f"{heap}+{clients}", (heap, clients), 5, value), **changes)


def test_a_matrix_marks_the_best_cell_and_those_that_may_be_as_good():
    cells = (
        cell("1g", "c4", 9000.0),
        cell("1g", "c8", None, races=0, lost=2),
        cell("2g", "c4", 9900.0, in_best_region=True),
        cell("2g", "c8", 10_000.0, is_best=True, in_best_region=True),
    )
    factors = (("heap", ("1g", "2g")), ("clients", ("c4", "c8")))
    report = build_experiment_report(result(design="matrix", cells=cells, factors=factors))
    assert report.answers == (
        "Best: 2g+c8, throughput of index-append 10,000 docs/s, from 5 races.",
        "  not shown to be worse: 2g+c4",
        "  shown to be worse: 1g+c4",
    )
    (table,) = report.tables
    assert table.headers == ("heap \\ clients", "c4", "c8")
    assert table.rows == (("1g", "9,000", "lost"), ("2g", "9,900 ~", "10,000 *"))


def test_a_sweep_shows_its_levels_as_bars():
    cells = (cell("1g", "", 5000.0), cell("2g", "", 10_000.0, is_best=True, in_best_region=True))
    cells = tuple(replace(one, name=one.levels[0], levels=one.levels[:1]) for one in cells)
    variants = (VariantResult("1g", 5), VariantResult("2g", 5, comparison(2.0)))
    given = {"cells": cells, "factors": (("heap", ("1g", "2g")),), "variants": variants}
    report = build_experiment_report(result(design="sweep", **given))
    assert report.answers[1].startswith("  against 1g: better, +100 % (")
    assert report.answers[2] == "  shown to be worse: 1g"
    (table,) = report.tables
    assert table.headers[2] == "Against 1g"
    assert table.rows[1][4] == "better"
    assert len(table.rows[1][5]) == 2 * len(table.rows[0][5])


def test_a_screening_names_the_factors_that_matter():
    change = EstimatedChange(0.3, 0.28, 0.32, 0.95, 0.001, 0.02)
    effects = (
        FactorEffect("heap", "1g", "2g", "better", change),
        FactorEffect("codec", "a", "b", "unclear", replace(change, value=0.0, low=-0.1, high=0.1)),
    )
    report = build_experiment_report(result(design="screening", effects=effects))
    assert report.answers[0] == (
        "Factors that matter for throughput of index-append: heap=2g (better, +30.0 %)."
    )
    assert report.tables[0].rows[0] == ("heap", "1g", "2g", "+30.0 %", "+28.0 … +32.0 %", "better")
    none = build_experiment_report(result(design="screening", effects=effects[1:]))
    assert none.answers == ("No factor has an effect that was shown.",)


def test_a_screening_without_effects_says_so_and_why():
    effects = (FactorEffect("heap", "1g", "2g", "no verdict", None),)
    report = build_experiment_report(
        result(design="screening", effects=effects, notes=("the effects are not known: x",))
    )
    assert report.answers == ("No answer: the effects of the factors are not known.",)
    assert "the effects are not known: x" in report.limits


def test_a_screening_names_the_interactions_that_it_cannot_tell_apart():
    report = build_experiment_report(result(design="screening", aliases=((("a", "b"), ("c", "d")),)))
    assert "interactions that cannot be told apart: a × b, c × d" in report.notes


@pytest.mark.parametrize(
    ("changes", "shown", "limit"),
    [
        (
            {"races": 2, "lost": 3, "is_void": True},
            "9,000 void",
            "3 of 5 races failed or must not be compared",
        ),
        ({"races": 8, "lost": 2, "is_left_out": True}, "9,000 left out", "it was not raced to the end"),
    ],
    ids=["void", "left out"],
)
def test_a_configuration_that_does_not_count_is_named_and_not_said_to_be_worse(changes, shown, limit):
    cells = (
        replace(cell("1g", "", 5000.0), name="1g", is_best=True, in_best_region=True),
        replace(cell("2g", "", 9000.0), name="2g", **changes),
    )
    report = build_experiment_report(result(design="sweep", cells=cells, factors=(("heap", ("1g", "2g")),)))
    assert report.answers == ("Best: 1g, throughput of index-append 5,000 docs/s, from 5 races.",)
    assert report.tables[0].rows[1][1] == shown
    assert f"2g cannot be the best: {limit}" in report.limits


def test_a_void_sweep_says_what_is_next():
    cells = (replace(cell("1g", "", 5000.0), is_void=True),)
    given = {"cells": cells, "factors": (("heap", ("1g",)),), "variants": (VariantResult("1g", 5),)}
    report = build_experiment_report(result(design="sweep", **given))
    assert "remove what limits the answer, and run a new experiment" in report.next


def test_tables_show_one_metric_although_another_one_changed_more():
    example = comparison(1.02)
    slower = EstimatedChange(0.4, 0.38, 0.42, 0.95, 0.001, 0.02)
    metrics = tuple(
        replace(each, role="primary", word="worse", change=slower) if each.metric.q == 99 else each
        for each in example.metrics
    )
    variants = (
        VariantResult("1g", 6),
        VariantResult("2g", 6, replace(example, answer="mixed", metrics=metrics)),
    )
    cells = tuple(replace(cell(name, "", 1.0), name=name) for name in ("1g", "2g"))
    given = {"cells": cells, "factors": (("heap", ("1g", "2g")),), "variants": variants}
    (table,) = build_experiment_report(result(design="sweep", **given)).tables
    assert table.rows[1][2].startswith("+2.0")
    (ladder,) = build_experiment_report(result(design="ladder", variants=variants)).tables
    assert ladder.rows[1][1].startswith("+2.0")


def test_steps_of_a_ladder_that_could_not_be_compared_are_told_from_those_without_an_effect():
    steps = (
        VariantResult("base", 15, adopted=True, cumulative=1.0),
        VariantResult("broken", 0, failure="no such car", failed=2, adopted=False),
        VariantResult("void", 6, replace(comparison(1.2), answer="void"), adopted=False),
        VariantResult("codec", 6, comparison(1.0), adopted=False),
    )
    report = build_experiment_report(result(design="ladder", variants=steps, baseline="best"))
    assert report.answers == (
        "Best: base.",
        "  not decided, because races failed: broken",
        "  not decided, because the races must not be compared: void",
        "  without an effect that was shown, so not kept: codec",
    )


def answered(answer, blocks=10, **changes):
    """The next lines of a pair whose comparison has this answer."""
    example = replace(comparison(1.0), answer=answer)
    group = replace(example.baseline, races=example.baseline.races[:1] * blocks)
    variants = (VariantResult("1g", 5), VariantResult("2g", 5, replace(example, baseline=group)))
    return build_experiment_report(result(variants=variants, **changes)).next[:-1]


def test_what_is_next_does_not_contradict_the_plan():
    early = {"state": "ended early", "reason": "the answer is clear after 5 blocks"}
    assert answered("better", 5, **early) == ()
    assert answered("better", 5) == ("before you claim it, run a new experiment with blocks = 10",)
    assert answered("better", 10) == ()
    assert not any("run more races" in line for line in answered("unclear"))


def test_noise_says_what_will_be_seen():
    seen = ((5, 0.041), (10, 0.021))
    value = NoiseValue(THROUGHPUT, 10, 10_000.0, 0.014, seen, 0.02, (0.014, 0.036))
    report = build_experiment_report(result(design="noise", noise=(value,)))
    assert report.answers == (
        "throughput of index-append varies by 1.4 % from race to race (10 races).",
        "  the noise of a block is 2.0 % (1.4 … 3.6 %)",
        "  with 10 blocks of two variants, a change of 2.1 % is seen here with a probability of 80 %; "
        "with 5, one of 4.1 %",
    )
    assert build_experiment_report(result(design="noise")).answers == (
        "No answer: a spread needs 3 races that count, and four fifths of all must.",
    )


def test_races_that_ran_at_the_same_time_are_one_change_of_the_machine():
    changes = ("another experiment runs at the same time (process 5)", "kernel 1 → 2")
    first = "another experiment ran at the same time (process 5)"
    for more, told in (((), first), (("race a runs at the same time",), "2 other races or experiments ran")):
        limits = build_experiment_report(result(machine_changes=changes + more)).limits
        assert limits[0] == "the machine changed while the experiment ran: kernel 1 → 2"
        assert limits[1].startswith(f"the machine changed while the experiment ran: {told}")
        assert len(limits) == 2


def test_an_answer_that_more_blocks_may_change_asks_for_them():
    unclear = replace(comparison(1.0), answer="unclear")
    variants = (VariantResult("1g", 6), VariantResult("2g", 6, unclear))
    (told, *_) = build_experiment_report(result(variants=variants)).next
    assert "run a new experiment with blocks = 10" in told


def test_few_races_of_a_noise_limit_it():
    value = NoiseValue(THROUGHPUT, 3, 10_000.0, 0.014, ((5, 0.41), (10, 0.21)), 0.02, (0.014, 0.36))
    report = build_experiment_report(result(design="noise", noise=(value,)))
    assert report.answers[-1] == "  can it be trusted? with care: 1 reason below"
    assert report.limits[0].startswith("only 3 races: 10 are needed")
    assert report.next[0] == "run a new experiment with blocks = 10, before others are planned from it"


def test_a_document_has_the_comparison_of_each_variant():
    variants = (VariantResult("1g", 6), VariantResult("2g", 6, comparison(1.1)))
    document = result(variants=variants).to_document()
    assert (document["format"], document["main_metric"]["key"]) == (1, "throughput")
    assert document["variants"][0]["comparison"] is None
    assert document["variants"][1]["comparison"]["answer"] == "better"
