"""Reasons of the verdicts of compared races."""

from __future__ import annotations

from msgspec.structs import replace

from compare.races import blocks, compared
from pacenote.compare.groups import compare_groups
from pacenote.model.finding import EVERYTHING, Finding
from pacenote.model.race_record import Verdict


def test_races_that_name_different_tasks_for_one_reason_have_one_finding() -> None:
    sides = blocks(5)
    for number, tasks in enumerate((("term",), ("index-append", "term"), ("index-append",))):
        text = f"the driver waited {number + 3} % of its time for a core"
        finding = Finding(text, "driver", "", tasks, EVERYTHING)
        sides[1][number] = replace(sides[1][number], verdict=Verdict("suspect", (finding,)))
    comparison = compare_groups(*(compared(*side) for side in sides))
    (finding,) = (each for each in comparison.findings if "for a core" in each.text)
    assert "waited 3 to 5 % of its time" in finding.text
    assert "in 3 of 10 races" in finding.text
    assert set(finding.tasks) == {"index-append", "term"}
    assert {each.metric.task for each in comparison.metrics if each.word == "void"} == {
        "index-append",
        "term",
    }


def test_doubts_about_slow_requests_of_different_tasks_are_one_for_each_percentile() -> None:
    """A race names the tasks that it disturbed, which are seldom those of the next one."""
    sides = blocks(5)
    both = ("index-append", "term")
    for number, (tasks, doubtful_from) in enumerate((
        (("term",), 98.7),
        (both, 98.0),
        (("index-append",), 97.5),
        (("term",), 99.95),
        (both, None),
    )):
        text = f"the driver waited {number + 3} % of its time for a core"
        finding = Finding(text, "machine", "", tasks, doubtful_from)
        sides[1][number] = replace(sides[1][number], verdict=Verdict("suspect", (finding,)))
    comparison = compare_groups(*(compared(*side) for side in sides))
    (finding,) = (each for each in comparison.findings if "for a core" in each.text)
    assert finding.text == "the driver waited 3 to 7 % of its time for a core (in 5 of 10 races)"
    assert set(finding.tasks) == set(both)
    void = {each.metric.label for each in comparison.metrics if each.word == "void"}
    assert {"p99-latency:term", "p99-service-time:term"} <= void
    assert not any(label.startswith("p90") for label in void)


def test_the_slow_requests_of_one_task_do_not_make_those_of_another_one_doubtful() -> None:
    sides = blocks(5)
    for number, (task, doubtful_from) in enumerate((("term", 90.0), ("index-append", 99.5))):
        finding = Finding("replies were read late", "machine", "", (task,), doubtful_from)
        sides[1][number] = replace(sides[1][number], verdict=Verdict("suspect", (finding,)))
    comparison = compare_groups(*(compared(*side) for side in sides))
    late = [each for each in comparison.findings if "read late" in each.text]
    assert [(each.tasks, each.text) for each in late] == [
        (("term",), "replies were read late (in 1 of 10 races: b0)"),
        (("index-append",), "replies were read late (in 1 of 10 races: b1)"),
    ]
    void = {each.metric.label for each in comparison.metrics if each.word == "void"}
    assert "p90-service-time:term" in void
    assert "p90-service-time:index-append" not in void
    assert "p99-service-time:index-append" not in void
