"""Which metrics decide: those of every task of the report that does not run only once."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from compare.races import blocks, changed, compared, index, race, search
from pacenote.compare.groups import compare_groups
from pacenote.compare.metrics import race_metrics
from pacenote.compare.trend import find_trend
from pacenote.lab.experiment.primary import chosen_primary
from pacenote.model.race_record import RaceRecord
from pacenote.model.result import OperationTotals, TaskResult, WorkTotals
from pacenote.model.trend import TrendOptions


@pytest.mark.parametrize("operation_type", ["composite", "raw-request", "knn-query", "esql", "own"])
def test_a_task_beside_others_decides_whatever_its_operation_type(operation_type):
    draw = random.Random(7)

    def with_dashboard(race: RaceRecord, factor: float) -> RaceRecord:
        own = search(20 * factor * draw.gauss(1, 0.01), task="dashboard", operation_type=operation_type)
        return replace(race, tasks=(*race.tasks, own))

    old, new = blocks(6)
    sides = [with_dashboard(race, 1.0) for race in old], [with_dashboard(race, 2.0) for race in new]
    comparison = compare_groups(*(compared(*side) for side in sides))
    assert comparison.answer == "worse"
    assert [each.metric.task for each in comparison.primary if each.word == "worse"] == ["dashboard"]


def test_a_task_that_runs_only_once_does_not_decide():
    once = OperationTotals(1, 1, 0, 0, 0, 0, 1, 1)
    merge = search(30_000.0, task="mount", operation_type="mount-searchable-snapshot", accounting=once)
    merge = replace(merge, paced=False, latency=None)
    sides = [changed(side, tasks=(index(), search(), merge)) for side in blocks(6)]
    comparison = compare_groups(*(compared(*side) for side in sides))
    assert "mount" not in {each.metric.task for each in comparison.primary}


def test_documents_that_a_transform_processed_are_not_those_that_searches_read():
    def transform(documents: int) -> TaskResult:
        once = OperationTotals(1, 1, 0, 0, 0, 0, 1, 1)
        own = {"operation_type": "wait-for-transform", "unit": "docs", "work": WorkTotals(documents, 0)}
        return index(task="transform", accounting=once, **own)

    old, new = blocks(6)
    sides = (
        changed(old, tasks=(index(), transform(1_480_000), search())),
        changed(new, tasks=(index(), transform(1_900_000), search())),
    )
    comparison = compare_groups(*(compared(*side) for side in sides))
    assert not [finding for finding in comparison.findings if finding.makes_doubtful]


def test_a_trend_and_an_experiment_look_at_it_too():
    draw = random.Random(1)

    def night(number: int) -> RaceRecord:
        p50 = (40.0 if number >= 10 else 20.0) * draw.gauss(1, 0.01)
        own = search(p50, task="dashboard", operation_type="raw-request")
        return race(f"n{number:02}", number, tasks=(index(10_000 * draw.gauss(1, 0.01)), own))

    races = [night(number) for number in range(20)]
    trend = find_trend(compared(*races), TrendOptions())
    assert trend.answer == "regression"
    assert "dashboard" in {each.metric.task for each in trend.metrics if each.is_worse}
    labels, _ = chosen_primary((), races[:1], race_metrics(races[0]))
    assert any(label.endswith(":dashboard") and not label.startswith("error-rate") for label in labels)
