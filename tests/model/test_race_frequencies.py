"""Races whose processors were not equally fast are told apart, if that is known of all."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pacenote.model.race_frequencies import changed_frequency
from pacenote.model.race_record import RaceRecord
from pacenote.model.task_observations import KEY, TaskObservation, with_observations
from support.records import record


def race(**hertz: float | None) -> RaceRecord:
    observations = {task: TaskObservation(busy_frequency_hz=value) for task, value in hertz.items()}
    return with_observations(record(), observations)


def test_the_task_with_the_largest_change_is_named() -> None:
    baseline = [race(index=3.0e9, term=3.4e9), race(index=3.1e9, term=3.4e9), race(index=3.2e9, term=3.4e9)]
    change = changed_frequency(baseline, [race(index=3.0e9, term=2.9e9)])
    assert change is not None
    assert (change.task, change.baseline_hz, change.contender_hz) == ("term", 3.4e9, 2.9e9)
    assert change.share == pytest.approx(0.5 / 3.4)
    other_way = changed_frequency([race(index=2.0e9)], [race(index=2.5e9)])
    assert other_way is not None
    assert other_way.share == pytest.approx(0.2)


def test_what_is_not_known_of_all_races_is_not_compared() -> None:
    assert changed_frequency([race(index=3e9), record()], [race(index=2e9)]) is None
    assert changed_frequency([race(index=3e9)], [race(index=None)]) is None
    assert changed_frequency([race(index=3e9)], [race(term=2e9)]) is None


def test_a_frequency_survives_the_record() -> None:
    stored = race(index=3e9).telemetry[KEY]
    assert isinstance(stored, dict)
    assert TaskObservation.from_document(stored["index"]) == TaskObservation(busy_frequency_hz=3e9)


@pytest.mark.parametrize("value", ["3e9", None, -1, [], {}])
def test_a_frequency_of_another_form_is_left_out(value: object) -> None:
    strange = replace(record(), telemetry={KEY: {"index": {"busy_frequency_hz": value}, "term": value}})
    assert changed_frequency([strange], [strange]) is None
