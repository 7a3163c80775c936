"""Numbers that runners return become metrics: recorded with their interval, compared in their direction."""

import math
import random
import statistics

import pytest

from pacenote.compare.metrics import race_metrics
from pacenote.model.result import ValueSummary
from pacenote.python_tasks.batch_means import BatchMeans
from python_tasks.racing import race_track, serving

RUNNER = """
    calls = 0

    async def knn(es, params):
        global calls
        calls += 1
        await es.perform_request("GET", "/knn/_search")
        numbers = {"weight": 1, "unit": "ops", "recall": 0.8 if calls % 2 else 1.0, "distance": 3}
        return numbers if calls % 4 else {"weight": 1, "unit": "ops", "distance": 3}

    def register(registry):
        registry.register_runner("knn", knn, async_runner=True)
    """


@pytest.mark.process
def test_the_numbers_of_a_runner_are_metrics_of_its_task(tmp_path):
    operation = {"operation-type": "knn", "name": "knn", "meta": {"quality-metrics": {"distance": "lower"}}}
    with serving() as server:
        raced = race_track(tmp_path, RUNNER, [{"operation": operation, "iterations": 40}], server.address)
    recall = raced.task("knn").values["recall"]
    # Every fourth operation did not have it.
    assert (recall.count, recall.min, recall.max) == (30, 0.8, 1.0)
    assert recall.mean == pytest.approx((20 * 0.8 + 10 * 1.0) / 30)
    assert recall.standard_deviation == pytest.approx(statistics.stdev([0.8] * 20 + [1.0] * 10))
    assert recall.low is not None
    assert recall.high is not None
    assert recall.low < recall.mean < recall.high
    metrics = {metric.label: (metric, datum) for metric, datum in race_metrics(raced.record).items()}
    metric, datum = metrics["recall:knn"]
    assert (metric.kind, metric.name, metric.higher_is_better) == ("custom", "mean recall", True)
    assert (datum.value, datum.bounds) == (recall.mean, (recall.low, recall.high))
    assert metrics["distance:knn"][0].higher_is_better is False


def test_results_of_earlier_versions_have_no_interval():
    summary = ValueSummary(count=3, min=1.0, mean=2.0, max=3.0)
    assert (summary.standard_deviation, summary.low, summary.high) == (None, None, None)


def _coverage(runs: int, group: int) -> float:
    """Returns the share of intervals that contain the mean, if so many values in a row are equal."""
    draw, covered = random.Random(11), 0
    for _ in range(runs):
        means, values = BatchMeans(), []
        for _ in range(2_000 // group):
            value = draw.gauss(0.9, 0.1)
            for _ in range(group):
                means.add(value)
                values.append(value)
        half = means.half_width()
        assert half is not None
        covered += abs(statistics.fmean(values) - 0.9) <= half
    return covered / runs


@pytest.mark.process
@pytest.mark.parametrize("group", [1, 20])
def test_the_interval_of_a_mean_contains_it_also_if_neighbours_resemble_each_other(group):
    assert 0.90 <= _coverage(150, group) <= 0.98


def test_few_values_have_no_interval_and_large_ones_do_not_overflow():
    means = BatchMeans()
    for _ in range(7):
        means.add(1.0)
    assert means.half_width() is None
    means.add(0.5)
    half = means.half_width()
    assert half is not None
    assert half > 0
    for sign in (1, 1, -1, 1) * 40:
        means.add(sign * 1e200)
    assert means.half_width() is None or math.isfinite(means.half_width())


def test_a_few_equal_values_have_no_interval():
    means = BatchMeans()
    widths = []
    for _ in range(200):
        means.add(0.95)
        widths.append(means.half_width())
    assert set(widths[:63]) == {None}
    assert all(width is not None and width < 1e-9 for width in widths[63:])
