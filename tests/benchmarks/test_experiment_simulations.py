"""Whole experiments, simulated through the product's own evaluation: the promises of docs/experiments.md."""

import math
from collections.abc import Callable, Sequence
from types import ModuleType

import pytest
from comparison_simulations import Machine
from experiment_simulations import Scenario, contains, decided, pair, says_changed, sees

from pacenote.compare import estimate
from pacenote.lab.experiment import evaluate
from pacenote.stats.binomial import proves_above
from pacenote.stats.student import StudentEstimate
from pacenote.stats.weighted_holm import FamilyConfidence

pytestmark = pytest.mark.process

EXPERIMENTS = 200

FEW = 25
"""Number of experiments in which a lost correction is seen."""

TOLERANCE = 3.5 * math.sqrt(0.05 * 0.95 / EXPERIMENTS)
"""By how much a share of 5 % of the experiments may differ by chance."""


NOISY = Machine(0.3, 0.003, 0.1)
"""A machine whose races differ so much that what excludes "no change" is said to have changed."""

SEVERAL_LOOKS = (4, 6, 8, 10, 12, 14, 16, 18, 20)
MANY = {
    "metrics": Scenario(pair(blocks=4), NOISY, metrics=10),
    "contenders": Scenario(pair(9, blocks=4), NOISY),
    # Experiments end at the first look that says so.
    "looks": Scenario(pair(blocks=20, looks=SEVERAL_LOOKS, smallest_effect=0.001), NOISY),
}


def proves_alarms(scenario: Scenario) -> bool:
    """Returns whether experiments with identical variants say that these differ in more than 5 %."""
    alarms = sum(map(says_changed, scenario.run(FEW, seed=1)))
    return proves_above(alarms, FEW, 0.05)


@pytest.mark.parametrize("many", MANY)
def test_identical_variants_seldom_differ_in_any_metric_of_any_contender_at_any_look(many: str) -> None:
    assert not proves_alarms(MANY[many])


def uncorrected(
    estimates: Sequence[StudentEstimate], confidence: float, level: Callable[[float], float]
) -> tuple[FamilyConfidence, ...]:
    own = 1 - level(1 - confidence)
    return (FamilyConfidence(own, own),) * len(estimates)


@pytest.mark.parametrize(
    ("many", "module", "name", "without"),
    [
        ("metrics", estimate, "weighted_holm_confidences", uncorrected),
        ("contenders", evaluate, "error_level", lambda *_, **__: float),
        ("looks", evaluate, "error_level", lambda *_, **__: float),
    ],
)
def test_without_their_correction_identical_variants_often_differ(
    many: str, module: ModuleType, name: str, without: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the test above could not fail."""
    monkeypatch.setattr(module, name, without)
    assert proves_alarms(MANY[many])


def test_an_experiment_that_ends_when_its_interval_is_narrow_contains_the_change() -> None:
    scenario = Scenario(pair(blocks=15, precision=0.015), Machine(0.3, 0.003, 0.015), change=0.05)
    results = list(scenario.run(EXPERIMENTS, seed=8))
    assert 5 < sum(result.blocks for result in results) / EXPERIMENTS < 15
    covered = sum(all(contains(result, 0.05)) for result in results)
    assert covered / EXPERIMENTS >= 0.95 - TOLERANCE


def test_a_change_that_is_stated_to_be_seen_is_seen() -> None:
    scenario = Scenario(pair(), Machine(0.0, 0.003), change=0.0144)
    seen = sum(map(sees, scenario.run(EXPERIMENTS, seed=9)))
    assert seen / EXPERIMENTS == pytest.approx(0.8, abs=3.5 * math.sqrt(0.8 * 0.2 / EXPERIMENTS))


def test_an_experiment_whose_contender_often_fails_has_no_answer() -> None:
    results = list(Scenario(pair(), failing=0.3, change=0.05).run(EXPERIMENTS // 4, seed=10))
    for result in results:
        compared = result.variants[1].comparison
        lost = result.variants[1].failed
        is_lost = compared is not None and lost > 0.2 * (lost + result.variants[1].races)
        assert compared is None or (compared.answer == "void") == is_lost
    assert sum(result.is_void or not result.has_races for result in results) > len(results) / 2


def test_doubtful_races_cost_their_blocks_and_raise_no_false_alarm() -> None:
    results = list(Scenario(pair(), doubtful=0.05).run(EXPERIMENTS // 2, seed=11))
    assert {result.blocks for result in results} == {10}
    lost = [each.lost_blocks for result in results for each in result.variants[1].comparison.primary]
    assert sum(map(bool, lost)) > len(results) / 3
    assert sum(result.is_void for result in results) / len(results) < 0.2
    # A race that was half as fast and counted would be seen at once.
    changes = [each.change.value for result in results for each in decided(result)]
    assert max(map(abs, changes)) < 0.05
    assert sum(map(sees, results)) / len(results) <= 0.05 + 1.5 * TOLERANCE
