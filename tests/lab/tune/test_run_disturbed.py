"""Races of a search that were disturbed from outside are repeated at their place, once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from lab.experiment.test_run_disturbed import BUSY, MISSED, USED, WAITED, disturbed
from lab.tune.searches import RACE_S, RECORDS, Search, limit, search_plan
from lab.tune.test_run import KilledError
from pacenote.cli.lab.tune_progress import event_line
from pacenote.lab.child_command import ChildExit
from pacenote.lab.race_child import RaceCall
from pacenote.lab.tune.progress import REPEATED_SHARE
from pacenote.model.experiment import REPEATS_TAG
from pacenote.model.finding import Finding
from pacenote.model.tune import TuneEvent


def disturb(search: Search, is_disturbed: Callable[[int], bool], *findings: Finding) -> None:
    """Lets races of the search be disturbed whose numbers are chosen: they are half as fast."""

    def store(call: RaceCall) -> ChildExit:
        search.runner.store(call)
        if "-confirm" not in call.race_id and is_disturbed(int(call.race_id.rpartition("-")[2])):
            key = str(search.runner.races.races / call.race_id)
            RECORDS[key] = disturbed(RECORDS[key], findings or (WAITED,), BUSY)
        return ChildExit(0)

    search.runner.before = store


def searched(search: Search) -> list[TuneEvent]:
    return [event for event in search.folder.journal() if event.event == "ended"]


def test_a_disturbed_race_is_repeated_right_after_it(tmp_path):
    search = Search.of(tmp_path)
    disturb(search, lambda number: number == 5)
    state = search.run().state
    first, second = searched(search)[4:6]
    assert (first.outcome, first.objective) == ("disturbed", None)
    assert first.text.startswith(USED)
    assert (second.outcome, second.candidate, second.block) == ("raced", first.candidate, first.block)
    assert second.objective is not None
    calls = {call.race_id: call.options for call in search.runner.calls}
    assert calls[second.race_id]["user-tags"][REPEATS_TAG] == first.race_id
    assert calls[second.race_id]["seed"] == calls[first.race_id]["seed"]
    assert not any(
        REPEATS_TAG in options["user-tags"] for race, options in calls.items() if race != second.race_id
    )
    assert [end.race_id for end in state.disturbed] == [first.race_id]
    assert first not in state.ends
    assert state.seconds == RACE_S * state.started
    assert event_line(first, state).startswith(f"  repeated, because it was disturbed: {USED}")


def test_a_repetition_counts_whatever_it_shows(tmp_path):
    search = Search.of(tmp_path)
    disturb(search, lambda number: number in (5, 6))
    search.run()
    assert [end.outcome for end in searched(search)[4:7]] == ["disturbed", "raced", "raced"]


def test_at_most_a_share_of_the_races_is_repeated_and_none_that_warms_up(tmp_path):
    search = Search.of(tmp_path)
    disturb(search, lambda _number: True)
    state = search.run().state
    assert all(end.block for end in state.disturbed)
    assert 1 <= len(state.disturbed) <= max(1, len(state.ends) // REPEATED_SHARE)
    places = [(end.candidate, end.block) for end in state.disturbed]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize(
    "finding",
    [MISSED, replace(WAITED, tasks=("term",)), replace(WAITED, doubtful_from=99.0)],
    ids=["another reason, too", "another task", "another percentile"],
)
def test_what_counts_or_has_another_reason_is_not_repeated(tmp_path, finding):
    search = Search.of(tmp_path)
    disturb(search, lambda _number: True, finding)
    assert not search.run().state.disturbed


def test_a_limit_that_does_not_count_is_a_reason_too(tmp_path):
    search = Search.of(tmp_path, search_plan(constraints=(limit("p99:term", 50.0),)))
    disturb(search, lambda number: number == 5, replace(WAITED, tasks=("term",)))
    assert len(search.run().state.disturbed) == 1


def test_a_disturbed_race_that_ended_after_a_kill_is_repeated(tmp_path):
    search = Search.of(tmp_path)
    disturb(search, lambda number: number == 5)
    store = search.runner.before

    def kill(call: RaceCall) -> ChildExit | None:
        ended = store(call)
        if call.race_id.endswith("-005"):
            written = time.time()
            os.utime(search.runner.races.races / call.race_id / "race.json", (written, written))
            raise KilledError
        return ended

    search.runner.before = kill
    with pytest.raises(KilledError):
        search.run()
    search.runner.before = store
    state = search.run().state
    assert [end.race for end in state.disturbed] == [5]


def test_the_drift_goes_on_during_disturbed_races(tmp_path):
    """Without noise, the candidates differ by nothing but a drift, which is fitted exactly."""
    search = Search.of(tmp_path, noise=0.0, drift=0.01)
    disturb(search, lambda number: number in (5, 9, 20))
    means = search.run().state.means().means
    assert len(search.state.disturbed) >= 2
    assert max(map(abs, means.values())) < 1e-9
