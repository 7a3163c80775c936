"""Experiments over options that change what an operation does, such as the size of bulks."""

import random

import pytest

from compare.test_operation_work import RATE, TASK, indexing, kept, missed
from lab.experiment.experiments import evaluated, factors, pair
from pacenote.lab.experiment.design import all_variants
from pacenote.model.experiment import Experiment
from support.records import record


def race_of(kinds, rates=None):
    """Returns what races: a task of one of these kinds and bulk sizes for each variant."""

    def race(planned):
        kind, bulk_size = kinds[planned.variant]
        own, targets = kind(
            bulk_size,
            (rates or {}).get(planned.variant, RATE),
            random.Random(f"{planned.number}").gauss(1, 0.002),
        )
        return record(tasks=(own,), targets=targets, telemetry_errors=())

    return race


def compared(kinds, **options):
    evaluation, progress = evaluated(pair(blocks=6), race_of(kinds, **options))
    result = evaluation.result(progress)
    return result, result.variants[1].comparison


def test_bulk_sizes_without_a_target_rate_are_compared_by_throughput():
    kinds = {"a": (indexing, 1_000), "b": (indexing, 5_000)}
    result, comparison = compared(kinds, rates={"b": 1.2 * RATE})
    assert (comparison.answer, result.main_metric.label) == ("better", f"throughput:{TASK}")


def test_a_bulk_size_that_misses_the_target_rate_is_worse():
    result, comparison = compared({"a": (kept, 1_000), "b": (missed, 5_000)})
    assert (comparison.answer, result.main_metric.label) == ("worse", f"throughput:{TASK}")


def test_bulk_sizes_that_keep_the_target_rate_are_not_compared():
    result, comparison = compared({"a": (kept, 1_000), "b": (kept, 5_000)})
    assert (comparison.answer, result.main_metric) == ("void", None)
    assert any("p90-latency:index-append is of operations with other work" in note for note in result.notes)


@pytest.mark.parametrize(("kind", "factor", "best"), [(kept, 1.0, []), (indexing, 1.2, [("2",)])])
def test_levels_of_bulk_sizes_are_compared_by_throughput_alone(kind, factor, best):
    sweep = Experiment(name="s", design="sweep", blocks=5, factors=factors(bulk="1 2 3"))
    names = [variant.name for variant in all_variants(sweep)]
    kinds = {name: (kind, size) for name, size in zip(names, (1_000, 5_000, 2_000), strict=True)}
    evaluation, progress = evaluated(sweep, race_of(kinds, {names[1]: factor * RATE}))
    assert [cell.levels for cell in evaluation.result(progress).cells if cell.is_best] == best
