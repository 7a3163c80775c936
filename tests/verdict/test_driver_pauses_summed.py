"""Of a long race, the driver records several seconds together. What they say must not depend on that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import replace

from pacenote.model.result import TaskResult
from pacenote.verdict.driver_pauses import LENGTH_RANGES, late_readings, paused_s
from pacenote.verdict.late_readings import late_reply_findings
from pacenote.verdict.task_rules import paused
from support.records import task, times

Second = dict[str, float | list[float]]

SHORTEST, LONGEST = 2, 20
"""Positions of the ranges of 1.28 to 1.45 ms and of 12.1 to 13.8 ms."""


def second(at_s: int, *, long: int = 0, explained: float = 0.0, longest_ms: float = 1.4) -> Second:
    """A second with two late readings: so many of them by 13 ms, and so many of them without the driver."""
    lengths = [0.0] * LENGTH_RANGES
    lengths[SHORTEST], lengths[LONGEST] = 2.0 - long, float(long)
    short_s = (2 - long) * 0.0014 + long * 0.013
    left = 1 - explained / 2
    return {
        **{"from_s": at_s + 0.1, "to_s": at_s + 0.9, "paused_s": short_s, "pauses": 2, "short": 2},
        **{"short_s": short_s, "longest_short_s": 0.013 if long else longest_ms / 1000},
        **{"stopped": 0, "stopped_s": 0.0, "stolen_s": explained * 0.04, "lengths": lengths},
        **{"unexplained": [count * left for count in lengths], "unexplained_s": short_s * left},
        "explained_s": min(short_s, explained * 0.02),
    }


def merged(seconds: Sequence[Second]) -> Second:
    """Seconds as the driver merges them."""
    first, *others = seconds
    whole: Second = dict(first)
    for other in others:
        for name, value in other.items():
            known = whole[name]
            if isinstance(value, list) and isinstance(known, list):
                whole[name] = [one + another for one, another in zip(known, value, strict=True)]
            elif isinstance(value, float | int) and isinstance(known, float | int):
                whole[name] = known + value
    longest = max(float(str(each["longest_short_s"])) for each in seconds)
    return {**whole, "from_s": first["from_s"], "to_s": seconds[-1]["to_s"], "longest_short_s": longest}


def driver(seconds: Sequence[Mapping[str, object]]) -> dict[str, object]:
    total = sum(float(str(each["paused_s"])) for each in seconds)
    clock = {"pauses": 2 * len(seconds), "paused_s": total, "paused": list(seconds)}
    return {"wall_s": 3600.0, "clock": clock, "cpus": {"numbers": None, "count": 2}}


def of_seconds(seconds: float) -> TaskResult:
    service = replace(times(500_000, p50=15.0, p99=40.0), mean_ms=15.0)
    return task("term", started_s=0.0, duration_s=seconds, window_s=seconds, service_time=service)


HOUR = [
    second(at_s, long=int(at_s % 30 == 0), explained=1.0 if at_s % 20 == 3 else 0.0) for at_s in range(3600)
]
"""An hour in which two readings of each second are late, of which one in 60 is late by 13 ms. Of one in 40,
the hypervisor had taken the time.
"""


@pytest.mark.parametrize("together", [1, 15, 300])
def test_an_hour_says_the_same_however_many_seconds_are_merged(together: int) -> None:
    facts = driver([merged(HOUR[at : at + together]) for at in range(0, 3600, together)])
    assert paused_s(facts, 0, 3600) == pytest.approx(180 * 0.02)
    assert not [*paused([of_seconds(3600.0)], facts)]
    left = late_readings(facts, 0, 3600, without_explained=True)
    assert (left.count, left.total_s) == pytest.approx((
        7200 - 180,
        7080 * 0.0014 + 120 * 0.013 - 180 * 0.0014,
    ))
    # 4 % of the readings are late, but of those above p99 only some by more than 1.5 ms.
    assert not [*late_reply_findings([of_seconds(3600.0)], facts)]


def test_as_many_late_readings_that_are_late_enough_change_the_percentile() -> None:
    facts = driver([
        merged([second(at_s, long=1) for at_s in range(at_s, at_s + 15)]) for at_s in range(0, 3600, 15)
    ])
    (finding,) = late_reply_findings([of_seconds(3600.0)], facts)
    assert (finding.doubtful_from, "up to 13 ms late" in finding.text) == (99.0, True), finding.text


def test_of_few_pauses_each_counts_with_its_own_length() -> None:
    seconds = [second(at_s, explained=2.0) for at_s in (3, 5)]
    assert paused_s(driver(seconds), 0, 60) == pytest.approx(4 * 0.0014)
    assert paused_s(driver([merged(seconds)]), 0, 60) == pytest.approx(4 * 0.0014)
    assert paused_s(driver([*seconds, second(9, explained=2.0)]), 0, 60) == pytest.approx(6 * 0.02)
