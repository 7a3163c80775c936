"""Designs for many knobs, and the effects that they find."""

import itertools
import math
import random

import pytest

from pacenote.stats.screening import screening_design, screening_effects

NAMES = tuple("abcdefghijklmnop")


@pytest.mark.parametrize(("factors", "runs"), [(1, 2), (2, 4), (3, 8), (4, 8), (5, 16), (8, 16), (9, 32)])
def test_main_effects_are_not_mixed_up_with_interactions_of_two(factors: int, runs: int) -> None:
    design = screening_design(NAMES[:factors])
    assert len(design.runs) == len(set(design.runs)) == runs
    columns = [[1 if high else -1 for high in column] for column in zip(*design.runs, strict=True)]
    assert all(sum(column) == 0 for column in columns)
    for column, other in itertools.combinations(columns, 2):
        product = [a * b for a, b in zip(column, other, strict=True)]
        assert sum(product) == 0
        assert all(sum(a * b for a, b in zip(product, third, strict=True)) == 0 for third in columns)


def test_interactions_that_are_mixed_up_are_listed() -> None:
    # The textbook's half fraction of four factors, d = abc.
    assert screening_design("abcd").aliases == (
        (("a", "b"), ("c", "d")),
        (("a", "c"), ("b", "d")),
        (("a", "d"), ("b", "c")),
    )
    assert screening_design("abc").aliases == ()
    assert len(screening_design(NAMES).runs) == 32


@pytest.mark.parametrize("replicates", [1, 3])
def test_knobs_that_matter_are_found(replicates: int) -> None:
    design, generator = screening_design(NAMES[:8]), random.Random(6)
    true = (0.0, 0.10, 0.0, 0.0, -0.05, 0.0, 0.0, 0.0)
    values = [
        [
            math.exp(sum(effect / 2 * (1 if high else -1) for effect, high in zip(true, run, strict=True)))
            * math.exp(0.3 * replicate + generator.gauss(0, 0.01))
            for run in design.runs
        ]
        for replicate in range(replicates)
    ]
    effects = screening_effects(design, values)
    assert effects is not None
    assert [effect.log_ratio for effect in effects] == pytest.approx(true, abs=0.02)
    assert [effect.p < 0.01 for effect in effects] == [value != 0 for value in true]


def test_a_run_that_failed_once_leaves_the_others() -> None:
    design, generator = screening_design("abc"), random.Random(6)
    values: list[list[float | None]] = [
        [(1.1 if run[0] else 1.0) * math.exp(0.2 * block + generator.gauss(0, 0.005)) for run in design.runs]
        for block in range(3)
    ]
    values[0][0] = values[2][5] = None
    effects = screening_effects(design, values)
    assert effects is not None
    assert effects[0].ratio == pytest.approx(1.1, abs=0.01)
    values[1][0] = values[2][0] = None
    assert screening_effects(design, values) is None


def test_too_few_runs_have_no_effects() -> None:
    design = screening_design("ab")
    assert screening_effects(design, [[1.0, 2.0, 3.0, 4.0]]) is None
    assert screening_effects(design, []) is None
    assert screening_effects(screening_design("abc"), [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.0]]) is None
    with pytest.raises(ValueError, match="each replicate must have 4 runs"):
        screening_effects(design, [[1.0, 2.0]])


def test_equal_runs_are_not_more_precise_than_their_resolution() -> None:
    for replicates in (1, 2):
        effects = screening_effects(screening_design("abc"), [[5.0] * 8] * replicates)
        assert effects is not None
        assert all(effect.high - 1 > 0.0009 for effect in effects)


@pytest.mark.parametrize("factors", [0, 17])
def test_a_screening_has_a_number_of_factors(factors: int) -> None:
    with pytest.raises(ValueError, match="a screening needs 1 to 16 factors"):
        screening_design(["x"] * factors)
