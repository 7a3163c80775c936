"""Tasks whose operations, parameters or pace come from plug-ins."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pacenote.errors import TrackError
from pacenote.model.plugin_names import PluginNames
from pacenote.model.track import Operation, Parallel, Task
from pacenote.model.work import Bulk, PythonRunner, PythonSource
from pacenote.plan.build import PlanContext, build_plan
from pacenote.plan.corpora import needed_documents
from pacenote.plan.document import Deterministic, Iterations, PlannedTask, PythonScheduler, TimePeriod
from pacenote.units import Rate
from plan.planning import BULK, LIBRARY, SEARCH, SETTINGS, task, track

PLUGINS = PluginNames(
    runners=frozenset({"put-elser", "refresh"}),
    param_sources=frozenset({"words", "lines"}),
    schedulers=frozenset({"daily"}),
)
CONTEXT = PlanContext(plugins=PLUGINS)
WORDS = Operation("w", "search", {"param-source": "words"})
LINES = Operation("l", "bulk", {"param-source": "lines", "bulk-size": 500})
PUT = Operation("p", "put-elser", {"model": "x"})


def planned(one: Task) -> PlannedTask:
    return build_plan(track(one), None, SETTINGS, CONTEXT).tasks[0]


def refused(*schedule: Task | Parallel) -> tuple[str, ...]:
    with pytest.raises(TrackError) as caught:
        build_plan(track(*schedule), None, SETTINGS, CONTEXT)
    return caught.value.problems


def test_a_source_supplies_native_operations() -> None:
    search, bulk = planned(task("a", WORDS)), planned(task("b", LINES))
    assert (search.work, search.unit, bulk.work, bulk.unit) == (
        PythonSource(64),
        "ops",
        PythonSource(4),
        "docs",
    )
    # Python knows whether the source ends, the plan does not.
    assert search.bound == bulk.bound == TimePeriod(0.0, None)
    assert planned(task("c", WORDS, iterations=3)).bound == Iterations(0, 3)


def test_runners_of_plugins_run_in_the_lane_also_in_place_of_built_in_types() -> None:
    assert planned(task("a", PUT)).work == PythonRunner()
    assert planned(task("b", Operation("r", "refresh"))).work == PythonRunner()
    assert planned(task("c", Operation("r", "put-elser", {"param-source": "words"}))).work == PythonRunner()


def test_the_source_of_bulks_can_be_chosen_by_name() -> None:
    reader = Operation("x", "bulk", {"param-source": "file-reader", "bulk-size": 10})
    assert isinstance(planned(task("a", reader)).work, Bulk)
    assert refused(task("b", Operation("y", "search", {"param-source": "file-reader", "body": {}}))) == (
        'b.param-source is "file-reader", which reads documents for bulk operations, not for search',
    )


def test_names_that_nobody_registered() -> None:
    assert refused(
        task("a", Operation("x", "search", {"param-source": "wordz"})),
        task("b", Operation("y", "put-elsr")),
        task("c", SEARCH, schedule="dayly"),
    ) == (
        'a.param-source is "wordz", which no plug-in of the track registers (did you mean "words"?)',
        'b of task "b": "put-elsr" is neither an operation of the track nor an operation type'
        ' (did you mean "put-elser" or "put-pipeline"?)',
        'c.schedule is "dayly", must be deterministic, poisson, uniform or a scheduler of a plug-in'
        ' (did you mean "daily"?)',
    )


def test_sources_of_operations_that_are_not_scheduled_may_be_missing() -> None:
    subject = replace(track(task("t")), operations=(Operation("x", "search", {"param-source": "gone"}),))
    assert build_plan(subject, None, SETTINGS, CONTEXT).tasks


def test_rates_in_documents() -> None:
    paced = planned(task("a", LINES, target_throughput=Rate(1000.0, "docs")))
    assert (paced.pace, paced.unit) == (Deterministic(0.5), "docs")
    pages = planned(task("b", PUT, target_throughput=Rate(10.0, "pages")))
    # Only its runner knows how many pages an operation has.
    assert (pages.pace, pages.unit) == (PythonScheduler(), "pages")
    assert planned(task("c", PUT, target_throughput=Rate(10.0))).pace == Deterministic(0.1)


def test_a_source_is_not_far_ahead_of_a_rate() -> None:
    assert planned(task("a", WORDS, target_throughput=Rate(1000.0))).work == PythonSource(64)
    assert planned(task("b", WORDS, target_throughput=Rate(40.0), clients=4)).work == PythonSource(11)
    assert planned(task("c", WORDS, target_interval=60.0)).work == PythonSource(2)


def test_schedulers_of_plugins() -> None:
    assert planned(task("a", schedule="daily")).pace == PythonScheduler()
    assert planned(task("a", schedule="daily", target_throughput=Rate(5.0))).pace == PythonScheduler()


def test_the_data_that_sources_name_is_prepared() -> None:
    subject = track(task("a", LINES), task("b", WORDS))
    pair = (LIBRARY, LIBRARY.documents[0])
    assert needed_documents(subject, subject.default_challenge) == ()
    named = needed_documents(
        subject, subject.default_challenge, lambda one: [pair] if one.name == "a" else []
    )
    assert named == (pair,)
    both = track(task("a", BULK), task("b", LINES))
    assert needed_documents(both, both.default_challenge, lambda _: [pair]) == (pair,)
