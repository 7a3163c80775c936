"""Tasks that cannot run on a serverless cluster are removed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pacenote.track.prepare import describe_left_out, for_serverless
from track.builders import load


def named(name: str, kind: str, **keys: Any) -> dict[str, Any]:
    on_task = {"run-on-serverless": keys.pop("task")} if "task" in keys else {}
    return {"name": name, "operation": {"operation-type": kind, **keys}, **on_task}


SCHEDULE = [
    named("health", "cluster-health"),
    {"parallel": {"tasks": [named("merge", "force-merge"), named("search", "search", body={})]}},
    named("raw", "raw-request", path="/"),
    named("mine", "type-of-a-plugin"),
    named("allowed", "index-stats", **{"run-on-serverless": True}),
    named("forbidden", "search", body={}, **{"run-on-serverless": "false"}),
    named("task-wins", "search", body={}, task=False, **{"run-on-serverless": True}),
]


@pytest.mark.parametrize(
    ("operator", "kept"),
    [
        (False, ["search", "raw", "mine", "allowed"]),
        (True, ["health", "merge", "search", "raw", "mine", "allowed"]),
    ],
)
def test_tasks_that_serverless_does_not_allow_are_left_out(
    tmp_path: Path, operator: bool, kept: list[str]
) -> None:
    track = load(tmp_path, schedule=SCHEDULE)
    cut = for_serverless(track, operator=operator)
    assert [task.name for task in cut.challenges[0].tasks()] == kept


def test_tasks_that_are_left_out_are_reported(tmp_path: Path) -> None:
    track = load(tmp_path, schedule=SCHEDULE[:2])
    cut = for_serverless(track, operator=False)
    assert describe_left_out(track.challenges[0], cut.challenges[0]) == (
        'left out because they cannot run on serverless: "health", "merge"'
    )
    assert describe_left_out(cut.challenges[0], cut.challenges[0]) == ""
