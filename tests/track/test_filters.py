"""Filters determine which tasks are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import UsageError
from pacenote.model.track import Parallel, Track
from pacenote.model.track_request import TrackRequest
from pacenote.track.filters import filter_tasks, unmatched_filters
from pacenote.track.prepare import load_selected_track
from track.builders import load

SCHEDULE: list[dict[str, Any]] = [
    {"name": "a", "operation": "read", "tags": ["setup", "x"]},
    {
        "parallel": {
            "completed-by": "c",
            "tasks": [{"name": "b", "operation": "read"}, {"name": "c", "operation": "refresh", "tags": "x"}],
        }
    },
    {"name": "d: odd", "operation": {"operation-type": "sleep", "duration": 1}},
]


def names(track: Track) -> list[str | list[str]]:
    (challenge,) = track.challenges
    return [
        [task.name for task in element.tasks] if isinstance(element, Parallel) else element.name
        for element in challenge.schedule
    ]


@pytest.mark.parametrize(
    ("include", "exclude", "left"),
    [
        ((), (), ["a", ["b", "c"], "d: odd"]),
        (("a",), (), ["a"]),
        (("b",), (), [["b"]]),
        (("type:search",), (), ["a", ["b"]]),
        (("tag:x", "d: odd"), (), ["a", ["c"], "d: odd"]),
        ((), ("b",), ["a", ["c"], "d: odd"]),
        ((), ("type:search",), [["c"], "d: odd"]),
        ((), ("b", "c"), ["a", "d: odd"]),
        ((), ("tag:setup", "type:sleep"), [["b", "c"]]),
    ],
)
def test_tasks_are_filtered(
    tmp_path: Path, include: tuple[str, ...], exclude: tuple[str, ...], left: list[Any]
) -> None:
    track = load(tmp_path, schedule=SCHEDULE)
    assert names(filter_tasks(track, include, exclude)) == left
    assert names(track) == ["a", ["b", "c"], "d: odd"]


def test_a_removed_task_does_not_complete_its_parallel_element(tmp_path: Path) -> None:
    track = load(tmp_path, schedule=SCHEDULE)
    (with_c,) = filter_tasks(track, ("c",), ()).challenges[0].schedule
    (without_c,) = filter_tasks(track, ("b",), ()).challenges[0].schedule
    assert isinstance(with_c, Parallel)
    assert isinstance(without_c, Parallel)
    assert (with_c.completed_by, without_c.completed_by) == ("c", None)


def test_filters_that_match_nothing_are_reported_with_similar_names(tmp_path: Path) -> None:
    track = load(tmp_path, schedule=SCHEDULE)
    unknown = ("type:serch", "tag:setups", "none")
    text = (
        f'track "{track.name}" has no operation type "serch" (did you mean "search"?), '
        'and no tag "setups" (did you mean "setup"?), and no task "none"'
    )
    assert unmatched_filters(track, ("a", *unknown), ()) == (f"--include-tasks: {text}",)
    assert unmatched_filters(track, (), unknown) == (f"--exclude-tasks: {text}",)
    assert unmatched_filters(track, (), ("a", "tag:x")) == unmatched_filters(track, (), ()) == ()
    assert names(filter_tasks(track, (), unknown)) == names(track)


def test_included_tasks_of_which_there_are_none_are_an_error(tmp_path: Path) -> None:
    track = load(tmp_path, schedule=SCHEDULE)
    with pytest.raises(UsageError, match=r'^--include-tasks: track ".*" has no task "none"$') as caught:
        unmatched_filters(track, ("none",), (), "pacenote info --track=x")
    assert "`pacenote info --track=x` lists the tasks" in caught.value.hint


def test_filters_that_match_nothing_are_warnings_of_a_track(tmp_path: Path) -> None:
    load(tmp_path, schedule=SCHEDULE)
    request = TrackRequest(home=tmp_path, track_path=tmp_path, exclude_tasks=("a", "none"))
    warnings = load_selected_track(request).located.warnings
    assert [text for text in warnings if text.startswith("--exclude-tasks: ")] == [
        f'--exclude-tasks: track "{tmp_path.name}" has no task "none"'
    ]
