"""Stalls of tasks, and the pauses in them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from pacenote.model.race_timeline import GcPause
from pacenote.report.page.race import stalls
from pacenote.report.page.race.stalls import find_stalls
from report.page.race.observed import line, observed, pause, point, timeline
from support.records import task

USUAL = [100, 0]
"""Seconds of a task, of which every second one is a stall."""


class Counted(tuple[Any, ...]):
    """Counts how often it is iterated over."""

    iterations = 0

    def __iter__(self) -> Iterator[Any]:
        type(self).iterations += 1
        return super().__iter__()


def test_many_stalls_do_not_each_look_at_all_pauses() -> None:
    pauses = Counted(pause(each, 10.0) for each in range(1_000))
    seen = observed(timeline(search=line([*USUAL * 300, 100, 100])), pauses=pauses, has_gc_log=True)
    many = find_stalls([task(duration_s=602.0)], seen)
    assert len(many) == 300
    assert Counted.iterations <= 1
    assert [stall.gc_ms for stall in many[:2]] == [10.0, 10.0]


def test_pauses_that_overlap_all_count() -> None:
    draw = random.Random(1)
    pauses = [pause(draw.uniform(0, 40), draw.choice([0.0, 5.0, 300.0, 9_000.0])) for _ in range(200)]
    seen = observed(timeline(search=line([*USUAL * 20, 100, 100])), pauses=tuple(pauses), has_gc_log=True)

    def overlap_ms(gc_pause: GcPause, from_s: float, to_s: float) -> float:
        return max(0.0, min(to_s, gc_pause.at_s + gc_pause.ms / 1000) - max(from_s, gc_pause.at_s)) * 1000

    for stall in find_stalls([task(duration_s=42.0)], seen):
        expected = sum(overlap_ms(each, stall.from_s, stall.to_s) for each in pauses)
        assert stall.gc_ms == pytest.approx(expected, abs=1e-3)


def test_simultaneous_pauses_of_nodes_are_not_added_up() -> None:
    pauses = (pause(8.05, 900.0, node="a"), pause(8.04, 950.0, node="b"), pause(8.05, 900.0, node="c"))
    operations = [100] * 8 + [0] + [100] * 8
    seen = observed(timeline(search=line(operations)), pauses=pauses, has_gc_log=True)
    (stall,) = find_stalls([task(duration_s=17.0)], seen)
    assert (stall.gc_ms, stall.gc_node) == (pytest.approx(950.0), "b")


def test_the_longest_of_many_stalls_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalls, "MOST_STALLS", 2)
    operations = [100, 0, 100, 0, 0, 0, 100, 0, 100, 0, 0, *[100] * 9]
    points = tuple(point(second, count) for second, count in enumerate(operations) if count)
    seen = observed(timeline(search=line(operations, points=points)))
    longest = find_stalls([task(duration_s=20.0)], seen)
    assert [(stall.from_s, stall.to_s) for stall in longest] == [(3.0, 6.0), (9.0, 11.0)]
