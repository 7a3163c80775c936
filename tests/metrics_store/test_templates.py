"""Templates as Rally has them, adapted to what a store supports."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pacenote.metrics_store.client import StoreUnavailable
from pacenote.metrics_store.templates import (
    KINDS,
    StoreFeatures,
    ensure_templates,
    index_name,
    mappings_of,
    probe_features,
)
from support.http_server import json_response
from support.metrics_store import fake_store

ELASTICSEARCH = {"version": {"number": "9.5.3", "build_flavor": "default"}}
ALL = StoreFeatures()
STREAMS = [
    "/_component_template/rally-metrics-v1",
    "/_component_template/rally-metrics-v1@custom",
    "/_index_template/rally-metrics-v1",
]


def test_indices_are_data_streams_or_those_of_a_month():
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    with fake_store() as store:
        assert index_name("races", moment, store.settings()) == "rally-races-v1"
        assert index_name("races", moment, store.settings(use_data_streams=False)) == "rally-races-2026-03"


def test_data_streams_have_component_templates_and_a_policy():
    with fake_store() as store:
        ensure_templates(store.client(), ALL, "metrics")
        assert sorted(store.templates) == sorted([*STREAMS, "/_ilm/policy/rally-metrics-default"])
        own = store.templates[STREAMS[0]]["template"]
        assert own["settings"]["index"] == {
            "mapping.total_fields.limit": 2000,
            "lifecycle": {"name": "rally-metrics-default"},
        }
        assert store.templates[STREAMS[1]] == {"template": {}}
        assert store.templates[STREAMS[2]] == {
            "index_patterns": ["rally-metrics-v1"],
            "data_stream": {},
            "composed_of": ["rally-metrics-v1", "rally-metrics-v1@custom"],
            "priority": 500,
        }


def test_monthly_indices_have_shards_and_replicas():
    with fake_store() as store:
        client = store.client(use_data_streams=False, shards=3, replicas=0)
        for kind in KINDS:
            ensure_templates(client, ALL, kind)
        assert sorted(store.templates) == [f"/_index_template/rally-{kind}" for kind in sorted(KINDS)]
        races = store.templates["/_index_template/rally-races"]
        assert races["index_patterns"] == ["rally-races-*"]
        assert races["template"]["settings"]["index"] == {"number_of_shards": 3, "number_of_replicas": 0}


def test_fields_are_mapped_as_in_rally():
    metrics = mappings_of("metrics", ALL)
    assert metrics["properties"]["value"] == {"type": "float"}
    assert metrics["properties"]["meta"] == {"properties": {"error-description": {"type": "wildcard"}}}
    assert metrics["dynamic_templates"][0]["strings"]["mapping"] == {"type": "keyword", "ignore_above": 8191}
    timestamp = metrics["properties"]["race-timestamp"]
    assert (timestamp["type"], timestamp["format"]) == ("date", "basic_date_time_no_millis")
    assert timestamp["fields"] == {"raw": {"type": "keyword"}}
    results = mappings_of("results", ALL)["properties"]
    assert results["value"]["properties"]["single"] == {"type": "double"}
    assert results["active"] == {"type": "boolean"}
    races = mappings_of("races", ALL)["properties"]
    assert races["results"] == {"properties": {"op_metrics": {"type": "nested"}}}


@pytest.mark.parametrize("overwrites", [False, True])
def test_existing_templates_are_kept_unless_they_are_to_be_replaced(overwrites):
    mine = {"template": {"mappings": {"properties": {"mine": {"type": "long"}}}}}
    with fake_store(templates=dict.fromkeys(STREAMS, mine)) as store:
        ensure_templates(store.client(overwrites_templates=overwrites), ALL, "metrics")
        assert (store.templates[STREAMS[0]] == mine) is not overwrites
        assert store.templates[STREAMS[1]] == mine  # It belongs to the user.


def test_a_store_without_the_type_wildcard_gets_keywords():
    def refuse(request):
        if request.method == "PUT" and b'"wildcard"' in request.body:
            reason = "No handler for type [wildcard] declared on field [error-description]"
            return json_response({"error": {"reason": reason}}, 400)
        return None

    with fake_store(answer=refuse) as store:
        ensure_templates(store.client(), ALL, "metrics")
        meta = store.templates[STREAMS[0]]["template"]["mappings"]["properties"]["meta"]
        assert meta["properties"]["error-description"]["type"] == "keyword"


def test_a_template_that_is_not_accepted_is_an_error_with_the_reason():
    def refuse(request):
        if request.method == "PUT" and "_index_template" in request.path:
            return json_response({"error": {"reason": "unknown field [data_stream]"}}, 400)
        return None

    with fake_store(answer=refuse) as store:
        message = (
            r"answered PUT /_index_template/rally-races-v1 with status 400: unknown field \[data_stream\]"
        )
        with pytest.raises(StoreUnavailable, match=message) as error:
            ensure_templates(store.client(), ALL, "races")
        assert "datastore.use_data_streams=false" in error.value.hint


def no_policies(request):
    return json_response({"error": "no handler"}, 400) if "_ilm" in request.path else None


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({}, StoreFeatures(lifecycle=False)),
        (
            {"root": {"version": {"distribution": "opensearch", "number": "2.14.0"}}},
            StoreFeatures(False, False),
        ),
        ({"root": ELASTICSEARCH}, StoreFeatures()),
        ({"root": ELASTICSEARCH, "answer": no_policies}, StoreFeatures(lifecycle=False)),
        ({"root": {"version": {"number": "8.11.0", "build_flavor": "serverless"}}}, StoreFeatures(False)),
    ],
)
def test_what_a_store_supports_follows_from_its_replies(state, expected):
    with fake_store(**state) as store:
        assert probe_features(store.client()) == expected


def test_a_store_that_is_not_to_be_probed_is_what_its_type_says():
    def never(request):
        raise AssertionError(request.line)

    with fake_store(answer=never) as store:
        assert probe_features(store.client(probes_version=False)) == StoreFeatures()
        client = store.client(probes_version=False, type="opensearch")
        assert probe_features(client) == StoreFeatures(lifecycle=False, wildcard=False)


def test_another_server_is_not_a_store():
    with fake_store(root={"hello": "world"}) as store:
        client = store.client()
        with pytest.raises(StoreUnavailable, match="is not Elasticsearch or OpenSearch"):
            probe_features(client)
