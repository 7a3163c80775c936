"""Percentiles of latency that do not decide, because they are those of operations without a latency."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from compare.races import blocks, compared, search, unserved
from pacenote.compare.groups import compare_groups
from pacenote.model.comparison import ComparisonOptions
from pacenote.model.failure_group import FailureGroup
from pacenote.model.finding import Cause, Finding
from pacenote.model.messages import DEFECT
from pacenote.model.race_record import Verdict
from pacenote.model.result import TaskResult
from pacenote.model.unserved import UNSENT_MARK, UNSERVED

TEXT = f"p90 of latency does not decide: more than 10 % of the operations {UNSERVED}"


def causes(task: TaskResult, *verdicts: Verdict) -> list[Cause]:
    """Returns the causes of findings about p90 of races whose contender has this task; their verdicts take
    turns.
    """
    baseline, contender = blocks(6)
    baseline = [replace(race, tasks=(search(2.0),)) for race in baseline]
    contender = [
        replace(race, tasks=(task,), verdict=verdicts[at % len(verdicts)])
        for at, race in enumerate(contender)
    ]
    comparison = compare_groups(
        compared(*baseline), compared(*contender), ComparisonOptions(primary=("p90:term",))
    )
    return [each.cause for each in comparison.findings if each.text == f"{TEXT} in a race"]


def said(cause: Cause, tasks: Sequence[str] = ("term",)) -> Verdict:
    """A verdict on operations that were not sent, which leaves the figures sound."""
    finding = Finding(f"1,588 of 10,588 {UNSENT_MARK}: for this reason", cause, tasks=tuple(tasks))
    return Verdict("suspect", findings=(finding,))


@pytest.mark.parametrize("cause", ["engine", "track", "driver"])
def test_operations_that_were_not_sent_have_the_cause_that_their_races_say(cause: Cause) -> None:
    assert causes(unserved(0.15), said(cause)) == [cause]


def test_the_cause_of_operations_that_were_not_sent_may_be_unknown() -> None:
    """No race says it, or they differ."""
    for verdicts in ((Verdict("valid"),), (said("track", ["other"]),), (said("engine"), said("track"))):
        assert causes(unserved(0.15), *verdicts) == ["unknown"]


def test_operations_that_failed_or_were_not_answered_have_the_cause_of_their_failures() -> None:
    hung = unserved(0.15)
    counts = hung.accounting
    silent = replace(counts, operations=counts.operations + counts.unsent, unanswered=counts.unsent, unsent=0)
    task = replace(hung, accounting=silent)
    assert causes(task, Verdict("valid")) == ["engine"]
    failed = replace(silent, failed=silent.unanswered, unanswered=0)
    for error_class, reason, cause in (
        ("timeout", "no reply", "engine"),
        ("plugin", "KeyError", "track"),
        ("plugin", f"{DEFECT} KeyError", "pacenote"),
    ):
        group = FailureGroup(error_class, reason, None, failed.failed, 0.0, 6.0, "operations")
        assert causes(replace(hung, accounting=failed, errors=(group,)), Verdict("valid")) == [cause]
