"""The sentences of a comparison."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from pacenote.model.comparison import (
    Comparison,
    EstimatedChange,
    MetricComparison,
    MetricId,
    RaceGroup,
    RaceInGroup,
)
from pacenote.report.comparison_texts import (
    amount_text,
    answer_sentence,
    answer_text,
    certainty_text,
    change_of,
    main_metric,
    next_text,
    order_text,
    smallest_effects_text,
    times_text,
    trust_text,
)
from pacenote.report.render.comparison import render_comparison

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def metric(word="same", change=0.0, *, half=0.01, detectable=0.02, **changes) -> MetricComparison:
    """A primary metric of the task term with this word, and a change with this half of its interval."""
    own = {
        "metric": MetricId(
            "term", "99th percentile service time", "ms", "p99-service-time", "percentile", 99.0
        ),
        "role": "primary",
        "baseline": (10.0, 10.0),
        "contender": (10.0 * (1 + change), 10.0 * (1 + change)),
        "baseline_value": 10.0,
        "contender_value": 10.0 * (1 + change),
        "word": word,
        "smallest_effect": 0.1,
        "change": EstimatedChange(change, change - half, change + half, 0.95, 0.5, detectable),
    }
    return MetricComparison(**own | changes)


def without_change(word, change=0.0, **changes) -> MetricComparison:
    """A metric without an interval, whose medians differ by this."""
    return replace(metric(word, change), change=None, **changes)


def throughput(word="same", change=0.0, **changes) -> MetricComparison:
    own = MetricId("index", "Mean Throughput", "docs/s", "throughput", "throughput", 0.0, True)
    return metric(word, change, metric=own, smallest_effect=0.03, **changes)


def errors(word="worse", change=0.8) -> MetricComparison:
    """An error rate that was 0, with this change in points."""
    return replace(
        metric(word),
        metric=MetricId("term", "error rate", "%", "error-rate", "error rate"),
        baseline=(0.0, 0.0),
        contender=(change, change),
        baseline_value=0.0,
        contender_value=change,
        change=EstimatedChange(
            change, change - 0.1, change + 0.1, 0.95, 0.5, 0.2, is_absolute=True, unit="points"
        ),
    )


def group(times=(0, 2), **changes) -> RaceGroup:
    races = tuple(
        RaceInGroup(f"r{at}", None if at is None else START + timedelta(hours=at), "valid") for at in times
    )
    return RaceGroup(
        **{"races": races, "track": "t", "challenge": "c", "engine": "", "car": "", "tags": {}} | changes
    )


def comparison(*metrics, answer="same", design="paired", blocks=10, **changes) -> Comparison:
    own = {
        "baseline": group(range(0, 2 * blocks, 2)),
        "contender": group(range(1, 2 * blocks, 2)),
        "design": design,
        "run_order": "mixed",
        "answer": answer,
        "metrics": metrics,
        "findings": (),
        "differences": (),
    }
    return Comparison(**own | changes)


def test_the_headline_names_the_metric_with_the_word_and_the_largest_change():
    compared = comparison(throughput("worse", -0.06), metric("worse", 0.15), answer="worse")
    # A decrease of throughput by 6 % is twice what matters, an increase of p99 by 15 % is 1.5 times as much.
    assert answer_sentence(compared) == "worse: throughput of index -6.0 % (95 % interval -7.0 … -5.0 %)"
    assert amount_text(compared) == "throughput of index: -6.0 % (within blocks; medians: 10 and 9.4 docs/s)"
    assert certainty_text(compared) == (
        "95 % interval -7.0 … -5.0 % from 10 blocks; an effect of 2.0 % would have been seen"
    )


def test_an_error_rate_that_became_worse_is_the_headline():
    outcome = comparison(throughput("same", 0.01), errors(), answer="worse")
    assert (
        answer_sentence(outcome) == "worse: error rate of term +0.8 points (95 % interval +0.7 … +0.9 points)"
    )


@pytest.mark.parametrize(
    ("high", "text"),
    [(2.2, "+180 … +220 %"), (None, "+180 … ∞"), (11.0, "+180 … ∞"), (1.805, "+180 … +180 %")],
)
def test_intervals_have_no_exponent(high, text):
    own = metric("better", 2.0)
    wide = replace(own, change=replace(own.change, low=1.8, high=high))
    assert change_of(wide) == f"+200 % (95 % interval {text})"


def test_the_noise_of_races_has_no_exponent():
    alone = without_change("no verdict", 0.5, usual_change=2.2, reason="one race each")
    compared = comparison(alone, answer="no verdict", design="one race each", blocks=1)
    assert certainty_text(compared) == (
        "no interval from 1 + 1 race; two races of the same configuration differ by up to 220 % here"
    )
    assert trust_text(compared) == "no: two races of the same configuration differ as much"


def test_one_race_each_has_no_verdict_and_the_next_step():
    single = comparison(
        without_change("no verdict", 0.5), answer="no verdict", design="one race each", blocks=1
    )
    assert (answer_text(single), main_metric(single)) == ("one race each: no verdict", single.metrics[0])
    assert (
        next_text(single) == "repeat both sides alternately: 5 races of each for a first look, 10 for a claim"
    )


@pytest.mark.parametrize(
    ("metrics", "answer", "design", "blocks", "text"),
    [
        ([metric("better", 0.2)], "better", "paired", 10, ""),
        ([metric("better", 0.2)], "better", "paired", 7, "before you claim it, run 10 blocks"),
        (
            [metric("better", 0.2)],
            "better",
            "paired",
            3,
            "run more races: 5 blocks are enough for a first look",
        ),
        (
            [metric("better", 0.2)],
            "better",
            "unpaired",
            10,
            "repeat the races in blocks, which exclude a drift",
        ),
        # To see half as much, four times as many blocks are needed.
        (
            [metric("unclear", detectable=0.2)],
            "unclear",
            "paired",
            10,
            "repeat it with about 40 blocks, which would show",
        ),
        (
            [metric("unclear", detectable=9.0)],
            "unclear",
            "paired",
            10,
            "run more races, or reduce what varies",
        ),
        ([without_change("void")], "void", "paired", 10, "resolve the reasons below"),
    ],
)
def test_the_next_step_follows_from_the_design_the_answer_and_the_number_of_races(
    metrics, answer, design, blocks, text
):
    step = next_text(comparison(*metrics, answer=answer, design=design, blocks=blocks))
    assert step.startswith(text)
    assert bool(step) == bool(text)


def test_the_order_and_the_times_of_races_are_shown_if_they_are_known():
    compared = comparison(metric(), blocks=2)
    assert order_text(compared) == "B C B C"
    assert times_text(compared.baseline) == "began 2026-03-01 12:00 to 2026-03-01 14:00 UTC"
    assert times_text(group([0])) == "began 2026-03-01 12:00 UTC"
    unknown = replace(compared, contender=group([None, None]))
    assert (order_text(unknown), times_text(unknown.contender)) == ("", "")
    long = comparison(metric(), blocks=40)
    assert order_text(long).endswith("B C …")


def test_markdown_has_the_times_of_races_and_no_html():
    named = metric("better", 0.2, metric=MetricId("<img src=x>|", "p", "ms", "p99", "percentile", 99.0))
    text = render_comparison(comparison(named, answer="better", blocks=2))
    assert text.startswith("# better: p99  of \\<img src=x>\\|")
    assert "<img" not in text.replace("\\<img", "")
    assert "- Baseline: 2 races (r0, r2), t / c, began 2026-03-01 12:00 to 2026-03-01 14:00 UTC" in text
    assert "- Order: B C B C" in text
    unknown = comparison(metric(), contender=group([None]), blocks=1)
    assert "Order" not in render_comparison(unknown)


def test_the_smallest_effects_are_grouped():
    assert smallest_effects_text([throughput(), metric(), errors()]) == (
        "changes that matter: throughput ≥ +3 % or ≤ -2.91 %, p99 ≥ +10 % or ≤ -9.09 %, error rates ≥ 0.1 "
        "points; intervals allow for 3 metrics that decide together"
    )


def test_lost_blocks_do_not_count():
    lost = throughput("probably better", 0.04, lost_blocks=("e/1", "e/2"))
    compared = comparison(lost, answer="probably better")
    assert "from 8 blocks" in certainty_text(compared)
    better = throughput("better", 0.04, lost_blocks=("e/1", "e/2"))
    assert next_text(comparison(better, answer="better")) == "before you claim it, run 10 blocks"
    assert next_text(comparison(throughput("better", 0.04), answer="better")) == ""


def test_only_metrics_with_the_word_of_the_answer_are_counted():
    compared = comparison(
        throughput("better", 0.2), metric("probably better", -0.1), metric("unclear"), answer="better"
    )
    assert answer_text(compared) == (
        "in 1 of 3 metrics: the contender is better than the baseline "
        "(1 better, 1 probably better, 1 unclear)"
    )


@pytest.mark.parametrize(
    ("half", "problem", "reason"),
    [
        (0.12, "", "perhaps by less than what matters"),
        (0.05, "b ran after a, so that a drift is not excluded", "a drift is not excluded"),
        (0.05, "", "its task was in a steady state on one side only"),
    ],
)
def test_a_probable_answer_says_why_it_is_only_probable(half, problem, reason):
    """The interval of +20 % is beyond the 10 % that matter if it is ±5 %, and not if it is ±12 %."""
    for word, change in (("probably worse", 0.2), ("probably better", -0.2)):
        own = replace(metric(word, change, half=half), order_problem=problem)
        compared = comparison(own, answer=word)
        assert answer_text(compared).endswith(f", but {reason}")
