"""The names of what a search runs, in its progress."""

from __future__ import annotations

from typing import Any

from lab.test_saturate import Listener
from pacenote.lab.progress import ActivityListener, level_name, probe_name
from pacenote.model.race_progress import RaceProgress, TimeLeft


class ProgressListener(Listener):
    """Keeps the progress that it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[RaceProgress] = []

    def progress(self, progress: Any) -> None:
        self.told.append(progress)


def test_progress_has_the_name_of_the_probe_and_not_its_end_as_that_of_the_search() -> None:
    listener = ProgressListener()
    name = probe_name(3, 25.0)
    ActivityListener(listener, name).progress(RaceProgress(1, 1, 2.0, (), left=TimeLeft(3.0, True)))
    assert listener.told == [RaceProgress(1, 1, 2.0, (), activity="probe 3 of 10–30 (25 s)")]


def test_later_probes_and_levels_have_names() -> None:
    assert probe_name(31, 605.0) == "probe 31 (10 min 5 s)"
    assert level_name(1, 2, 3) == "sweep: 1 client, 2 of 3"
    assert level_name(4, 1, 3) == "sweep: 4 clients, 1 of 3"
