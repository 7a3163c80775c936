"""Which tasks must succeed, and which change the engine."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from pacenote.model.plugin_names import PluginNames
from pacenote.model.track import Operation, Parallel, Task
from pacenote.plan.build import PlanContext, build_plan
from pacenote.plan.document import OnError, Plan
from pacenote.plan.preparation import needed_steps
from plan.planning import BULK, SEARCH, SETTINGS, plan, task, track

CREATE = Operation("create", "create-index")
REFRESH = Operation("refresh", "refresh")


def must_succeed(planned: Plan) -> list[str]:
    return [task.name for task in planned.tasks if task.must_succeed]


def test_administrative_tasks_must_succeed_unless_they_run_beside_others_or_tolerate_errors() -> None:
    schedule: tuple[Task | Parallel, ...] = (
        task("create", CREATE),
        task("tolerant", REFRESH, tolerates_errors=True),
        Parallel((task("first", REFRESH), task("second", REFRESH))),
        Parallel((task("beside", REFRESH, clients=1, iterations=3), task("index", BULK))),
        task("search"),
    )
    assert must_succeed(plan(*schedule)) == ["create", "first", "second"]


@pytest.mark.parametrize("on_error", list(OnError))
def test_no_task_must_succeed_if_the_user_selects_what_a_failure_does(on_error: OnError) -> None:
    settings = replace(SETTINGS, on_error=on_error)
    planned = build_plan(track(task("create", CREATE)), None, settings, PlanContext())
    assert (must_succeed(planned), planned.driver.on_error) == ([], on_error)


def test_steps_that_only_read_are_not_needed() -> None:
    search = {"operation-type": "search", "name": "s", "body": {}}
    streams = [{"stream": [search, {"operation-type": "sleep", "duration": 1}]}]
    searches = Operation("searches", "composite", {"requests": streams})
    raw = {"operation-type": "raw-request", "name": "r", "path": "/x", "method": "POST"}
    posts = Operation("posts", "composite", {"requests": [search, raw]})
    own = Operation("own", "of-a-plugin")
    names = (
        *("create", "index", "refresh", "search", "stats", "searches", "posts", "own", "mixed"),
        "last",
    )
    operations = (
        *(CREATE, BULK, REFRESH, SEARCH, Operation("stats", "node-stats"), searches, posts, own),
        *(SEARCH, SEARCH),
    )
    schedule: list[Task | Parallel] = [
        task(name, operation) for name, operation in zip(names, operations, strict=True)
    ]
    schedule[8] = Parallel((task("mixed"), task("writes", BULK)))
    plugins = PluginNames(runners=frozenset({"of-a-plugin"}))
    planned = build_plan(track(*schedule), None, SETTINGS, PlanContext(plugins=plugins))
    needed = [step.name for step in needed_steps(planned, 9)]
    assert needed == ["create", "index", "refresh", "posts", "own", "mixed, writes"]
    assert [step.name for step in needed_steps(planned, 2)] == ["create", "index"]
