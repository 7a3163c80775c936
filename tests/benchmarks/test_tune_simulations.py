"""The simulated searches of benchmarks/tune_simulations.py, fewer and smaller."""

import json
import math
import os
from pathlib import Path

import pytest
from scipy import stats
from tune_simulations import RESULTS, SCENARIOS, Outcome, Scenario, false_winners, row, simulated

from lab.tune.searches import read_record
from pacenote.store.race_folder import RaceFolder

TABLE = Path(__file__).parents[2] / "docs" / "tuning.md"


@pytest.fixture
def in_memory(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    monkeypatch.setattr(RaceFolder, "read", read_record)


@pytest.fixture(scope="module")
def stored():
    return [Outcome(**one) for one in json.loads(RESULTS.read_text("utf-8"))]


@pytest.mark.process
@pytest.mark.usefixtures("in_memory")
def test_equal_candidates_seldom_have_a_confirmed_winner():
    outcome = simulated(Scenario("equal", 1.0, 0.05, (5,), 60), 60)
    # Many searches prefer one by chance, so that the confirmation decides. 5 % of 60 are 3, with a standard
    # error of less than 2.
    assert outcome.default < 60
    assert outcome.confirmed <= 100 * 6 / 60


@pytest.mark.process
@pytest.mark.usefixtures("in_memory")
def test_one_good_candidate_of_twelve_is_found_and_confirmed():
    outcome = simulated(Scenario("planted", 1.08, 0.01, (12,), 90), 20)
    assert outcome.confirmed_planted >= 80


def test_the_rows_of_the_page_are_the_stored_results_of_all_scenarios(stored):
    assert [one.scenario for one in stored] == [one.name for one in SCENARIOS]
    page = TABLE.read_text("utf-8").splitlines()
    (first,) = (at for at, line in enumerate(page) if line.startswith("| races | searches |"))
    rows = [row(scenario, one) for scenario, one in zip(SCENARIOS, stored, strict=True)]
    assert page[first + 2 : first + 3 + len(rows)] == [*rows, ""]


def test_searches_without_a_better_candidate_seldom_confirm_a_winner(stored):
    for scenario, outcome in zip(SCENARIOS, stored, strict=True):
        if scenario.has_winner:
            assert outcome.confirmed_planted >= 80, outcome.scenario
        else:
            assert outcome.confirmed <= 5 + 200 * math.sqrt(0.05 * 0.95 / outcome.searches), outcome.scenario
    confirmed, searches = false_winners(stored)
    assert f"{confirmed} of {searches:,} searches" in " ".join(TABLE.read_text("utf-8").split())
    # The upper end of the one-sided 95 % interval of their share (Clopper and Pearson).
    assert stats.beta.ppf(0.95, confirmed + 1, searches - confirmed) < 0.05
