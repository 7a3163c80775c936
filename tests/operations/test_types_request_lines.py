"""The requests of every simple operation type, line by line.

Requests for X-Pack features, which the engines in the tests lack (machine learning, transforms, index
lifecycle management, enrichment, ES|QL and downsampling), were recorded from an Elasticsearch 8 client and
must match exactly.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from operations.compiling import (
    ELASTICSEARCH,
    LIBRARY,
    OPENSEARCH,
    compiled,
    context,
    lines,
    refused,
    requests,
    track,
)
from pacenote.model.engine import EngineInfo
from pacenote.model.track import ComponentTemplate, ComposableTemplate, DataStream, IndexTemplate
from pacenote.model.work import (
    NO_RETRY,
    CallSequence,
    CheckCondition,
    CheckEsql,
    NextByCursor,
    PagedRequest,
    PythonRunner,
    Request,
    RetryPolicy,
    Sleep,
)
from pacenote.operations.registry import find_type, known_types

TEMPLATES = track(
    indices=(),
    templates=(IndexTemplate("old", "old-*", {"settings": {"a": 1}}),),
    composable_templates=(
        ComposableTemplate("new", "new-*", {"template": {"settings": {"index": {"a": 1}}}}),
        ComposableTemplate("kept", "kept-*", {"priority": 5}, delete_matching_indices=False),
    ),
    component_templates=(ComponentTemplate("part", {"template": {"mappings": {}}, "version": 3}),),
)
STREAMS = track(indices=(), data_streams=(DataStream("s1"), DataStream("s2")))
BARE = track(indices=())
READ_SETTING = "GET /_cluster/settings?filter_path=transient.action.destructive_requires_name"
SETTING = 'PUT /_cluster/settings {"transient":{"action.destructive_requires_name":%s}}'

BOTH_ENGINES = [
    ("node-stats", {}, ["GET /_nodes/stats"]),
    ("field-caps", {}, ["POST /_all/_field_caps?fields=*"]),
    (
        "field-caps",
        {"index": "a,b", "fields": ["x", "y.*"], "index_filter": {"term": {"x": 1}}},
        ['POST /a,b/_field_caps?fields=x,y.* {"index_filter":{"term":{"x":1}}}'],
    ),
    ("put-settings", {"body": {"transient": {"x": 1}}}, ['PUT /_cluster/settings {"transient":{"x":1}}']),
    ("put-pipeline", {"id": "p", "body": {}, "timeout": "5s"}, ["PUT /_ingest/pipeline/p?timeout=5s {}"]),
    (
        "create-snapshot-repository",
        {"repository": "r", "body": {"type": "fs"}, "request-params": {"verify": False}},
        ['PUT /_snapshot/r?verify=false {"type":"fs"}'],
    ),
    ("delete-snapshot-repository", {"repository": "r"}, ["DELETE /_snapshot/r"]),
    (
        "create-snapshot",
        {"repository": "r", "snapshot": "s", "body": {"indices": "a"}, "wait-for-completion": True},
        ['PUT /_snapshot/r/s?wait_for_completion=true {"indices":"a"}'],
    ),
    (
        "restore-snapshot",
        {"repository": "r", "snapshot": "s", "request-params": {"x": 1}},
        ["POST /_snapshot/r/s/_restore?x=1&wait_for_completion=false {}"],
    ),
]

ELASTICSEARCH_ONLY = [
    ("esql", {"query": "FROM a"}, ['POST /_query {"query":"FROM a"}']),
    (
        "esql",
        {"query": "FROM a", "body": {"x": 1}, "filter": {"term": {}}, "request-params": {"format": "json"}},
        ['POST /_query?format=json {"x":1,"query":"FROM a","filter":{"term":{}}}'],
    ),
    ("esql-profile", {"query": "FROM a"}, ['POST /_query {"profile":true,"query":"FROM a"}']),
    (
        "downsample",
        {"sampling-method": "last_value"},
        ['POST /books/_downsample/books-1h {"fixed_interval":"1h","sampling_method":"last_value"}'],
    ),
    (
        "downsample",
        {"source-index": "a", "fixed-interval": "1d", "target-index": "b"},
        ['POST /a/_downsample/b {"fixed_interval":"1d"}'],
    ),
    ("create-transform", {"transform-id": "t", "body": {}}, ["PUT /_transform/t?defer_validation=false {}"]),
    ("start-transform", {"transform-id": "t", "timeout": "1m"}, ["POST /_transform/t/_start?timeout=1m"]),
    ("delete-transform", {"transform-id": "t", "force": True}, ["DELETE /_transform/t?force=true"]),
    ("transform-stats", {"transform-id": "t"}, ["GET /_transform/t/_stats"]),
    ("create-ml-job", {"job-id": "j", "body": {}}, ["PUT /_ml/anomaly_detectors/j {}"]),
    ("delete-ml-job", {"job-id": "j"}, ["DELETE /_ml/anomaly_detectors/j?force=false"]),
    ("open-ml-job", {"job-id": "j"}, ["POST /_ml/anomaly_detectors/j/_open"]),
    (
        "close-ml-job",
        {"job-id": "j", "force": True, "timeout": "1m"},
        ["POST /_ml/anomaly_detectors/j/_close?force=true&timeout=1m"],
    ),
    ("create-ml-datafeed", {"datafeed-id": "d", "body": {}}, ["PUT /_ml/datafeeds/d {}"]),
    ("delete-ml-datafeed", {"datafeed-id": "d", "force": True}, ["DELETE /_ml/datafeeds/d?force=true"]),
    (
        "start-ml-datafeed",
        {"datafeed-id": "d", "start": 1, "end": "now"},
        ["POST /_ml/datafeeds/d/_start?start=1&end=now"],
    ),
    (
        "start-ml-datafeed",
        {"datafeed-id": "d", "body": {"start": 1}, "end": 2},
        ['POST /_ml/datafeeds/d/_start {"start":1,"end":2}'],
    ),
    ("stop-ml-datafeed", {"datafeed-id": "d", "timeout": "1m"}, ["POST /_ml/datafeeds/d/_stop?timeout=1m"]),
    (
        "create-ilm-policy",
        {"policy-name": "p", "body": {"policy": {"phases": {}}}, "request-params": {"timeout": "1m"}},
        ['PUT /_ilm/policy/p?timeout=1m {"policy":{"phases":{}}}'],
    ),
    ("delete-ilm-policy", {"policy-name": "p"}, ["DELETE /_ilm/policy/p"]),
    (
        "enrich-policy",
        {"policies": {"a": {"match": {}}, "b": {"match": {}}}},
        [
            "DELETE /_enrich/policy/a",
            "DELETE /_enrich/policy/b",
            'PUT /_enrich/policy/a {"match":{}}',
            'PUT /_enrich/policy/b {"match":{}}',
            "POST /_all/_refresh",
            "PUT /_enrich/policy/a/_execute?wait_for_completion=true",
            "PUT /_enrich/policy/b/_execute?wait_for_completion=true",
        ],
    ),
    (
        "enrich-policy",
        {"policies": {"a": {}}, "delete": False},
        [
            "PUT /_enrich/policy/a {}",
            "POST /_all/_refresh",
            "PUT /_enrich/policy/a/_execute?wait_for_completion=true",
        ],
    ),
]


@pytest.mark.parametrize(("kind", "params", "expected"), [*BOTH_ENGINES, *ELASTICSEARCH_ONLY])
def test_operations_become_the_expected_request_lines(
    kind: str, params: dict[str, Any], expected: list[str]
) -> None:
    for engine in (EngineInfo(), ELASTICSEARCH, OPENSEARCH):
        assert list(lines(kind, context(engine=engine), **params)) == expected


@pytest.mark.parametrize(
    ("kind", "params", "expected"),
    [
        ("create-index-template", {}, ['PUT /_template/old {"settings":{"a":1}}']),
        ("create-index-template", {"settings": {"b": 2}}, ['PUT /_template/old {"settings":{"a":1,"b":2}}']),
        (
            "create-composable-template",
            {"template": "new", "settings": {"index": {"b": 2}}},
            ['PUT /_index_template/new {"template":{"settings":{"index":{"a":1,"b":2}}}}'],
        ),
        (
            "create-composable-template",
            {"template": "kept", "settings": {"x": 1}},
            ['PUT /_index_template/kept {"priority":5,"template":{"settings":{"x":1}}}'],
        ),
        (
            "create-composable-template",
            {"template": "mine", "body": {"a": 1}},
            ['PUT /_index_template/mine {"a":1}'],
        ),
        (
            "create-component-template",
            {},
            ['PUT /_component_template/part {"template":{"mappings":{}},"version":3}'],
        ),
        (
            "delete-index-template",
            {},
            ["DELETE /_template/old", READ_SETTING, SETTING % "false", "DELETE /old-*", SETTING % "null"],
        ),
        ("delete-composable-template", {"template": "kept"}, ["DELETE /_index_template/kept"]),
        (
            "delete-composable-template",
            {"template": "mine", "delete-matching-indices": True, "index-pattern": "m*"},
            [
                *("DELETE /_index_template/mine", READ_SETTING, SETTING % "false"),
                *("DELETE /m*", SETTING % "null"),
            ],
        ),
        ("delete-component-template", {}, ["DELETE /_component_template/part"]),
        ("delete-component-template", {"template": "x"}, ["DELETE /_component_template/x"]),
    ],
)  # fmt: skip
def test_templates_are_created_and_deleted(kind: str, params: dict[str, Any], expected: list[str]) -> None:
    assert list(lines(kind, TEMPLATES, **params)) == expected


def test_settings_of_an_operation_do_not_change_the_track() -> None:
    lines("create-composable-template", TEMPLATES, settings={"index": {"b": 2}})
    assert TEMPLATES.composable_templates[0].body == {"template": {"settings": {"index": {"a": 1}}}}


def test_on_serverless_no_cluster_settings_or_matching_indices_are_changed() -> None:
    serverless = context(TEMPLATES, engine=EngineInfo("elasticsearch", "", "serverless"))
    assert lines("delete-composable-template", serverless) == (
        "DELETE /_index_template/new",
        "DELETE /_index_template/kept",
    )
    assert lines("delete-index", serverless, index="a-*") == ("DELETE /a-*",)
    assert lines("search", serverless, index="a", body={}) == ("POST /a/_search?request_cache=false {}",)


def test_data_streams_are_created_and_deleted() -> None:
    assert lines("create-data-stream", STREAMS) == ("PUT /_data_stream/s1", "PUT /_data_stream/s2")
    assert lines("create-data-stream", BARE, **{"data-stream": "x"}) == ("PUT /_data_stream/x",)
    assert lines("delete-data-stream", STREAMS) == ("DELETE /_data_stream/s1", "DELETE /_data_stream/s2")
    assert lines("delete-data-stream", STREAMS, **{"data-stream": ["x"]}) == ("DELETE /_data_stream/x",)
    assert compiled("create-data-stream", STREAMS).weight == 2


@pytest.mark.parametrize(
    ("kind", "params"),
    [
        ("delete-index", {}),
        ("delete-data-stream", {"data-stream": "x"}),
        ("delete-index-template", {"template": "x"}),
        ("delete-composable-template", {"template": "x"}),
        ("delete-component-template", {"template": "x"}),
        ("delete-snapshot-repository", {"repository": "x"}),
        ("delete-transform", {"transform-id": "x"}),
        ("delete-ml-job", {"job-id": "x"}),
        ("delete-ml-datafeed", {"datafeed-id": "x"}),
        ("delete-ilm-policy", {"policy-name": "x"}),
    ],
)
def test_deleting_a_missing_resource_counts_neither_as_a_failure_nor_as_work(
    kind: str, params: dict[str, Any]
) -> None:
    (request,) = requests(kind, **params)
    assert (request.method, request.ignore, request.ignored_weight) == ("DELETE", (404,), 0)


def test_opensearch_has_its_own_paths_and_parameters() -> None:
    opensearch = context(engine=OPENSEARCH)
    assert lines("put-pipeline", opensearch, id="p", body={}, master_timeout="9s") == (
        "PUT /_ingest/pipeline/p?cluster_manager_timeout=9s {}",
    )
    assert lines("put-pipeline", id="p", body={}, master_timeout="9s") == (
        "PUT /_ingest/pipeline/p?master_timeout=9s {}",
    )
    assert lines("sql", opensearch, body={"query": "SELECT 1"}) == (
        'POST /_plugins/_sql {"query":"SELECT 1"}',
    )
    assert lines("sql", body={"query": "SELECT 1"}) == ('POST /_sql {"query":"SELECT 1"}',)


def test_sql_reads_further_pages_by_cursor() -> None:
    made = compiled("sql", body={"query": "SELECT 1"}, pages=3)
    assert isinstance(made.work, CallSequence)
    (pages,) = made.work.calls
    assert isinstance(pages, PagedRequest)
    assert (pages.next, pages.pages, pages.strict) == (NextByCursor(), 3, True)
    assert (made.weight, made.unit) == (3, "ops")


def test_replies_are_checked() -> None:
    (request,) = requests("esql", query="FROM a")
    assert request.check == CheckEsql()
    (request,) = requests(
        "transform-stats", transform_id="t", condition={"path": "stats.x", "expected-value": 0}
    )
    assert request.check == CheckCondition("transforms.0.stats.x", "0")


def test_the_work_of_enrich_policy_is_counted_in_policies() -> None:
    assert [request.weight for request in requests("enrich-policy", policies={"a": {}})] == [0, 0, 0, 1]
    assert compiled("enrich-policy", policies={"a": {}, "b": {}}).weight == 2


def test_statuses_that_the_track_ignores_are_not_errors() -> None:
    (request,) = requests("raw-request", path="/x", request_params={"ignore": 404, "a": 1}, ignore=[409])
    assert (request.path, request.ignore) == ("/x?a=1", (404, 409))
    (request,) = requests("refresh", request_params={"ignore": [404]})
    assert (request.path, request.ignore) == ("/_refresh", (404,))


NEVER_TRIED_AGAIN = {
    "bulk", "node-stats", "search", "paginated-search", "scroll-search", "composite-agg", "raw-request",
    "composite", "submit-async-search", "delete-async-search", "open-point-in-time", "close-point-in-time",
    "sql", "field-caps", "esql", "esql-profile", "downsample", "force-merge", "sleep", "create-snapshot",
    "restore-snapshot",
}  # fmt: skip
ENOUGH: dict[str, Any] = {
    "body": {"policy": {"a": 1}, "query": "x"}, "id": "p", "repository": "r", "snapshot": "s",
    "transform-id": "t", "job-id": "j", "datafeed-id": "d", "policy-name": "p", "policies": {"a": {}},
    "template": "t", "data-stream": "s", "name": "n", "retrieve-results-for": ["n", "m"], "query": "x",
    "delete-results-for": ["n", "m"], "with-point-in-time-from": "n", "path": "/", "index": "i", "pages": 1,
    "retries": 2, "requests": [{"operation-type": "sleep", "duration": 1}], "bulk-size": 1, "duration": 1,
    "source-index": "a", "target-index": "b", "target-body": {}, "json-path": "a",
    "criterion": {"operator": "exists"},
}  # fmt: skip
"""Parameters that are sufficient to compile every type, except those in `PARAMS`."""

PARAMS: dict[str, dict[str, Any]] = {
    "search": {"body": {}, "index": "i"},
    "composite-agg": {"body": {"aggs": {"a": {"composite": {"sources": []}}}}, "index": "i"},
}


@pytest.mark.parametrize("name", known_types())
def test_compiled_operations_agree_with_the_properties_of_their_type(name: str) -> None:
    operation_type = find_type(name)
    assert operation_type is not None
    within = replace(context(track(corpora=(LIBRARY,))), captures=frozenset("nm"))
    made = compiled(name, within, **PARAMS.get(name, ENOUGH))
    assert made.unit == operation_type.unit
    assert isinstance(made.work, PythonRunner) == (operation_type.run is not None)
    assert not operation_type.composable or isinstance(made.work, CallSequence | Sleep)
    assert made.until_exhausted or not operation_type.completes_task
    if isinstance(made.work, CallSequence):
        plain = [call for call in made.work.calls if isinstance(call, Request)]
        if len(plain) == len(made.work.calls):
            assert made.weight == sum(call.weight for call in plain)


@pytest.mark.parametrize("name", known_types())
def test_types_are_retried_as_in_rally(name: str) -> None:
    kind = find_type(name)
    assert kind is not None
    if kind.run is not None:
        assert kind.retryable == (name not in NEVER_TRIED_AGAIN)
        return
    if name in ("bulk", "sleep", "composite-agg", "composite", "paginated-search"):
        return
    work = compiled(name, replace(context(), captures=frozenset("nm")), **ENOUGH).work
    assert isinstance(work, CallSequence)
    if name in NEVER_TRIED_AGAIN:
        assert work.retry == NO_RETRY
    elif name == "get-async-search":
        assert work.retry == RetryPolicy(2, True, 0.5, True, True)
    else:
        assert work.retry == RetryPolicy(2, False, 0.5, True, False)


@pytest.mark.parametrize(
    ("kind", "params", "problems"),
    [
        ("put-pipeline", {}, ("id is missing", "body is missing")),
        ("put-settings", {"body": []}, ("body must be an object",)),
        ("create-snapshot", {}, ("repository is missing", "snapshot is missing", "body is missing")),
        ("esql", {"body": 1}, ("body is 1, but must be an object", "query is missing")),
        ("sql", {"body": {}}, ("body.query is missing",)),
        ("create-ilm-policy", {"policy-name": "p", "body": {}}, ("body.policy is missing",)),
        ("enrich-policy", {}, ("policies is missing; it must be an object that maps names to bodies",)),
        (
            "create-component-template",
            {},
            ("template and body are missing, and the track declares no such templates",),
        ),
        ("delete-component-template", {}, ("template is missing, and the track declares none",)),
        ("create-data-stream", {}, ("data-stream is missing, and the track declares no data streams",)),
        ("open-point-in-time", {"name": "x"}, ("is only possible within a composite operation",)),
        (
            "start-transform",
            {"transform-id": "t", "timeout": []},
            ("timeout is [], but must be a single value",),
        ),
    ],
)
def test_invalid_parameters_are_reported(
    kind: str, params: dict[str, Any], problems: tuple[str, ...]
) -> None:
    refusals = refused(kind, **params)
    assert tuple(problem.removeprefix("operations[0]").lstrip(". ") for problem in refusals) == problems


def test_templates_that_the_track_does_not_declare_are_rejected() -> None:
    assert refused("create-composable-template", TEMPLATES, template="nwe") == (
        'operations[0].template names "nwe", which the track does not declare (did you mean "new"?)',
    )


ADMIN = {
    "force-merge", "cluster-health", "put-pipeline", "refresh", "create-index", "delete-index",
    "create-index-template", "create-composable-template", "create-component-template",
    "delete-index-template", "delete-composable-template", "delete-component-template", "create-data-stream",
    "delete-data-stream", "shrink-index", "create-ml-datafeed", "delete-ml-datafeed", "start-ml-datafeed",
    "stop-ml-datafeed", "create-ml-job", "delete-ml-job", "open-ml-job", "close-ml-job", "sleep",
    "create-snapshot-repository", "delete-snapshot-repository", "create-snapshot", "restore-snapshot",
    "put-settings", "create-transform", "start-transform", "wait-for-transform", "delete-transform",
    "transform-stats", "create-ilm-policy", "delete-ilm-policy", "enrich-policy",
}  # fmt: skip
BLOCKED = {
    "create-index-template", "delete-index-template", "shrink-index", "create-ilm-policy",
    "delete-ilm-policy",
}  # fmt: skip
INTERNAL = {
    "index-stats", "node-stats", "wait-for-recovery", "wait-for-snapshot-create",
    "wait-for-current-snapshots-create", "downsample", "force-merge", "cluster-health",
    "create-snapshot-repository", "delete-snapshot-repository", "create-snapshot", "restore-snapshot",
    "put-settings",
}  # fmt: skip


@pytest.mark.parametrize("name", known_types())
def test_the_serverless_status_of_each_type_is_that_of_rally(name: str) -> None:
    kind = find_type(name)
    assert kind is not None
    assert kind.admin == (name in ADMIN)
    expected = "blocked" if name in BLOCKED else "internal" if name in INTERNAL else "public"
    assert kind.serverless.value == expected
