"""Clients that join a task without a target rate late lower its load, which no schedule shows."""

from __future__ import annotations

from typing import Any

import pytest

from pacenote.model.result import TaskResult
from pacenote.model.target_rate import TargetRate
from pacenote.verdict.determine import determine_verdict
from support.records import paced, record, task


def joined_late(
    name: str = "search", missed_s: float = 7.0, **changes: Any
) -> tuple[TaskResult, dict[str, Any]]:
    """Returns a task of 10 s with two clients, one of which joined after this time, and its late joins."""
    own = {"clients": 2, "window_s": 10.0, "duration_s": 10.0, "window_from_s": 0.0, "ended_by": "time"}
    late = task(name, **own | changes)
    return late, {"index": late.index, "clients": 1, "missed_s": missed_s, "latest_s": missed_s}


def test_a_task_that_had_fewer_clients_than_its_track_declares_is_suspect() -> None:
    late, joins = joined_late()
    verdict = determine_verdict(record(tasks=(late,), driver={"late_joins": [joins]}))
    (finding,) = verdict.findings
    assert (verdict.state, finding.cause, finding.tasks) == ("suspect", "track", ("search",))
    assert finding.text.startswith("35 % of the time of the clients is missing, because some were still busy")
    assert finding.doubtful_from is None
    in_time = record(tasks=(late,), driver={"late_joins": [joins | {"index": late.index + 1}]})
    assert determine_verdict(in_time).state == "valid"


@pytest.mark.parametrize(
    ("missed_s", "changes", "state"),
    [
        (1.9, {}, "valid"),
        (2.1, {}, "suspect"),
        # The warm-up is not measured.
        (7.0, {"window_from_s": 6.0, "window_s": 4.0}, "suspect"),
        (7.0, {"window_from_s": 7.0, "window_s": 3.0}, "valid"),
        # The client that began in time is done while the other one still has iterations.
        (0.9, {"ended_by": "iterations"}, "valid"),
        (1.1, {"ended_by": "iterations"}, "suspect"),
    ],
)
def test_less_than_a_tenth_of_the_measured_time_may_be_missing(
    missed_s: float, changes: dict[str, Any], state: str
) -> None:
    late, joins = joined_late(missed_s=missed_s, **changes)
    assert determine_verdict(record(tasks=(late,), driver={"late_joins": [joins]})).state == state


def test_a_task_that_keeps_its_target_rate_has_its_load() -> None:
    kept = paced("search")
    joins = {"index": kept.index, "clients": 1, "missed_s": 1e6, "latest_s": 1e6}
    targets = {"search": TargetRate(1.0, operations=1.0)}
    race = record(tasks=(kept,), targets=targets, driver={"late_joins": [joins]})
    assert not [each for each in determine_verdict(race).findings if "is missing" in each.text]
