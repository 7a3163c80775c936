"""A challenge that only searches is rejected on a new engine, which has no indices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pacenote.errors import UsageError
from pacenote.model.engine_options import EngineOptions
from pacenote.model.plugin_names import NO_PLUGINS, PluginNames
from pacenote.model.race_request import Pipeline, RaceRequest
from pacenote.model.source_options import SourceOptions
from pacenote.model.track import Challenge, Operation, Task, Track
from pacenote.race.planning import check_searched_indices, expected_engine
from pacenote.track.locate import LocatedTrack
from pacenote.track.prepare import PreparedTrack
from pacenote.track.source import TrackSource
from plan.planning import task

PLUGIN = PluginNames(runners=frozenset({"fill"}))


def tasks(*types: str) -> tuple[Task, ...]:
    """Returns one task per operation type, which has its name."""
    return tuple(task(name, Operation(name, name)) for name in types)


def prepared(*types: str, excluded: tuple[str, ...] = (), others: tuple[str, ...] = ()) -> PreparedTrack:
    """Returns a track whose challenge has these types; another challenge has `others`."""
    challenge = Challenge("c", tasks(*types))
    track = Track("t", Path("/t"), (challenge, Challenge("other", tasks(*others))))
    located = LocatedTrack(TrackSource("t", Path("/t"), Path("/t/track.json")))
    return PreparedTrack(track, challenge, located, excluded=tasks(*excluded))


def check(*types: str, plugins: PluginNames = NO_PLUGINS, pipeline: Pipeline = "from-distribution") -> None:
    """Checks a challenge with one task per operation type."""
    request = RaceRequest(race_id="r", home=Path("/home"), pipeline=pipeline)
    check_searched_indices(request, prepared(*types), plugins)


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


@pytest.mark.parametrize(
    ("include", "subject", "hint"),
    [
        (
            ("search",),
            prepared("search", excluded=("delete-index", "create-index", "bulk")),
            "include the tasks that create them, --include-tasks=create-index,bulk,search; or ",
        ),
        (
            ("$(touch /tmp/p)",),
            prepared("search", excluded=("create-index",)),
            "include the tasks that create them, "
            r"--include-tasks\=create-index\,\$\(touch\ /tmp/p\); or ",
        ),
        (
            (),
            prepared("search", excluded=("create-index",)),
            "do not exclude create-index, which create them; or ",
        ),
        (
            (),
            prepared("search", excluded=("refresh",), others=("fill", "search")),
            "choose a challenge that creates them, such as --challenge=other; or ",
        ),
        ((), prepared("search", others=("refresh",)), ""),
    ],
)
def test_the_hint_says_how_the_race_can_create_the_indices(
    include: tuple[str, ...], subject: PreparedTrack, hint: str
) -> None:
    request = RaceRequest(race_id="r", home=Path("/home"), include_tasks=include)
    with pytest.raises(UsageError, match=re.escape("searches indices")) as caught:
        check_searched_indices(request, subject, PLUGIN)
    assert caught.value.hint == (
        f"{hint}use data that has them, with --data=restore:NAME, or a cluster, with --target-hosts"
    )


@pytest.mark.parametrize(
    ("source", "version", "branch"),
    [
        (None, "", "7.17.28"),
        (None, "8.17.0", "8.17.0"),
        (SourceOptions(), "", ""),
        (SourceOptions(), "9.1.0-SNAPSHOT", "9.1.0-SNAPSHOT"),
    ],
)
def test_sources_of_unknown_version_select_the_newest_branch(
    source: SourceOptions | None, version: str, branch: str
) -> None:
    engine = EngineOptions(distribution="elasticsearch", distribution_version=version, source=source)
    request = RaceRequest(race_id="r", home=Path("/home"), engine=engine)
    assert expected_engine(request, None).track_version == branch
