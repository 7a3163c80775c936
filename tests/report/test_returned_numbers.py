"""The numbers of runners on the last screen and the page of a race, and in its report."""

from __future__ import annotations

from msgspec.structs import replace

from compare.quality_races import returned
from compare.races import race, search
from pacenote.model.race_state import race_state
from pacenote.report.returned_numbers import returned_numbers
from pacenote.report.screen.build import RaceLocation, build_screen
from support.records import record

META = {"knn": {"quality-metrics": {"distance": {"direction": "lower", "unit": "m"}}}}


def values(**own):
    knn = replace(search(task="knn"), values=own)
    return race("r", tasks=(search(task="term"), knn), task_meta=META)


def test_quality_comes_first_with_its_interval_and_the_operations_that_have_it():
    raced = values(
        x=replace(returned(4.0), count=10**9),
        recall=returned(0.93, 0.01),
        distance=replace(returned(2.5), count=10**9),
        start_time_millis=returned(1.0),
    )
    (line,) = returned_numbers(raced, raced.tasks)
    assert line == (
        "knn: mean recall 0.93 (95 % interval 0.92 … 0.94, of 500 operations), mean distance 2.5 m, mean x 4"
    )


def test_the_last_screen_has_them():
    raced = values(recall=returned(0.93, 0.01))
    location = RaceLocation("/races/r", "r", race_state(raced))
    screen = build_screen(raced, location)
    assert screen.footnotes[0].startswith("knn: mean recall 0.93")


def test_races_without_such_numbers_have_no_line():
    assert list(returned_numbers(record(), record().tasks)) == []
