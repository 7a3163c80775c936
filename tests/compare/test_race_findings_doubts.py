"""What a race alone makes doubtful, of many metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from pacenote.compare.race_findings import RaceDoubts, is_disturbed
from pacenote.model.comparison import MetricId
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.race_record import Verdict
from support.records import record, task


class Counted(tuple[Any, ...]):
    """Counts how often it is iterated over."""

    iterations = 0

    def __iter__(self) -> Iterator[Any]:
        type(self).iterations += 1
        return super().__iter__()


def percentile(name: str, q: float) -> MetricId:
    return MetricId(name, f"p{q:g}", "ms", f"p{q:g}", "percentile", q=q)


FINDINGS = (
    Finding("late", "driver", "", ("a", "a", "b"), 99.0),
    Finding("busy", "machine", "", ("b",), EVERYTHING),
    Finding("a note", "machine", "", ("c",)),
)


def test_the_tasks_of_a_race_are_not_looked_at_for_each_metric() -> None:
    tasks = Counted(task(task=f"t{number}") for number in range(300))
    race = replace(record(), tasks=tasks, verdict=Verdict("suspect", FINDINGS))
    Counted.iterations = 0
    doubts = RaceDoubts(race)
    for number in range(300):
        doubts.is_doubtful(percentile(f"t{number}", 50.0))
    assert Counted.iterations == 1


@pytest.mark.parametrize(
    ("name", "q", "expected"),
    [("a", 99.0, True), ("a", 50.0, False), ("b", 50.0, True), ("c", 99.9, False), ("d", 99.9, False)],
)
def test_a_finding_is_about_its_tasks(name: str, q: float, expected: bool) -> None:
    tasks = tuple(task(task=each, error_rate=0.0) for each in "abcd")
    race = record(tasks=tasks, verdict=Verdict("suspect", FINDINGS))
    assert (
        is_disturbed(race, percentile(name, q))
        == RaceDoubts(race).is_doubtful(percentile(name, q))
        == expected
    )
    failing = record(
        tasks=tuple(task(task=each, error_rate=0.02) for each in "abcd"), verdict=Verdict("valid")
    )
    assert (
        is_disturbed(failing, percentile(name, q)),
        RaceDoubts(failing).is_doubtful(percentile(name, q)),
    ) == (
        False,
        True,
    )


def test_a_finding_about_what_is_no_task_concerns_all() -> None:
    step = Finding("busy", "machine", "", ("a step",), 99.0)
    race = record(tasks=(task(task="a"),), verdict=Verdict("suspect", (step,)))
    assert is_disturbed(race, percentile("a", 99.0))
    assert not is_disturbed(race, percentile("a", 50.0))
