"""The interval of a limit that varies from probe to probe."""

from __future__ import annotations

from pacenote.stats.varying_limit import limit_interval


def test_the_interval_lies_between_the_rates_that_pass_and_those_that_fail() -> None:
    trials = [(800.0, True), (900.0, True), (950.0, False), (950.0, True), (1050.0, True), (1100.0, False)]
    low, high = limit_interval([*trials, (1200.0, False), (400.0, True)])
    assert 600 < low < 1000 < 1050 < high < 2000


def test_more_trials_make_it_narrower() -> None:
    trials = [(900.0, True), (900.0, False), (1000.0, True), (1100.0, True), (1100.0, False), (1200.0, False)]
    few, many = limit_interval(trials), limit_interval(trials * 5)
    assert many[1] / many[0] < few[1] / few[0]
