"""Metrics that would decide a comparison, but that not all of its races have."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from compare.races import blocks, changed, compared, index, search
from pacenote.compare.groups import compare_groups
from pacenote.model.comparison import Comparison, ComparisonOptions
from pacenote.model.race_record import RaceRecord
from pacenote.report.comparison_texts import answer_text

P90 = "p90-latency:term"


def of(
    change: object, *, primary: tuple[str, ...] = (), meta: dict[str, dict[str, object]] | None = None
) -> Comparison:
    """Compares blocks of which the last race of the contender is changed."""
    old, new = blocks(6)
    sides = [changed(side, task_meta=meta or {}) for side in (old, [*new[:-1], change(new[-1])])]  # type: ignore[operator]
    return compare_groups(*(compared(*side) for side in sides), ComparisonOptions(primary))


def without_search(race: RaceRecord) -> RaceRecord:
    return replace(race, tasks=race.tasks[:1])


def without_throughput(race: RaceRecord) -> RaceRecord:
    return replace(race, tasks=(replace(race.tasks[0], throughput=None), *race.tasks[1:]))


@pytest.mark.parametrize(
    ("change", "primary", "meta", "lacking"),
    [
        (lambda race: race, (), None, ()),
        (without_search, (), None, (P90,)),
        (without_search, ("p99", "throughput"), None, ("p99-latency:term", "throughput:term")),
        (without_search, ("throughput:index-append",), None, ()),
        (without_search, (), {"term": {"primary-metrics": ["p99"]}}, ("p99-latency:term",)),
        # Its service time decides instead.
        (without_throughput, (), None, ()),
        (without_throughput, ("throughput", "p90"), None, ("throughput:index-append",)),
        (
            without_throughput,
            (),
            {"index-append": {"primary-metrics": ["throughput"]}},
            ("throughput:index-append",),
        ),
    ],
)
def test_what_would_decide_is_lacking_if_a_race_lacks_it(change, primary, meta, lacking):
    comparison = of(change, primary=primary, meta=meta)
    assert comparison.lacking_primary == lacking
    said = [each.text for each in comparison.findings if "it is not known whether it changed" in each.text]
    assert len(said) == len(lacking)


def test_an_error_rate_does_not_stand_in_for_a_throughput():
    def bare(race: RaceRecord) -> RaceRecord:
        task = replace(race.tasks[0], throughput=None, service_time=None, latency=None)
        return replace(race, tasks=(task, *race.tasks[1:]))

    assert of(bare).lacking_primary == ("throughput:index-append",)


def test_the_answer_says_of_how_many_metrics_it_is():
    assert answer_text(of(without_search)).startswith("in 1 of 2 metrics")


def test_a_void_comparison_lacks_nothing_else():
    old, new = blocks(3)
    other = changed(new, challenge="another", tasks=(index(),))
    assert compare_groups(compared(*old), compared(*other)).lacking_primary == ()


def test_a_task_that_all_races_of_a_side_lack_is_lacking():
    old, new = blocks(6)
    comparison = compare_groups(
        compared(*changed(old, tasks=(index(), search()))), compared(*map(without_search, new))
    )
    assert comparison.lacking_primary == (P90,)
