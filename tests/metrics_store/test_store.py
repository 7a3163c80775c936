"""Races in a store: written as a whole, found as Rally finds them, and deleted."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta

import pytest
from msgspec.structs import replace

from pacenote.errors import StoreError
from pacenote.figures import of_race
from pacenote.metrics_store import race_documents
from pacenote.metrics_store.client import StoreUnavailable
from pacenote.metrics_store.metrics_documents import MetricSources
from pacenote.metrics_store.race_documents import race_timestamp
from pacenote.metrics_store.samples import StoredSample
from pacenote.metrics_store.store import MetricsStore, StoreQuery
from pacenote.model.system_metrics import FieldUsage, MlProcessingTime, TransformFigure
from pacenote.model.telemetry_sample import TelemetrySample
from support.http_server import json_response
from support.metrics_store import FakeStore, fake_store
from support.records import record

SAMPLE = StoredSample("term", "term", "search", False, 0, "normal", 1, 2, 3, 4, True, 200, "", None)
INDICES = ["rally-metrics-v1", "rally-results-v1", "rally-races-v1"]


def write(store: FakeStore, *races, samples=(SAMPLE,), **settings) -> MetricsStore:
    metrics_store = MetricsStore(store.client(**settings))
    for race in races:
        assert not metrics_store.write(race, MetricSources(samples)).refused
    return metrics_store


def counts(store: FakeStore) -> list[int]:
    return [len(store.documents(name)) for name in INDICES]


@pytest.mark.parametrize("streams", [True, False])
def test_writing_a_race_again_replaces_it(streams):
    with fake_store() as store:
        metrics_store = write(store, record(), record("race-2"), use_data_streams=streams)
        before = {name: dict(documents) for name, documents in store.indices.items()}
        metrics_store.write(record(), MetricSources((SAMPLE,)))
        assert store.indices == before
        # What is not there any more is removed.
        metrics_store.write(record(), MetricSources(()))
        name = INDICES[0] if streams else "rally-metrics-2026-03"
        assert len(store.indices[name]) == len(before[name]) - 3


def test_a_race_is_written_last_so_that_a_listed_one_is_complete():
    with fake_store() as store:
        write(store, record())
        written = [request.path for request in store.requests if request.path.endswith("_bulk")]
        assert written == [f"/{name}/_bulk" for name in INDICES]


def test_a_store_without_the_module_for_deletions_keeps_one_copy():
    def refuse(request):
        if request.path.endswith("_delete_by_query"):
            return json_response({"error": "no handler found for uri"}, 400)
        return None

    with fake_store(answer=refuse) as store:
        metrics_store = write(store, record())
        before = counts(store)
        metrics_store.write(record(), MetricSources((SAMPLE,)))
        assert counts(store) == before
        with pytest.raises(StoreUnavailable, match="no handler found"):
            metrics_store.delete("race-1")


@pytest.mark.parametrize("streams", [True, False])
def test_documents_keep_their_ids_when_the_catalogue_has_another_order(streams, monkeypatch):
    system = replace(
        record().system,
        ml_processing_time=(MlProcessingTime("a", 1, 2, 3, 4, "ms"), MlProcessingTime("b", 1, 2, 3, 4, "ms")),
        total_transform_throughput=(TransformFigure("x", 1.0, "ops/s"), TransformFigure("y", 1.0, "ops/s")),
        disk_usage_total=(FieldUsage("logs", "a", 1), FieldUsage("logs", "b", 1)),
        disk_usage_points=(FieldUsage("logs", "a", 1),),
    )
    race = replace(record(), system=system)
    readings = [
        TelemetrySample(time_ns, source, "docs", 7.0, labels={"node": node})
        for source in ("shard-stats", "node-stats")
        for time_ns in (1, 2)
        for node in ("n1", "n2")
    ]

    def refuse(request):
        if request.path.endswith("_delete_by_query"):
            return json_response({"error": "no handler found for uri"}, 400)
        return None

    def written(store: FakeStore, telemetry) -> dict[str, dict[str, dict]]:
        metrics_store = MetricsStore(store.client(use_data_streams=streams))
        assert not metrics_store.write(race, MetricSources((SAMPLE,), telemetry=telemetry)).refused
        return {name: dict(documents) for name, documents in store.indices.items()}

    with fake_store() as store:
        expected = written(store, readings)
    names = [name for name in expected if "races" not in name]
    with fake_store(answer=refuse) as store:
        with monkeypatch.context() as other:
            # Another version knows fewer figures and devices, in another order.
            other.setattr(of_race, "ENGINE", of_race.ENGINE[:3:-1])
            other.setattr(race_documents, "_OF_RACE", race_documents._OF_RACE[:3:-1])
            other.setattr(race_documents, "TASK", race_documents.TASK[:1:-1])
            first = written(store, readings[:3:-1])
        for name in names:
            assert 0 < len(first[name]) < len(expected[name])
            assert {key: expected[name].get(key) for key in first[name]} == first[name]
        second = written(store, readings)
        assert [second[name] for name in names] == [expected[name] for name in names]


def test_refused_documents_do_not_prevent_the_others():
    def refuse(request):
        if not request.path.endswith("metrics-v1/_bulk"):
            return None
        count = request.body.count(b"\n") // 2
        error = {"type": "mapper_parsing_exception", "reason": "failed to parse field [meta.a]"}
        return json_response({"errors": True, "items": [{"create": {"status": 400, "error": error}}] * count})

    with fake_store(answer=refuse) as store:
        written = MetricsStore(store.client()).write(record(), MetricSources((SAMPLE,)))
        assert list(written.refused) == ["failed to parse field [meta.a]"]
        assert counts(store)[2] == 1


def test_races_are_found_with_rallys_conditions():
    days = [datetime(2026, 3, day, 12, tzinfo=UTC) for day in (1, 2, 3)]
    races = [
        replace(record(f"race-{day.day}"), timestamp=day, user_tags={"name": f"n{day.day}", "run": day.day})
        for day in days
    ]
    with fake_store() as store:
        metrics_store = write(
            store,
            *races,
            replace(record("other"), challenge="c", environment=replace(record().environment, name="ci")),
        )

        def ids(**query):
            return [one["race-id"] for one in metrics_store.races(StoreQuery(environment="local", **query))]

        assert ids() == ["race-3", "race-2", "race-1"]
        assert ids(limit=1) == ["race-3"]
        assert ids(from_date=date(2026, 3, 2), to_date=date(2026, 3, 2)) == ["race-2"]
        assert ids(benchmark_name="n1") == ids(user_tags={"run": 1}) == ["race-1"]
        assert ids(track="other") == ids(challenge="c") == []
        assert [one["race-id"] for one in metrics_store.races(StoreQuery(challenge="c"))] == ["other"]


def test_a_race_is_found_by_its_id_or_a_unique_prefix():
    with fake_store() as store:
        filled = write(store, record("abc"), record("abcd"), record("abd"))
        assert [filled.race(text)["race-id"] for text in ("abc", "abcd", "abd")] == ["abc", "abcd", "abd"]
        assert filled.race("x") is None
        with pytest.raises(StoreError, match="'ab' matches 3 races"):
            filled.race("ab")


def test_races_of_two_machines_with_the_same_id_are_kept():
    first = record("nightly")
    second = replace(first, timestamp=first.timestamp + timedelta(days=1))
    with fake_store() as store:
        metrics_store = write(store, first, second)
        assert counts(store) == [2 * count for count in counts_of(first)]
        write(store, second)
        assert [one["race-timestamp"] for one in metrics_store.races(StoreQuery())] == [
            race_timestamp(second),
            race_timestamp(first),
        ]
        with pytest.raises(StoreError, match="2 races in the metrics store have the id 'nightly'"):
            metrics_store.race("nightly")
        assert metrics_store.delete("nightly", race_timestamp(first)) == sum(counts_of(first))
        assert metrics_store.race("nightly")["race-timestamp"] == race_timestamp(second)


def counts_of(race) -> list[int]:
    with fake_store() as store:
        write(store, race)
        return counts(store)


def test_all_documents_of_a_race_are_deleted():
    with fake_store() as store:
        metrics_store = write(store, record(), record("race-2"))
        total = sum(counts(store))
        assert metrics_store.delete("race-1") == total / 2
        assert [one["race-id"] for one in metrics_store.races(StoreQuery())] == ["race-2"]
        assert metrics_store.count("race-1") == 0
        assert metrics_store.delete("race-1") == 0


def test_a_reply_without_hits_is_an_error():
    with fake_store(answer=lambda request: json_response({})) as store:
        metrics_store = MetricsStore(store.client())
        with pytest.raises(StoreUnavailable, match="unexpected form"):
            metrics_store.races(StoreQuery())


def test_rallys_own_search_finds_a_race():
    # The body that `esrally list races` sends, with the days that are not given.
    body = {
        "query": {
            "bool": {
                "filter": [
                    {"term": {"environment": "local"}},
                    {
                        "range": {
                            "race-timestamp": {"gte": "20260301", "lte": "20260301", "format": "basic_date"}
                        }
                    },
                    {"term": {"track": "http_logs"}},
                ]
            }
        },
        "size": 10,
        "sort": [{"race-timestamp": {"order": "desc"}}],
    }
    with fake_store() as store:
        write(store, record())
        reply = store.client().request("POST", "/rally-races-*/_search", body)
        (hit,) = reply["hits"]["hits"]
        # What Rally reads from it.
        needed = {"rally-version", "environment", "race-id", "race-timestamp", "pipeline", "track", "car"}
        assert needed <= hit["_source"].keys()
        assert json.dumps(hit["_source"]["results"]["op_metrics"][0]["throughput"])
