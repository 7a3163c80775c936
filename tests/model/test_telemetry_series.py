from __future__ import annotations

from diagnose.cuts import TASK, counter, gauge, telemetry
from pacenote.model.telemetry_series import TaskSeries, ratio, total


def test_series_are_found_by_all_of_their_labels() -> None:
    cuts = telemetry(
        "host",
        counter("cpu.user", 1500),
        counter("cpu.user", 900, cpu="0"),
        counter("cpu.user", 600, cpu="1"),
        gauge("cpu.runnable", 1, 2, 6),
    )
    series = TaskSeries(cuts.of_source("host", TASK), 10)
    assert series.share("cpu.user") == 1.5
    assert [series.share("cpu.user", cpu=cpu) for cpu in series.values_of("cpu.user", "cpu")] == [0.9, 0.6]
    assert series.increase("cpu.user", cpu="0") == 9000
    values = (series.mean("cpu.runnable"), series.largest("cpu.runnable"), series.last("cpu.runnable"))
    assert values == (3, 6, 6)
    assert series.growth("cpu.runnable") == 5
    assert list(series.names("cpu.", "er")) == ["cpu.user"]
    assert series.per_s("cpu.user", cpu="7") is None
    assert series.mean("cpu.idle") is None


def test_a_counter_that_is_hardly_known_is_not_known() -> None:
    cuts = telemetry("host", counter("a", 5, covered_s=4), counter("b", 5, covered_s=6))
    series = TaskSeries(cuts.of_source("host", TASK), 10)
    assert (series.per_s("a"), series.per_s("b"), series.increase("b")) == (None, 5, 30)


def test_a_counter_has_counted_nothing_only_if_nearly_all_of_the_task_is_known() -> None:
    """Rejections while the statistics failed may have been all there were."""
    part, whole = counter("part", 0, covered_s=8.9), counter("whole", 0, covered_s=9.0)
    reset, some = counter("reset", 0), counter("some", 5, covered_s=8.9)
    reset["cuts"][0]["resets"] = 1
    series = TaskSeries(telemetry("host", part, whole, reset, some).of_source("host", TASK), 10)
    names = ("part", "whole", "reset", "some")
    assert [series.increase(name) for name in names] == [None, 0, None, 44.5]


def test_a_counter_of_other_tasks_is_not_that_of_a_short_one() -> None:
    cuts = telemetry("host", counter("a", 5, 0.4, 1.0), counter("b", 5, 0.6, 1.0))
    series = TaskSeries(cuts.of_source("host", TASK), 0.6)
    assert (series.per_s("a"), series.per_s("b"), series.increase("b")) == (None, 5, 3)


def test_what_is_not_known_stays_unknown() -> None:
    assert (total([1, None, 2]), total([None])) == (3, None)
    assert (ratio(1, 4), ratio(None, 4), ratio(1, 0), ratio(1, None)) == (0.25, None, None, None)
