"""Races that are only in the metrics store are compared by the results that are there."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from pacenote.metrics_store.metrics_documents import MetricSources
from pacenote.metrics_store.store import MetricsStore
from pacenote.model.result import Throughput
from pacenote.store.race_store import RaceStore
from support.records import record, task


def race(name: str, rate: float):
    fast = task(throughput=Throughput(min=rate, mean=rate, median=rate, max=rate))
    return record(name, tasks=(fast,))


@pytest.fixture
def races(home, metrics_store):
    here, there = race("here", 100.0), race("there", 120.0)
    RaceStore(home).create(here).finish(here)
    MetricsStore(metrics_store.client()).write(there, MetricSources())
    return metrics_store


def test_a_race_here_is_compared_with_one_in_the_store(run, races):
    code, out, err = run("compare", "--baseline=here", "--contender=the", "--report-format=csv")
    assert code == 0
    assert "only in the metrics store: there; all races are compared by the results" in err
    (row,) = [line for line in out.splitlines() if line.startswith("Mean Throughput,search,")]
    assert row.split(",")[2:4] == ["100.0", "120.0"]


def test_the_comparison_says_which_tool_ran_them(run, races):
    document = json.loads(run("compare", "--baseline=here", "--contender=there", "--report-format=json")[1])
    assert "different tools" not in json.dumps(document)


def test_races_here_are_compared_as_without_a_store(run, races, home):
    other = replace(race("other", 120.0))
    RaceStore(home).create(other).finish(other)
    arguments = ("compare", "--baseline=here", "--contender=other", "--report-format=json")
    with_store = run(*arguments)
    assert with_store == run(*arguments, "--no-metrics-store")
    assert with_store[0] == 0


def test_an_ambiguous_prefix_is_not_resolved_by_the_store(run, races, home):
    RaceStore(home).create(race("three", 1.0))
    RaceStore(home).create(race("thirty", 1.0))
    code, _, err = run("compare", "--baseline=here", "--contender=th")
    assert (code, "'th' matches 2 races" in err) == (64, True)


def test_a_race_that_is_nowhere_is_an_error(run, races):
    code, _, err = run("compare", "--baseline=here", "--contender=nope")
    assert (code, "no race 'nope'" in err) == (64, True)
