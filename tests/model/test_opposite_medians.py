"""Notes about medians that move the other way than the change."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from compare.races import compared, index, race
from pacenote.compare.groups import compare_groups
from pacenote.model.comparison import Comparison
from pacenote.model.opposite_medians import opposite_median_notes


def comparison_of(baseline: list[float], contender: list[float], *, blocks: bool) -> Comparison:
    """Compares races with these rates of indexing."""
    sides = []
    for side, rates in enumerate((baseline, contender)):
        races = []
        for block, rate in enumerate(rates):
            tags = {"experiment": "e", "block": block, "variant": "ab"[side]} if blocks else {}
            order = 2 * block + (side != block % 2)
            races.append(race(f"{'ab'[side]}{block}", order, tasks=(index(rate),), user_tags=tags))
        sides.append(compared(*races))
    return compare_groups(*sides)


def notes_of(comparison: Comparison) -> list[str]:
    return [note for note in comparison.notes if note.startswith("throughput:index-append: ")]


def test_a_change_within_blocks_explains_the_opposite_change_of_the_medians() -> None:
    # All blocks are 10 % faster, apart from the one in the middle, which is 0.6 % slower.
    baseline = [1_000.0 * block for block in range(1, 10)]
    contender = [4_970.0 if rate == 5_000 else 1.1 * rate for rate in baseline]
    comparison = comparison_of(baseline, contender, blocks=True)
    (metric,) = (each for each in comparison.metrics if each.metric.label == "throughput:index-append")
    assert metric.change is not None
    assert metric.change.value > 0
    assert metric.contender_value < metric.baseline_value
    assert metric.word == "better"
    (note,) = notes_of(comparison)
    assert note.startswith("throughput:index-append: the median falls, although the change is +")
    assert "within blocks" in note


@pytest.mark.parametrize(("role", "is_said"), [("primary", True), ("secondary", False)])
def test_what_decides_is_explained_although_it_is_unclear(role: str, is_said: bool) -> None:
    # In every block but two, b is slower; the medians say that it is faster.
    baseline = [10_000.0, 15_000.0, 16_000.0, 20_000.0, 9_000.0]
    contender = [8_500.0, 13_000.0, 18_000.0, 18_500.0, 18_100.0]
    comparison = comparison_of(baseline, contender, blocks=True)
    (metric,) = (each for each in comparison.metrics if each.metric.label == "throughput:index-append")
    assert metric.change is not None
    opposite = replace(metric, word="unclear", role=role, change=replace(metric.change, value=-0.15))
    assert opposite.contender_value > 1.05 * opposite.baseline_value
    assert bool(opposite_median_notes([opposite], is_paired=True)) == is_said
    little = replace(opposite, change=replace(metric.change, value=-0.001))
    assert not opposite_median_notes([little], is_paired=True)


@pytest.mark.parametrize("blocks", [True, False])
def test_medians_that_agree_need_no_note(blocks: bool) -> None:
    baseline = [1_000.0, 1_010.0, 1_005.0, 990.0, 1_001.0]
    assert notes_of(comparison_of(baseline, [1.1 * rate for rate in baseline], blocks=blocks)) == []


def test_of_many_metrics_only_some_have_a_note_and_points_are_points() -> None:
    blocks = comparison_of([1_000.0 * block for block in range(1, 10)], [1_100.0] * 9, blocks=True)
    (metric,) = (each for each in blocks.metrics if each.metric.label == "throughput:index-append")
    assert metric.change is not None
    change = replace(metric.change, value=0.2, is_absolute=True, unit="points")
    opposite = replace(metric, word="worse", change=change, baseline=(2.0,), contender=(1.0,))
    notes = opposite_median_notes([opposite] * 5, is_paired=True)
    assert len(notes) == 4
    assert "the median falls, although the change is +0.2 points: " in notes[0]
    assert notes[-1] == "the medians of 2 more metrics move the other way, too"
