"""The limits of groups around a process apply to it, and what is hardly known is not used."""

from __future__ import annotations

import pytest

from pacenote.model.telemetry_cuts import CounterCut, GaugeCut, TaskTelemetry, TaskTimes
from pacenote.stats.host_limits import limited_memory, outer_throttling, well_covered

TASK = TaskTimes("index", 0, 100 * 10**9)
NODE = {"process": "node-0"}
POD = NODE | {"group": "/pod"}


def counter(increase: float, covered_s: float = 100.0, span_s: float = 0.0) -> CounterCut:
    return CounterCut(increase, covered_s, span_s or covered_s, None, 9, 0, 0)


def gauge(mean: float, most: float | None = None) -> GaugeCut:
    most = mean if most is None else most
    return GaugeCut(mean, mean, mean, mean, most, 9, 0)


def groups(**cuts: list[tuple[dict[str, str], CounterCut | GaugeCut]]) -> TaskTelemetry:
    return TaskTelemetry({f"cgroup.{name}": tuple(found) for name, found in cuts.items()})


def test_the_quota_of_a_group_around_that_of_the_process_throttles_it() -> None:
    telemetry = groups(
        cpu_periods=[(NODE, counter(100)), (POD, counter(1_000)), (POD | {"process": "b"}, counter(9))],
        throttled_periods=[(NODE, counter(90)), (POD, counter(250)), (POD | {"process": "b"}, counter(9))],
        throttled_time=[(NODE, counter(9)), (POD, counter(40_000)), (POD | {"process": "b"}, counter(9))],
    )
    periods = {"cpu.throttled_periods_share": pytest.approx(0.25)}
    assert outer_throttling(telemetry, ["node-0"]) == periods
    counted = TaskTelemetry({**telemetry.cuts, "cpu.count": (({}, gauge(4)),)})
    assert outer_throttling(counted, ["node-0"]) == {**periods, "cpu.throttled_share": pytest.approx(0.1)}
    assert outer_throttling(telemetry, ["node-1"]) == {}


@pytest.mark.parametrize(
    ("own", "around", "expected"),
    [
        (None, None, {}),
        (10_000.0, None, {}),  # As much as the host has.
        (800.0, None, {"memory.available_share": 0.25, "memory.page_cache_bytes": 100.0}),
        (None, 1_000.0, {"memory.available_share": 0.1, "memory.page_cache_bytes": 70.0}),
        (8_000.0, 1_000.0, {"memory.available_share": 0.1, "memory.page_cache_bytes": 70.0}),
    ],
)
def test_the_lowest_limit_of_memory_counts(
    own: float | None, around: float | None, expected: dict[str, float]
) -> None:
    limits = [(labels, gauge(limit)) for labels, limit in ((NODE, own), (POD, around)) if limit is not None]
    telemetry = groups(
        memory_limit=limits,
        anonymous=[(NODE, gauge(500, 600)), (POD, gauge(800, 900))],
        page_cache=[(NODE, gauge(100)), (POD, gauge(70))],
    )
    assert limited_memory(telemetry, ["node-0"], 10_000.0) == pytest.approx(expected)


def test_a_counter_that_is_known_of_a_small_part_only_is_left_out() -> None:
    few, many, around = counter(1, 49.9), counter(2, 50.0), counter(3, 60.0, 121.0)
    first = TaskTelemetry({"a": ((NODE, few), (POD, many)), "b": ((NODE, gauge(1)),)})
    telemetry = TaskTelemetry({**first.cuts, "c": ((NODE, few), (POD, around))})
    covered = well_covered(telemetry, TASK)
    assert covered.cuts == {"a": ((POD, many),), "b": ((NODE, gauge(1)),), "c": ()}
