"""The hottest methods by kind of event: shares, waiting threads, locks, and what is left out."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pacenote.model.recording import (
    EventState,
    EventType,
    LockKind,
    Recording,
    SampleGroup,
    SampleKind,
    ThreadState,
)
from pacenote.report.recording.hot_methods import MOST_NODES, SHOWN, ProfileCollector, node_profile
from support.recordings import RecordingBuilder, without

SYNC = "java.util.concurrent.locks.ReentrantLock$NonfairSync"
CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
SECOND = 1_000_000_000


def rows(recording: Recording, name: str) -> list[tuple[str, ...]]:
    """Returns the rows of a table with the share of each in percent."""
    tables = {table.name: table for table in node_profile("", recording).tables}
    table = tables[name]
    return [(*row.keys, f"{100 * row.figures.total / table.whole.total:.0f}") for row in table.rows]


def with_wall(recording: Recording, *groups: SampleGroup) -> Recording:
    """Returns a recording that also has samples by wall-clock time, as async-profiler writes them."""
    wall = EventType("profiler.WallClockSample", EventState.RECORDED, len(groups))
    return replace(
        recording,
        event_types=(*recording.event_types, wall),
        samples=(*recording.samples, *groups),
    )


def test_methods_have_their_share_of_each_kind_of_event() -> None:
    made = RecordingBuilder()
    inner, outer = made.stack("a.B.hot", "a.Main.run"), made.stack("a.B.cold", "a.Main.run")
    made.sample("worker", inner, 3)
    made.sample("worker", outer, 1)
    made.allocate("in_new_tlab", ("byte[]", "worker"), outer, 4, 300)
    made.allocate("outside_tlab", ("int[]", "worker"), inner, 1, 100)
    made.wait(LockKind.MONITOR_ENTER, "a.Lock", inner, [2 * SECOND])
    recording = made.build(without("jdk.CPUTimeSample"))
    profile = node_profile("n0", recording)
    assert [table.name for table in profile.tables] == [
        "cpu-by-method",
        "allocation-by-method",
        "locks-by-method",
    ]
    assert rows(recording, "cpu-by-method") == [("a.B.hot", "75"), ("a.B.cold", "25")]
    assert rows(recording, "allocation-by-method") == [("a.B.cold", "75"), ("a.B.hot", "25")]
    assert rows(recording, "locks-by-method") == [("a.B.hot", "a.Lock", "100")]
    assert profile.flame is not None
    assert [(each.name, each.level, each.share) for each in profile.flame.frames] == [
        ("a.Main.run", 0, 1.0),
        ("a.B.hot", 1, 0.75),
        ("a.B.cold", 1, 0.25),
    ]
    assert (profile.notes, profile.problem) == ((), "")


def test_threads_that_wait_are_counted_but_are_no_running_methods() -> None:
    made = RecordingBuilder()
    run, park = made.stack("a.B.run"), made.stack("jdk.internal.misc.Unsafe.park")
    made.sample("worker", run, 0)
    recording = with_wall(
        made.build(without("jdk.ExecutionSample", "jdk.CPUTimeSample")),
        SampleGroup(SampleKind.WALL, 0, run, 10, ThreadState.RUNNING),
        SampleGroup(SampleKind.WALL, 0, park, 30, ThreadState.WAITING),
    )
    assert rows(recording, "wall-by-method") == [("a.B.run", "100")]
    (table,) = node_profile("", recording).tables
    assert table.note == "Threads were waiting in 75.0 % of all samples, which are not counted here."


@pytest.mark.parametrize(("parked_for", "counts"), [(SYNC, True), (CONDITION, False), (None, False)])
def test_parked_threads_count_if_they_wait_for_a_lock(parked_for: str | None, counts: bool) -> None:
    made = RecordingBuilder()
    stack = made.stack(*(
        "jdk.internal.misc.Unsafe.park",
        "java.util.concurrent.locks.ReentrantLock.lock",
        "a.Engine.index",
    ))
    made.wait(LockKind.PARK, parked_for, stack, [SECOND])
    recording = made.build(without("jdk.ExecutionSample", "jdk.CPUTimeSample"))
    if counts:
        assert rows(recording, "locks-by-method") == [("a.Engine.index", SYNC, "100")]
    else:
        assert node_profile("", recording).tables == ()


def test_methods_beyond_the_first_are_one_note_and_long_names_are_cut() -> None:
    made = RecordingBuilder()
    for number in range(SHOWN + 5):
        made.sample("worker", made.stack(f"{'x' * 1_000}.B.m{number:02}"), 1)
    (table,) = node_profile("", made.build(without("jdk.CPUTimeSample"))).tables
    assert len(table.rows) == SHOWN
    assert table.note == "5 more methods with 25.0 %."
    assert max(len(name) for row in table.rows for name in row.keys) <= 160


def test_a_recording_without_such_events_says_so() -> None:
    profile = node_profile("", RecordingBuilder().build(problems=("it was cut",)))
    assert (profile.tables, profile.flame) == ((), None)
    assert profile.notes == (
        "race.jfr: it was cut",
        "No samples of methods, allocations or waits for locks while tasks were measured",
    )
    many = RecordingBuilder().build(problems=tuple(f"problem {number}" for number in range(50)))
    assert node_profile("", many).notes[-1] == "48 more notes"


def test_recordings_of_many_nodes_are_named_but_not_kept() -> None:
    collector = ProfileCollector()
    assert collector.is_empty
    collector.miss("n0", "n0.jfr: it is\nno recording")
    for number in range(1, MOST_NODES + 2):
        collector.add(f"n{number}", RecordingBuilder().build())
    profiles = collector.profiles()
    assert not collector.is_empty
    assert [profile.node for profile in profiles] == ["n0", "n1", "n2", "n3"]
    assert profiles[0].problem == "n0.jfr: it is no recording"
    assert profiles[-1].notes[-1] == "Not shown: n4, n5"
