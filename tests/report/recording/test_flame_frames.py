"""The frames of a flame graph of bounded size are the heaviest ones, below their callers."""

from __future__ import annotations

import time

from pacenote.report.recording.events import CPU
from pacenote.report.recording.flame_frames import (
    LEAST_SHARE,
    MOST_FRAMES,
    MOST_LEVELS,
    FlameFrames,
    flame_frames,
)
from support.recordings import RecordingBuilder


def frames(made: RecordingBuilder) -> FlameFrames:
    recording = made.build()
    return flame_frames(recording, CPU, tuple(CPU.groups(recording)))


def test_frames_are_within_their_callers_and_beside_each_other() -> None:
    made = RecordingBuilder()
    for leaf, count in (("a.A.x", 50), ("a.A.y", 30), ("a.A.z", 20)):
        made.sample("t", made.stack(leaf, "a.A.run"), count)
    graph = frames(made)
    assert [(each.name, each.level, round(each.x, 9), each.share) for each in graph.frames] == [
        ("a.A.run", 0, 0.0, 1.0),
        ("a.A.x", 1, 0.0, 0.5),
        ("a.A.y", 1, 0.5, 0.3),
        ("a.A.z", 1, 0.8, 0.2),
    ]
    assert (graph.levels, graph.left_out, graph.is_cut) == (2, 0.0, False)


def test_light_frames_are_left_out_and_their_share_is_known() -> None:
    made = RecordingBuilder()
    made.sample("t", made.stack("a.A.heavy"), 99_900)
    made.sample("t", made.stack("a.A.light"), 100)
    graph = frames(made)
    assert [each.name for each in graph.frames] == ["a.A.heavy"]
    assert graph.left_out == 0.001 < LEAST_SHARE


def test_a_recording_of_very_many_stacks_is_drawn_in_bounded_size_and_time() -> None:
    made = RecordingBuilder()
    for number in range(3_000):
        own = [f"a.S{number}.m{depth}" for depth in range(100)]
        made.sample("t", made.stack(*own, "a.Main.run"), 1 + number % 7)
    for number in range(MOST_FRAMES + 100):
        made.sample("t", made.stack(f"b.B.m{number}"), 500)
    begin = time.process_time()
    graph = frames(made)
    assert time.process_time() - begin < 20
    assert len(graph.frames) == MOST_FRAMES
    assert graph.left_out > LEAST_SHARE
    assert all(each.x >= 0.0 and each.x + each.share <= 1.0 + 1e-9 for each in graph.frames)


def test_deep_stacks_are_cut() -> None:
    made = RecordingBuilder()
    made.sample("t", made.stack(*(f"a.A.m{depth}" for depth in range(2 * MOST_LEVELS))), 1)
    graph = frames(made)
    assert (graph.levels, graph.is_cut) == (MOST_LEVELS, True)
