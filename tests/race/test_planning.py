"""A challenge that only searches is rejected on a new engine, which has no indices."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacenote.errors import UsageError
from pacenote.model.plugin_names import NO_PLUGINS, PluginNames
from pacenote.model.race_request import Pipeline, RaceRequest
from pacenote.model.track import Challenge, Operation
from pacenote.race.planning import check_searched_indices
from plan.planning import task

PLUGIN = PluginNames(runners=frozenset({"fill"}))


def check(*types: str, plugins: PluginNames = NO_PLUGINS, pipeline: Pipeline = "from-distribution") -> None:
    """Checks a challenge with one task per operation type."""
    schedule = tuple(task(name, Operation(name, name)) for name in types)
    request = RaceRequest(race_id="r", home=Path("/home"), pipeline=pipeline)
    check_searched_indices(request, Challenge("c", schedule), plugins)


@pytest.mark.parametrize(
    "first",
    ["bulk", "composite", "create-data-stream", "create-index", "raw-request", "restore-snapshot"],
)
def test_operations_that_may_create_indices_allow_searches(first: str) -> None:
    check(first, "search")


@pytest.mark.parametrize("search", ["search", "paginated-search", "scroll-search", "composite-agg"])
def test_a_challenge_that_only_searches_is_rejected_on_a_new_engine(search: str) -> None:
    with pytest.raises(UsageError, match="challenge 'c' searches indices that a new engine does not have"):
        check("refresh", search)
    check("refresh", search, pipeline="benchmark-only")


def test_searches_are_allowed_after_a_plugin_and_other_operations_need_no_indices() -> None:
    check("fill", "search", plugins=PLUGIN)
    check("refresh", "cluster-health")
