"""Times of operations that do other work say nothing about which side is better."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from compare.races import compared, index, race
from compare.test_target_validity import Raced, of
from pacenote.compare.trend import find_trend
from pacenote.model.comparison import Comparison
from pacenote.model.finding import Finding
from pacenote.model.result import OperationTotals, Throughput, WorkTotals
from pacenote.model.target_rate import TargetRate, operation_work
from pacenote.model.trend import TrendOptions
from support.records import task, times

RATE = 5_000.0
WINDOW_S = 600.0
TASK = "index-append"


def indexing(bulk_size: int, rate: float, noise: float, **changes: object) -> Raced:
    """A task without a target rate, of which each document takes as long in bulks of any size."""
    bulks = round(rate * WINDOW_S / bulk_size)
    p50 = bulk_size / 50 * noise
    durations = times(count=bulks, p50=p50, p99=4 * p50)
    own = index(
        throughput=Throughput(*[bulk_size * bulks / WINDOW_S * noise] * 4),
        window_s=WINDOW_S / noise,
        window_operations=bulks,
        window_succeeded=bulks,
        service_time=durations,
        accounting=OperationTotals(bulks, bulks, 0, 0, 0, 0, bulks, bulks),
        work=WorkTotals(bulk_size * bulks, 0),
    )
    return replace(own, **changes), {}  # type: ignore[arg-type]


def kept(bulk_size: int, rate: float, noise: float) -> Raced:
    """A task that keeps a target rate in documents."""
    own, _ = indexing(bulk_size, rate, noise)
    return replace(own, paced=True, latency=own.service_time), {TASK: TargetRate(rate, "docs")}


def missed(bulk_size: int, rate: float, noise: float) -> Raced:
    """A task that misses this target rate in documents by a tenth."""
    own, _ = indexing(bulk_size, 0.9 * rate, noise)
    counts = replace(own.accounting, unsent=round(own.accounting.operations / 9))
    return replace(own, paced=True, latency=own.service_time, accounting=counts), {
        TASK: TargetRate(rate, "docs")
    }


Kind = Callable[[int, float, float], Raced]


def side(kind: Kind, *bulk_sizes: int, rate: float = RATE) -> list[Raced]:
    """Returns ten races, which have these sizes in turn."""
    draw = random.Random(rate + bulk_sizes[0])
    return [kind(bulk_sizes[block % len(bulk_sizes)], rate, draw.gauss(1, 0.002)) for block in range(10)]


def words(comparison: Comparison, kind: str) -> set[str]:
    return {each.word for each in comparison.metrics if each.metric.task == TASK and each.metric.kind == kind}


def work_findings(comparison: Comparison) -> list[Finding]:
    return [each for each in comparison.findings if "an operation has" in each.text]


@pytest.mark.parametrize("sizes", [(1_000, 5_000), (5_000, 1_000)])
def test_latency_of_longer_bulks_at_the_same_documents_per_second_decides_nothing(sizes):
    old, new = sizes
    comparison = of(side(kept, old), side(kept, new))
    assert words(comparison, "percentile") == {"void"}
    assert comparison.answer == "void"
    (finding,) = work_findings(comparison)
    assert (
        f"an operation has {new:,} docs in the contender instead of {old:,} in the baseline" in finding.text
    )
    assert "its throughput is that of its schedule: neither says which side is better" in finding.text
    assert (finding.cause, finding.tasks) == ("user", (TASK,))
    assert finding.advice == "race with bulks of the same size, or without a target rate"
    assert of(side(kept, old), side(kept, new), primary=("p99:index-append",)).answer == "void"


@pytest.mark.parametrize(("factor", "word"), [(1.2, "better"), (1 / 1.2, "worse"), (1.0, "same")])
def test_throughput_decides_between_bulk_sizes(factor, word):
    comparison = of(side(indexing, 1_000), side(indexing, 5_000, rate=RATE * factor))
    assert (comparison.answer, words(comparison, "throughput")) == (word, {word})
    assert words(comparison, "percentile") == {"void"}
    (finding,) = work_findings(comparison)
    assert finding.advice == "compare throughput, or race with bulks of the same size"
    # It limits the answer, but what decides is not void.
    assert finding.doubtful_from is None
    assert of(side(indexing, 1_000), side(indexing, 5_000), primary=("p90",)).answer == "void"


def test_throughput_of_a_side_that_misses_the_target_rate_decides():
    comparison = of(side(kept, 1_000), side(missed, 5_000))
    assert (comparison.answer, words(comparison, "percentile")) == ("worse", {"void"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Another number of clients changes the last bulks a little.
        ((5_000,), (4_800,)),
        # What the two races of a block do is the same.
        ((1_000, 5_000), (1_000, 5_000)),
    ],
)
def test_times_of_operations_of_the_same_work_decide(old, new):
    comparison = of(side(kept, *old), side(kept, *new))
    assert work_findings(comparison) == []
    assert "void" not in words(comparison, "percentile")


def test_one_of_many_blocks_with_other_bulks_is_enough():
    new = side(kept, 1_000)
    new[3] = kept(5_000, RATE, 1.0)
    assert of(side(kept, 1_000), new).answer == "void"


def test_a_trend_begins_where_operations_do_other_work():
    draw = random.Random(1)

    def night(number: int) -> object:
        own, targets = kept(5_000 if number >= 10 else 1_000, RATE, draw.gauss(1, 0.01))
        return race(f"n{number:02}", number, tasks=(own,), targets=targets)

    races = [night(number) for number in range(20)]
    trend = find_trend(compared(*races), TrendOptions())
    assert len(trend.races) == 10
    (text,) = trend.left_out
    assert "index-append has operations of" in text


@pytest.mark.parametrize(
    ("changes", "work"),
    [
        ({}, 1_000.0),
        # The engine reports the seconds in which it did the work.
        ({"reported_s": 300.0}, 500.0),
        # What failed in part counts as work, but not as an operation.
        ({"window_succeeded": 2_000, "work": WorkTotals(2_700_000, 300_000)}, 1_000.0),
        ({"throughput": None}, 1_000.0),
        ({"throughput": None, "work": WorkTotals(0, 0)}, None),
    ],
)
def test_work_of_an_operation(changes, work):
    own, _ = indexing(1_000, RATE, 1.0, **changes)
    assert operation_work(own) == (work if work is None else pytest.approx(work))


def test_a_task_whose_work_is_operations_has_one_of_them_in_each():
    assert operation_work(task(work=WorkTotals(50_000, 0))) == 1.0
