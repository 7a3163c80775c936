"""Requests, checks, weights and problems of the basic operation types."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from operations.compiling import compiled, context, refused, requests, track
from pacenote.model.engine import EngineInfo
from pacenote.model.track import DataStream, Index
from pacenote.model.work import (
    Capture,
    CheckAcknowledged,
    CheckCondition,
    CheckEmpty,
    CheckEsql,
    CheckHealth,
    CheckNoError,
    CheckSearch,
    CheckShards,
    CheckTask,
    HealthStatus,
    Placeholder,
    PollPolicy,
    Request,
    Sleep,
)
from pacenote.operations.types.create_index import compatible_body

JSON = (("content-type", "application/json"),)
TWO = track(indices=(Index("a", {"settings": {"x": 1, "y": 1}}), Index("b")))
STREAM = track(indices=(), data_streams=(DataStream("s"),))
NOTHING = track(indices=())


def test_sleep_waits_for_its_duration() -> None:
    assert compiled("sleep", duration=0.5).work == Sleep(0.5)
    assert refused("sleep") == ("operations[0].duration is missing",)
    assert refused("sleep", duration=-1) == ("operations[0].duration is -1, but must be at least 0",)


def test_refresh_sends_one_request() -> None:
    assert requests("refresh") == (Request("POST", "/_refresh", check=CheckShards()),)
    assert requests("refresh", index="a,b")[0].path == "/a,b/_refresh"


def test_search_sends_its_body_to_the_only_index() -> None:
    (request,) = requests("search", body={"query": {"match_all": {}}})
    body = '{"query":{"match_all":{}}}'
    assert request == Request("POST", "/books/_search", JSON, body, check=CheckSearch())


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"index": "logs-*"}, "/logs-*/_search"),
        ({"index": ["a", "b"]}, "/a,b/_search"),
        ({"data-stream": "s"}, "/s/_search"),
        ({"cache": True}, "/books/_search?request_cache=true"),
        ({"cache": False}, "/books/_search?request_cache=false"),
        ({"results-per-page": 100}, "/books/_search?size=100"),
        ({"request-params": {"preference": "_local"}}, "/books/_search?preference=_local"),
        ({"detailed-results": True, "response-compression-enabled": False}, "/books/_search"),
        ({"pages": None}, "/books/_search"),
    ],
)
def test_parameters_of_a_search_become_its_path(params: dict[str, Any], path: str) -> None:
    assert requests("search", body={}, **params)[0].path == path


def test_a_search_may_request_an_uncompressed_reply() -> None:
    (search,) = requests(
        "search", body={}, **{"response-compression-enabled": False, "headers": {"X-A": "b"}}
    )
    assert search.headers == (
        ("x-a", "b"),
        ("accept-encoding", "identity"),
        ("content-type", "application/json"),
    )
    assert requests("search", body={})[0].headers == (("content-type", "application/json"),)


def test_a_search_uses_the_only_data_stream_by_default() -> None:
    assert requests("search", STREAM, body={})[0].path == "/s/_search"


def test_a_body_written_as_text_is_sent_unchanged() -> None:
    assert requests("search", body='{ "size": 1 }')[0].body == '{ "size": 1 }'


def test_a_format_that_the_driver_cannot_read_is_reported() -> None:
    problem = (
        'operations[0].request-params.format is "yaml", but the driver must read the response, '
        "which must be JSON"
    )
    asked: dict[str, Any] = {
        "body": {"query": "SELECT 1", "sort": ["a"]},
        "request_params": {"format": "yaml"},
    }
    for kind in ("search", "scroll-search", "paginated-search", "sql"):
        assert refused(kind, **asked, pages=2) == (problem,), kind
    # Nothing but the status of these is judged.
    assert len(requests("sql", **asked)) == 1
    assert len(requests("raw-request", path="/_cat/indices", **asked)) == 1
    assert len(requests("search", body={}, request_params={"format": "JSON"})) == 1


def test_problems_of_search_are_reported() -> None:
    assert refused("search", TWO) == (
        "operations[0].index is missing, and the track has no single index or data stream to search",
        "operations[0].body is missing",
    )
    assert refused("search", body=[1]) == ("operations[0].body must be an object",)


def test_raw_request_sends_a_get_request_by_default() -> None:
    (request,) = requests("raw-request", path="/_cat/nodes", request_params={"v": True})
    assert request == Request("GET", "/_cat/nodes?v=true", ignored_weight=1)


def test_raw_request_uses_all_its_parameters() -> None:
    (request,) = requests(
        "raw-request", path="/a?b=1", method="put", body={"é": 1}, ignore=[404, 409], headers={"A": "b"},
        request_params={"c": 2},
    )  # fmt: skip
    assert request == Request(
        "PUT", "/a?b=1&c=2", (("a", "b"), *JSON), '{"é":1}', ignore=(404, 409), ignored_weight=1
    )


def test_a_raw_request_may_have_a_body_of_several_lines() -> None:
    headers = {"content-type": "application/x-ndjson"}
    (request,) = requests("raw-request", path="/_msearch", headers=headers, body=[{}, {"size": 1}])
    assert (request.body, request.headers) == (
        '{}\n{"size":1}\n',
        (("content-type", "application/x-ndjson"),),
    )


def test_problems_of_raw_request_are_reported() -> None:
    assert refused("raw-request", path="a", method="JUMP", ignore=["x"]) == (
        'operations[0].path is "a", but must start with /',
        'operations[0].method is "JUMP", but must be one of GET, POST, PUT, DELETE, HEAD',
        'operations[0].ignore is ["x"], but must be an HTTP status or a list of them',
    )
    assert refused("raw-request") == ("operations[0].path is missing",)


def test_create_index_creates_all_indices_of_the_track() -> None:
    first, second = requests("create-index", TWO)
    assert first == Request("PUT", "/a", JSON, '{"settings":{"x":1,"y":1}}', check=CheckAcknowledged())
    assert second == Request("PUT", "/b", check=CheckAcknowledged())
    assert compiled("create-index", TWO).weight == 2


def test_create_index_merges_settings_shallowly() -> None:
    first, second = requests("create-index", TWO, settings={"y": 2, "z": {"d": 1}})
    assert json.loads(first.body or "") == {"settings": {"x": 1, "y": 2, "z": {"d": 1}}}
    assert json.loads(second.body or "") == {"settings": {"y": 2, "z": {"d": 1}}}
    assert TWO.indices[0].body == {"settings": {"x": 1, "y": 1}}


def test_create_index_creates_only_the_specified_index() -> None:
    assert [request.path for request in requests("create-index", TWO, index="b")] == ["/b"]
    explicit = requests("create-index", NOTHING, index="n", body={"mappings": {}})
    assert explicit == (Request("PUT", "/n", JSON, '{"mappings":{}}', check=CheckAcknowledged()),)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("put-settings", {"body": {}}),
        ("put-pipeline", {"id": "p", "body": {}}),
        ("downsample", {}),
        ("create-snapshot-repository", {"repository": "r", "body": {}}),
        ("start-transform", {"transform_id": "t"}),
        ("delete-transform", {"transform_id": "t"}),
        ("delete-data-stream", {"data_stream": "s"}),
    ],
)
def test_changes_must_be_acknowledged(name: str, params: dict[str, Any]) -> None:
    assert [request.check for request in requests(name, **params)] == [CheckAcknowledged()]


@pytest.mark.parametrize("name", ["create-snapshot", "restore-snapshot"])
def test_a_snapshot_whose_shards_failed_is_a_failure(name: str) -> None:
    (request,) = requests(name, repository="r", snapshot="s", body={}, wait_for_completion=True)
    assert request.check == CheckShards("snapshot.shards")


def test_problems_of_create_index_are_reported() -> None:
    assert refused("create-index", NOTHING) == (
        "operations[0].index is missing, and the track declares no indices",
    )
    (problem,) = refused("create-index", track(indices=(Index("books"),)), index="bokks")
    assert problem.endswith('names "bokks", which the track does not declare (did you mean "books"?)')


def test_delete_index_deletes_all_indices_of_the_track() -> None:
    expected = Request("DELETE", "/a", check=CheckAcknowledged(), ignore=(404,))
    assert requests("delete-index", TWO) == (expected, replace(expected, path="/b"))
    # A missing index is no failure in Rally either.
    assert requests("delete-index", TWO, index="x", only_if_exists=False) == (replace(expected, path="/x"),)


@pytest.mark.parametrize("name", ["logs-*", "_all", "a,b*"])
def test_delete_index_allows_wildcards_and_restores_the_setting(name: str) -> None:
    read, before, delete, after = requests("delete-index", index=name, request_params={"timeout": "1m"})
    path = "transient.action.destructive_requires_name"
    assert (read.method, read.path) == ("GET", f"/_cluster/settings?filter_path={path}")
    assert read.capture == Capture("action.destructive_requires_name", path)
    assert (before.method, before.path) == ("PUT", "/_cluster/settings")
    assert before.body == '{"transient":{"action.destructive_requires_name":false}}'
    assert after.body == '{"transient":{"action.destructive_requires_name":null}}'
    assert after.placeholder == Placeholder("action.destructive_requires_name", "null", optional=True)
    assert [one.cleanup for one in (read, before, delete, after)] == [False, False, False, True]
    assert [one.weight for one in (read, before, delete, after)] == [0, 0, 1, 0]
    assert delete.path == f"/{name}?timeout=1m"


def test_problems_of_delete_index_are_reported() -> None:
    assert refused("delete-index", NOTHING) == (
        "operations[0].index is missing, and the track declares no indices",
    )


def test_force_merge_merges_the_indices_of_the_track() -> None:
    assert requests("force-merge") == (Request("POST", "/books/_forcemerge", check=CheckShards()),)
    assert requests("force-merge", TWO, max_num_segments=1)[0].path == "/a,b/_forcemerge?max_num_segments=1"
    assert requests("force-merge", STREAM)[0].path == "/s/_forcemerge"
    assert requests("force-merge", NOTHING)[0].path == "/_forcemerge"
    assert (
        requests("force-merge", index="x", max_num_segments=-1)[0].path
        == "/x/_forcemerge?max_num_segments=-1"
    )


@pytest.mark.parametrize(("params", "period"), [({}, 10.0), ({"poll_period": 0.5}, 0.5)])
def test_force_merge_polls_the_task_of_the_merge(params: dict[str, Any], period: float) -> None:
    start, wait = requests("force-merge", mode="polling", **params)
    path = "/books/_forcemerge?wait_for_completion=false"
    assert start == Request("POST", path, capture=Capture("task", "task"))
    assert wait == Request(
        "GET", "/_tasks/@recalled@", check=CheckTask(), weight=0,
        poll=PollPolicy(period), placeholder=Placeholder("task", "@recalled@"),
    )  # fmt: skip


def test_force_merge_polls_the_task_list_of_older_engines() -> None:
    older = context(engine=EngineInfo("elasticsearch", "7.17.28"))
    merge, wait = requests("force-merge", older, mode="polling", poll_period=5)
    assert merge == Request("POST", "/books/_forcemerge", check=CheckShards(), timeout_ms=86_400_000)
    assert wait == Request(
        "GET", "/_tasks?actions=*forcemerge*", check=CheckEmpty("nodes"), weight=0, poll=PollPolicy(5.0)
    )
    newer = context(engine=EngineInfo("elasticsearch", "8.15.0"))
    assert requests("force-merge", newer, mode="polling") == requests("force-merge", mode="polling")


def test_problems_of_force_merge_are_reported() -> None:
    expected = ('operations[0].mode is "later", but must be one of blocking, polling',)
    assert refused("force-merge", mode="later") == expected


@pytest.mark.parametrize(
    ("params", "check"),
    [
        ({}, CheckHealth(None, False)),
        ({"wait_for_status": "green"}, CheckHealth(HealthStatus.GREEN, False)),
        ({"wait_for_no_relocating_shards": "true"}, CheckHealth(None, True)),
        (
            {"wait_for_status": "red", "wait_for_no_relocating_shards": False},
            CheckHealth(HealthStatus.RED, False),
        ),
    ],
)
def test_cluster_health_is_checked_as_requested(params: dict[str, Any], check: CheckHealth) -> None:
    assert requests("cluster-health", request_params=params)[0].check == check


def test_cluster_health_may_be_limited_to_an_index() -> None:
    (request,) = requests("cluster-health", index="logs-*", request_params={"wait_for_status": "green"})
    assert (request.method, request.path) == ("GET", "/_cluster/health/logs-*?wait_for_status=green")
    assert refused("cluster-health", request_params={"wait_for_status": "blue"}) == (
        'operations[0].request-params.wait_for_status is "blue", but must be one of red, yellow, green',
    )


def test_index_stats_may_check_a_condition() -> None:
    assert requests("index-stats") == (Request("GET", "/_stats", check=CheckShards()),)
    condition = {"path": "_all.total.merges.current", "expected-value": 0}
    (request,) = requests("index-stats", index="_all", condition=condition)
    assert request == Request("GET", "/_all/_stats", check=CheckCondition("_all.total.merges.current", "0"))


def test_partial_field_capabilities_and_sql_results_are_failures() -> None:
    assert requests("field-caps")[0].check == CheckEmpty("failures")
    body = {"query": "SELECT 1", "wait_for_completion_timeout": "1s"}
    assert requests("sql", body=body)[0].check == CheckEsql()
    assert requests("sql", body={"query": "SELECT 1"})[0].check == CheckNoError()


@pytest.mark.parametrize(("expected", "text"), [(True, "true"), ("x", "x"), (None, "null"), (1.5, "1.5")])
def test_index_stats_compares_values_as_text(expected: object, text: str) -> None:
    (request,) = requests("index-stats", condition={"path": "p", "expected-value": expected})
    assert request.check == CheckCondition("p", text)


def test_problems_of_index_stats_are_reported() -> None:
    assert refused("index-stats", condition={"a": 1}) == (
        "operations[0].condition.path is missing",
        "operations[0].condition.expected-value is missing",
    )
    assert refused("index-stats", condition={"path": "p", "expected-value": []}) == (
        "operations[0].condition.expected-value must be a single value",
    )


@pytest.mark.parametrize(
    ("engine", "mode", "sent"),
    [
        (EngineInfo("opensearch", "3.3.0"), "stored", {}),
        (EngineInfo("opensearch", "3.3.0"), "synthetic", {"index.mapping.source.mode": "synthetic"}),
        (EngineInfo("elasticsearch", "7.17.28"), "stored", {}),
        (EngineInfo("elasticsearch", "9.1.0"), "stored", {"index.mapping.source.mode": "stored"}),
    ],
)
def test_default_settings_are_not_sent_to_engines_that_do_not_know_them(
    engine: EngineInfo, mode: str, sent: dict[str, str]
) -> None:
    """Half of the public tracks set this option to its default, but only newer engines know it."""
    body = {"settings": {"index.mapping.source.mode": mode}}
    assert compatible_body(body, engine) == {"settings": sent}
