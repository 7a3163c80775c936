"""Helpers that plan a small track."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import TrackError
from pacenote.model.track import Challenge, Corpus, Documents, Index, Operation, Parallel, Task, Track
from pacenote.plan.build import PlanContext, PlanSettings, build_plan
from pacenote.plan.document import Plan, PlannedTask, TargetHost

SEARCH = Operation("find", "search", {"body": {}})
BULK = Operation("append", "bulk", {"bulk-size": 100})
LOOPED = Operation("endless", "bulk", {"bulk-size": 100, "looped": True})
NAP = Operation("nap", "sleep", {"duration": 1})
SETTINGS = PlanSettings(race_id="r", seed=7, hosts=(TargetHost("http", "127.0.0.1", 9200),))
LIBRARY = Corpus("library", (Documents("books.json", document_count=1000, target_index="books"),))


def task(name: str, operation: Operation = SEARCH, **fields: Any) -> Task:
    """Returns a task whose name is also its key path."""
    return Task(name, operation, key_path=(name,), **fields)


def track(*schedule: Task | Parallel) -> Track:
    """Returns a track with one challenge, which has this schedule."""
    return Track(
        name="t",
        root=Path("/t"),
        challenges=(Challenge("c", schedule, default=True),),
        indices=(Index("books"),),
        corpora=(LIBRARY,),
        operations=(SEARCH, BULK),
    )


def plan(*schedule: Task | Parallel) -> Plan:
    """Plans a schedule."""
    return build_plan(track(*schedule), None, SETTINGS, PlanContext())


def planned(single: Task) -> PlannedTask:
    """Plans a single task."""
    return plan(single).tasks[0]


def refused(*schedule: Task | Parallel) -> tuple[str, ...]:
    """Returns the problems that prevent a schedule from being planned."""
    with pytest.raises(TrackError) as caught:
        plan(*schedule)
    return caught.value.problems
