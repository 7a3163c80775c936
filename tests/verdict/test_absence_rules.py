"""Clients that are done long before others lower the load of a task, which its throughput includes."""

from __future__ import annotations

from typing import Any

import pytest

from pacenote.verdict.determine import determine_verdict
from support.records import paced, record, task

OWN = {"clients": 2, "window_s": 10.0, "duration_s": 10.0, "window_from_s": 0.0, "ended_by": "iterations"}


def test_a_task_some_of_whose_clients_are_done_early_is_suspect() -> None:
    verdict = determine_verdict(record(tasks=(task(**OWN, absent_s=6.6),)))
    (finding,) = verdict.findings
    assert (verdict.state, finding.cause, finding.tasks) == ("suspect", "unknown", ("search",))
    assert finding.text.startswith("33 % of the time of the clients is missing, because some were done")
    assert finding.doubtful_from is None


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"absent_s": 1.9}, "valid"),
        ({"absent_s": 2.1}, "suspect"),
        ({"absent_s": 2.1, "ended_by": "source"}, "suspect"),
        ({"absent_s": 2.1, "ended_by": "time"}, "suspect"),
        ({"absent_s": 2.1, "clients": 8}, "valid"),
        ({"window_s": 0.0}, "valid"),
        # Older versions did not record it.
        ({}, "valid"),
    ],
)
def test_less_than_a_tenth_of_the_measured_time_may_be_missing(changes: dict[str, Any], state: str) -> None:
    assert determine_verdict(record(tasks=(task(**OWN | changes),))).state == state


def test_what_joined_late_is_told_once() -> None:
    late = task(**OWN, absent_s=9.0)
    joins = {"index": late.index, "clients": 1, "missed_s": 7.0, "latest_s": 7.0}
    verdict = determine_verdict(record(tasks=(late,), driver={"late_joins": [joins]}))
    assert [finding.cause for finding in verdict.findings] == ["track"]


def test_a_target_rate_says_whether_clients_are_missing() -> None:
    verdict = determine_verdict(record(tasks=(paced("search", absent_s=1e6),)))
    assert not [finding for finding in verdict.findings if "is missing" in finding.text]
