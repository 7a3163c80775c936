"""Percentiles of latency that do not decide, because they are those of operations without a latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from compare.races import blocks, compared, search, unserved
from pacenote.compare.groups import compare_groups
from pacenote.model.comparison import ComparisonOptions
from pacenote.model.failure_group import FailureGroup
from pacenote.model.finding import Cause
from pacenote.model.messages import DEFECT
from pacenote.model.result import TaskResult
from pacenote.model.target_rate import TargetRate
from pacenote.model.unserved import UNSERVED

TEXT = f"p90 of latency does not decide: more than 10 % of the operations {UNSERVED}"


def causes(*tasks: TaskResult, changes: Sequence[Mapping[str, Any]] = ({},)) -> list[Cause]:
    """Returns the causes of findings about p90 of races whose contender has these tasks; what else its
    records have takes turns.
    """
    baseline, contender = blocks(6)
    baseline = [replace(race, tasks=(search(2.0),)) for race in baseline]
    contender = [
        replace(race, tasks=tasks, **changes[at % len(changes)]) for at, race in enumerate(contender)
    ]
    comparison = compare_groups(
        compared(*baseline), compared(*contender), ComparisonOptions(primary=("p90:term",))
    )
    return [each.cause for each in comparison.findings if each.text == f"{TEXT} in a race"]


TARGET = {"targets": {"term": TargetRate(1e5, operations=1e5)}}
_LATE = {"index": unserved(0.15).index, "clients": 1, "missed_s": 1e6, "latest_s": 9.0}
JOINED = TARGET | {"driver": {"late_joins": [_LATE]}}


@pytest.mark.parametrize("targets", [{}, TARGET])
def test_operations_that_were_not_sent_have_the_cause_that_the_rules_of_the_verdict_find(
    targets: Mapping[str, Any],
) -> None:
    """With a target rate that was missed, and without one."""
    assert causes(unserved(0.15, window_operations=9_000), changes=(targets,)) == ["engine"]


def test_the_cause_of_operations_that_were_not_sent_may_be_unknown() -> None:
    """Races differ in it: in every second one, clients joined late."""
    assert causes(unserved(0.15, ended_by="time", window_operations=9_000), changes=(TARGET, JOINED)) == [
        "unknown"
    ]


def test_operations_that_failed_or_were_not_answered_have_the_cause_of_their_failures() -> None:
    hung = unserved(0.15)
    counts = hung.accounting
    silent = replace(counts, operations=counts.operations + counts.unsent, unanswered=counts.unsent, unsent=0)
    task = replace(hung, accounting=silent)
    assert causes(task) == ["engine"]
    failed = replace(silent, failed=silent.unanswered, unanswered=0)
    for error_class, reason, cause in (
        ("timeout", "no reply", "engine"),
        ("plugin", "KeyError", "track"),
        ("plugin", f"{DEFECT} KeyError", "pacenote"),
    ):
        group = FailureGroup(error_class, reason, None, failed.failed, 0.0, 6.0, "operations")
        # A bulk may reject thousands of documents.
        rejected = FailureGroup("bulk-item", "rejected", 429, 10**6, 0.0, 6.0, "documents")
        assert causes(replace(hung, accounting=failed, errors=(group, rejected))) == [cause]
