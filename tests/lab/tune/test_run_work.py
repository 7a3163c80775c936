"""Searches over knobs that change what an operation does, such as the size of bulks."""

import pytest

from lab.tune.searches import RACE_S, Search, knob, limit, search_plan
from pacenote.model.tune import DEFAULT, TuneObjective

pytestmark = pytest.mark.process


def larger(params):
    """Bulks of the second value have twice the documents."""
    return 250 if params.get("bulk") == 2 else 500


def faster(params):
    return 1.08 if params.get("bulk") == 2 else 1.0


def searched(home, **changes):
    plan = search_plan(knobs=(knob("bulk", 2),), budget_s=60 * RACE_S, **changes)
    search = Search.of(home, plan, effect=faster, bulks=larger)
    search.run()
    return search


def test_throughput_of_other_bulks_is_compared(tmp_path):
    result = searched(tmp_path).result()
    assert (result.answer, result.settings) == ("better", {"bulk": 2})


@pytest.mark.parametrize(("p50", "answer", "words"), [(50.0, "better", ["kept"]), (30.0, "default", [])])
def test_a_limit_is_for_the_bulks_as_they_are(tmp_path, p50, answer, words):
    result = searched(tmp_path, constraints=(limit("p50:index-append", p50),)).result()
    assert (result.answer, [kept.word for kept in result.limits]) == (answer, words)
    if result.confirmation is not None:
        primary = result.confirmation.variants[1].comparison.primary
        assert [(p50.word, p50.is_of_other_work) for p50 in primary if p50.metric.q] == [("void", True)]


def test_times_of_other_bulks_are_no_objective(tmp_path):
    search = searched(tmp_path, objective=TuneObjective("p50:index-append"))
    assert search.result().answer == "default"
    assert search.state.chosen.candidate == DEFAULT
    text = search.state.dropped[1].text
    assert text.startswith("2 races did not count: p50-service-time:index-append of race tune-1-")
    assert "an operation has 2,960 docs in the race instead of 1,480 in the default" in text
