"""Tasks whose operations, parameters or pacing come from plug-ins."""

from __future__ import annotations

import dataclasses

import pytest

from pacenote.errors import TrackError
from pacenote.model.plugin_names import PluginNames
from pacenote.model.track import Operation, Parallel, Task
from pacenote.model.work import BulkWork, PythonRunner, PythonSource
from pacenote.plan.build import PlanContext, build_plan
from pacenote.plan.document import Iterations, PlannedTask, TimePeriod
from plan.planning import SEARCH, SETTINGS, task, track

PLUGINS = PluginNames(
    runners=frozenset({"put-elser", "refresh"}),
    param_sources=frozenset({"words", "lines"}),
    schedulers=frozenset({"daily"}),
)
CONTEXT = PlanContext(plugins=PLUGINS)
SUPPLIED_SEARCH = Operation("w", "search", {"param-source": "words"})
LINES = Operation("l", "bulk", {"param-source": "lines", "bulk-size": 500})
PUT = Operation("p", "put-elser", {"model": "x"})


def planned(single: Task) -> PlannedTask:
    return build_plan(track(single), None, SETTINGS, CONTEXT).tasks[0]


def refused(*schedule: Task | Parallel) -> tuple[str, ...]:
    with pytest.raises(TrackError) as caught:
        build_plan(track(*schedule), None, SETTINGS, CONTEXT)
    return caught.value.problems


def test_a_source_supplies_operations_that_the_driver_runs() -> None:
    search, bulk = planned(task("a", SUPPLIED_SEARCH)), planned(task("b", LINES))
    assert (search.work, search.unit, bulk.work, bulk.unit) == (
        PythonSource(64),
        "ops",
        PythonSource(4),
        "docs",
    )
    # The plan does not know whether the source ends; only its Python code does.
    assert search.bound == bulk.bound == TimePeriod(0.0, None)
    assert planned(task("c", SUPPLIED_SEARCH, iterations=3)).bound == Iterations(0, 3)


def test_runners_of_plugins_replace_built_in_types() -> None:
    assert planned(task("a", PUT)).work == PythonRunner()
    assert planned(task("b", Operation("r", "refresh"))).work == PythonRunner()
    assert planned(task("c", Operation("r", "put-elser", {"param-source": "words"}))).work == PythonRunner()


def test_a_source_does_not_change_the_unit_of_a_type_that_runs_in_python() -> None:
    parameters = {"transform-id": "x", "repository": "r", "snapshot": "s"}
    for kind, unit in (("wait-for-transform", "docs"), ("wait-for-snapshot-create", "byte")):
        for params in (parameters, {"param-source": "words"}):
            work = planned(task("a", Operation("w", kind, params)))
            assert (work.work, work.unit) == (PythonRunner(), unit)


def test_the_built_in_bulk_source_can_be_specified() -> None:
    reader = Operation("x", "bulk", {"param-source": "file-reader", "bulk-size": 10})
    assert isinstance(planned(task("a", reader)).work, BulkWork)
    assert refused(task("b", Operation("y", "search", {"param-source": "file-reader", "body": {}}))) == (
        'b.param-source is "file-reader", which reads documents for bulk operations, not for search',
    )


def test_unregistered_names_are_reported() -> None:
    assert refused(
        task("a", Operation("x", "search", {"param-source": "wordz"})),
        task("b", Operation("y", "put-elsr")),
        task("c", SEARCH, schedule="dayly"),
    ) == (
        'a.param-source is "wordz", which no plug-in of the track registers (did you mean "words"?)',
        'b of task "b": "put-elsr" is neither an operation of the track nor an operation type'
        ' (did you mean "put-elser"?)',
        'c.schedule is "dayly", but must be deterministic, poisson, uniform or a scheduler of a plug-in'
        ' (did you mean "daily"?)',
    )


def test_sources_of_unscheduled_operations_may_be_missing() -> None:
    subject = dataclasses.replace(
        track(task("t")), operations=(Operation("x", "search", {"param-source": "gone"}),)
    )
    assert build_plan(subject, None, SETTINGS, CONTEXT).tasks
