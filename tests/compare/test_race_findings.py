"""Reasons of the verdicts of compared races."""

from __future__ import annotations

from dataclasses import replace

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
