"""Throughput refers to the time that the engine or a runner reports, not to the time of waiting for it."""

import json

import pytest

from pacenote.errors import TrackError
from pacenote.model.result import Steadiness, Throughput
from pacenote.python_tasks.reported_work import ReportedWork
from pacenote.python_tasks.results import from_runner
from pacenote.report.summary import build_report
from python_tasks.racing import race_track, serving
from support.records import task

pytestmark = pytest.mark.process

NOTHING = """
    async def slow(es, params):
        return {"weight": 30, "unit": "docs", "throughput": 15.0, "x": 1}

    async def idle(es, params):
        return {"weight": 0, "throughput": 0.0}

    def register(registry):
        registry.register_runner("slow", slow, async_runner=True)
        registry.register_runner("idle", idle, async_runner=True)
    """


def snapshots(line, _body, duration_ms=500):
    """A snapshot of 2 MB that took the engine half a second, long before the race."""
    if "_status" not in line:
        return {"snapshots": []} if "_snapshot" in line else None
    total = {"size_in_bytes": 2_000_000, "file_count": 7}
    stats = {"total": total, "start_time_in_millis": 1_000, "time_in_millis": duration_ms}
    return {"snapshots": [{"state": "SUCCESS", "stats": stats}]}


def test_the_throughput_of_a_snapshot_is_that_of_the_engine(tmp_path):
    waits = {"operation-type": "wait-for-snapshot-create", "repository": "r", "snapshot": "s"}
    with serving(snapshots) as server:
        raced = race_track(tmp_path, NOTHING, [{"name": "wait", "operation": waits}], server.address)
    result = raced.task("wait")
    rate = 4_000_000.0
    assert result.throughput == Throughput(rate, rate, rate, rate)
    assert (result.unit, result.work.done, result.reported_s) == ("byte", 2_000_000, 0.5)
    assert {name: value.mean for name, value in result.values.items()} == {
        "start_time_millis": 1_000,
        "stop_time_millis": 1_500,
        "duration": 500,
        "file_count": 7,
    }
    report = build_report(raced.record)
    rows = {(row.metric, row.task): row.value for row in report.rows}
    assert rows["Mean Throughput", "wait"] == rate
    assert rows["duration", "wait"] == 500
    assert ("start_time_millis", "wait") not in rows
    assert "refers to 0.5 s" in next(note.text for note in report.notes if note.label == "Throughput")
    stored = json.loads((tmp_path / "home" / "races" / "r" / "race.json").read_text())
    assert stored["tasks"][0]["reported_s"] == 0.5


def test_a_negative_time_of_the_engine_is_unknown(tmp_path):
    waits = {"operation-type": "wait-for-snapshot-create", "repository": "r", "snapshot": "s"}
    with serving(lambda line, body: snapshots(line, body, -500)) as server:
        raced = race_track(tmp_path, NOTHING, [{"name": "wait", "operation": waits}], server.address)
    result = raced.task("wait")
    assert (result.reported_s, result.work.done, result.values["duration"].mean) == (None, 2_000_000, -500)
    assert result.throughput is not None
    assert result.throughput.mean > 0


def test_the_throughput_that_a_runner_returns_is_used_as_in_rally(tmp_path):
    schedule = [{"operation": "slow", "iterations": 3}, {"operation": "idle"}]
    with serving() as server:
        raced = race_track(tmp_path, NOTHING, schedule, server.address)
    slow, idle = raced.task("slow"), raced.task("idle")
    assert slow.throughput == Throughput(15.0, 15.0, 15.0, 15.0)
    assert (slow.reported_s, set(slow.values)) == (6.0, {"x"})
    assert (idle.reported_s, set(idle.values)) == (None, {"throughput"})


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        # The mean is all work divided by all time: 1,300 in 5 s.
        ([(100, 1.0), (200, 1.0), (1_000, 3.0)], Throughput(100.0, 260.0, 200.0, 1_000 / 3)),
        ([(100, 1.0), (0, 0.0)], Throughput(100.0, 100.0, 100.0, 100.0)),
        ([(5, 0.0)], None),
    ],
)
def test_throughput_is_the_work_divided_by_the_reported_time(work, expected):
    reported = ReportedWork()
    for weight, seconds in work:
        reported.add(weight, seconds)
    before = task("t")
    after = reported.replace_throughput(before)
    assert (after.throughput, after.reported_s) == (expected, sum(seconds for _, seconds in work))
    assert after.steady == (Steadiness() if before.steady.by == "throughput" else before.steady)


def test_the_measured_window_counts_if_the_time_of_an_operation_is_unknown():
    reported = ReportedWork()
    reported.add(100, 1.0)
    reported.add(100, None)
    before = task("t")
    assert reported.replace_throughput(before) == before


def test_the_median_of_many_rates_is_that_of_a_part_of_them():
    reported = ReportedWork()
    for number in range(300_000):
        reported.add(number % 1_000 + 1, 1.0)
    throughput = reported.replace_throughput(task("t")).throughput
    assert throughput is not None
    assert (throughput.min, throughput.mean, throughput.max) == (1.0, 500.5, 1_000.0)
    assert throughput.median == pytest.approx(500.5, rel=0.02)


def test_the_median_of_operations_that_take_turns_is_that_of_all():
    reported = ReportedWork()
    for number in range(300_000):
        reported.add((10, 50, 50, 90)[number % 4], 1.0)
    throughput = reported.replace_throughput(task("t")).throughput
    assert throughput is not None
    assert throughput.median == 50.0


def test_a_throughput_beyond_any_work_is_refused():
    assert from_runner({"weight": 1, "throughput": 2.0**53}).reported_s == 2.0**-53
    with pytest.raises(TrackError, match=r"returned the throughput 1e\+150, which must be at most 2\^53"):
        from_runner({"weight": 1, "throughput": 1e150})


@pytest.mark.parametrize(("files", "failed"), [(7, 0), (8, 1)])
def test_the_figures_of_a_snapshot_can_be_asserted(tmp_path, files, failed):
    assertion = {"property": "file_count", "condition": "==", "value": files}
    waits = {"operation-type": "wait-for-snapshot-create", "repository": "r", "snapshot": "s"}
    schedule = [{"name": "wait", "operation": {**waits, "assertions": [assertion]}}]
    with serving(snapshots) as server:
        raced = race_track(tmp_path, NOTHING, schedule, server.address, enable_assertions=True)
    assert raced.task("wait").accounting.failed == failed


def test_long_names_of_numbers_are_left_out_and_a_long_unit_is_refused():
    result = from_runner({"a": 1, "A" * 501: 2, "b": {"c": 3, "B" * 499: 4, "C" * 500: {"d": 5}}})
    assert result.values == {"a": 1.0, "b.c": 3.0}
    with pytest.raises(TrackError, match="must be a word such as docs"):
        from_runner({"unit": "A" * 501})
