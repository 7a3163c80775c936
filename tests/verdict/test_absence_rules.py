"""Clients that are done long before others lower the load of a task, which its throughput includes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from pacenote.model.race_record import Verdict
from pacenote.verdict.determine import determine_verdict
from support.records import paced, record, task, times

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


def is_named(verdict: Verdict) -> bool:
    return any("of the time of the clients is missing" in finding.text for finding in verdict.findings)


@pytest.mark.parametrize(("absent_s", "expected"), [(4.5, False), (5.0, True)])
def test_clients_whose_operations_are_equally_long_may_be_done_one_earlier(
    absent_s: float, expected: bool
) -> None:
    # Each client sends two bulks.
    service_time = structs.replace(times(), mean_ms=500.0)
    bulks = OWN | {"clients": 8, "window_s": 1.0, "duration_s": 1.0, "service_time": service_time}
    assert is_named(determine_verdict(record(tasks=(task(**bulks, absent_s=absent_s),)))) == expected


@pytest.mark.parametrize(("missed_s", "expected"), [(0.5, True), (1.5, False)])
def test_what_joined_late_is_not_missing_for_another_reason(missed_s: float, expected: bool) -> None:
    late = task(**OWN | {"ended_by": "time"}, absent_s=2.6)
    joins = {"index": late.index, "clients": 1, "missed_s": missed_s, "latest_s": missed_s}
    assert is_named(determine_verdict(record(tasks=(late,), driver={"late_joins": [joins]}))) == expected


def test_an_interrupted_task_is_not_judged() -> None:
    stopped = task(**OWN | {"ended_by": "stopped"}, absent_s=9.0)
    assert not is_named(determine_verdict(record(tasks=(stopped,))))


def test_what_joined_late_is_told_once() -> None:
    late = task(**OWN, absent_s=9.0)
    joins = {"index": late.index, "clients": 1, "missed_s": 7.0, "latest_s": 7.0}
    verdict = determine_verdict(record(tasks=(late,), driver={"late_joins": [joins]}))
    assert [finding.cause for finding in verdict.findings] == ["track"]


def test_a_target_rate_says_whether_clients_are_missing() -> None:
    verdict = determine_verdict(record(tasks=(paced("search", absent_s=1e6),)))
    assert not [finding for finding in verdict.findings if "is missing" in finding.text]
