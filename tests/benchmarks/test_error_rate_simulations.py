"""The simulations of error rates, shorter: the promises of docs/comparing.md."""

import argparse

import pytest
from error_rate_simulations import KINDS, RATE, SMALLEST, Setting

pytestmark = pytest.mark.process

GIVEN = argparse.Namespace(seed=1, experiments=400)


@pytest.mark.parametrize("failures", KINDS, ids=str)
@pytest.mark.parametrize("design", ["blocks", "unpaired"])
def test_words_about_error_rates_are_seldom_wrong(failures, design):
    setting = Setting(failures, 10, design, RATE / 10)
    equal = list(setting.compared(RATE / 10, GIVEN))
    assert sum(one.effect.low > 0 or one.effect.high < 0 for one in equal) <= 0.09 * len(equal)
    higher = list(setting.compared(RATE / 10 + SMALLEST / 100, GIVEN))
    assert sum(one.word == "worse" for one in higher) <= 0.05 * len(higher)
    assert sum(one.is_same for one in higher) <= 0.05 * len(higher)


def test_an_interval_of_rates_that_vary_does_not_show_that_they_are_the_same():
    """What the limit of the dispersion is for: without it, `same` would often be wrong."""
    higher = list(Setting(KINDS[-1], 10, "unpaired", RATE / 10).compared(RATE / 10 + SMALLEST / 100, GIVEN))
    assert sum(one.word == "same" for one in higher) > 0.1 * len(higher)
    assert sum(one.varies_too_much for one in higher) > 0.95 * len(higher)
