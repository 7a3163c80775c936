"""The documents of both tools, of all versions."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from importers.samples import osb_document, race_document
from pacenote.errors import PacenoteError
from pacenote.importers import documents, names
from pacenote.importers.documents import is_race_document, races_in_document
from pacenote.importers.records import ImportedFile, race_records
from pacenote.model.imported import imported_tasks
from pacenote.model.race_record import RaceRecord
from pacenote.store.race_store import is_race_id

FILE = ImportedFile("/tmp/race.json", "ab" * 32, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))


def records(document):
    return [
        each.record for each in race_records(races_in_document(document)[0], FILE, {"a": "b"}, is_race_id)
    ]


def test_a_race_of_rally_keeps_what_its_document_states():
    (race,) = records(race_document())
    assert (race.race_id, race.track.name, race.challenge) == (
        "0f0e0d0c-1111-2222-3333-444455556666",
        "geonames",
        "append-no-conflicts",
    )
    assert (race.car, race.cluster.version, race.cluster.distribution) == (
        ("4gheap", "ea"),
        "7.17.0",
        "elasticsearch",
    )
    assert race.timestamp == datetime(2023, 5, 4, 10, 11, 12, tzinfo=UTC)
    assert race.user_tags == {"intention": "baseline", "a": "b"}
    assert race.imported is not None
    assert (race.imported.tool, race.imported.tool_version, race.imported.unstated) == ("rally", "2.7.1", ())
    figures = {(value.metric, value.task): (value.value, value.unit) for value in race.imported.values}
    assert figures["Cumulative indexing time of primary shards", ""] == (2.0, "min")
    assert figures["Store size", ""] == (3.0, "GB")
    assert figures["Total Young Gen GC time", ""] == (0.5, "s")
    assert figures["99.9th percentile service time", "index-append"] == (8.0, "ms")
    assert figures["error rate", "index-append"] == (pytest.approx(0.2), "%")
    assert ("Heap used for segments", "") not in figures


def test_nothing_is_invented_and_no_secret_is_stored():
    (race,) = records(race_document())
    document = race.to_document()
    assert "hunter2" not in str(document)
    unknown = {"seed", "client", "driver", "pacing", "tasks", "documents", "corpora", "system", "telemetry"}
    assert not unknown & document.keys()
    assert document["options"].keys() == {"plugin_params", "team_revision"}
    assert document["results"]["op_metrics"][0]["throughput"] == {
        **{"min": 1.0, "mean": 2.0, "median": 2.5, "max": 3.0},
        "unit": "docs/s",
    }
    assert RaceRecord.from_document(document) == race


def test_a_race_of_opensearch_benchmark_has_its_own_keys():
    (race,) = records(osb_document())
    assert (race.track.name, race.challenge, race.car) == ("big5", "big5", ("external",))
    assert (race.cluster.distribution, race.cluster.version) == ("opensearch", "2.11.0")
    assert race.imported is not None
    assert race.imported.tool_name == "OpenSearch Benchmark"
    assert any(value.metric == "Mean recall@k" and value.value == 0.93 for value in race.imported.values)


def test_the_first_versions_of_rally_had_other_keys():
    document = race_document(**{
        "trial-id": "abc",
        "trial-timestamp": "20180101T000000Z",
        "user-tag": "os:linux",
    })
    del document["race-id"], document["race-timestamp"], document["user-tags"]
    document["car"] = "defaults+ea"
    del document["results"]["op_metrics"][0]["task"]
    document["results"]["op_metrics"][0]["latency"] = {"99.9": 7.0}
    (race,) = records(document)
    assert (race.race_id, race.car, race.user_tags) == ("abc", ("defaults", "ea"), {"os": "linux", "a": "b"})
    assert race.imported is not None
    (task,) = imported_tasks(race.imported.values)
    assert (task.task, task.percentiles["latency"]) == ("bulk", {99.9: 7.0})


def test_names_do_not_have_secrets():
    document = race_document(track="https://me:hunter2@tracks/x", challenge="password=hunter2 a")
    document["results"]["op_metrics"][0]["task"] = "search api_key=hunter2abc"
    document["cluster"] |= {"distribution-version": "7.1 password=hunter2", "revision": "secret=hunter2"}
    (race,) = records(document)
    assert "hunter2" not in str(race.to_document())


def test_averages_of_several_races_are_suspect():
    tags = {"aggregation-of-runs": ["one", "two", "three"]}
    (race,) = records(osb_document(**{"user-tags": tags}))
    assert race.verdict.state == "suspect"
    assert "averages of 3 races" in race.verdict.reasons[0]
    assert race.user_tags == {"a": "b"}


def test_a_race_with_several_clusters_becomes_one_for_each():
    results = race_document()["results"]
    clusters = [{**results, "cluster_name": name} for name in ("hot", "cold")]
    hot, cold = records(race_document(results=clusters))
    assert (hot.user_tags["cluster"], cold.user_tags["cluster"]) == ("hot", "cold")
    assert hot.race_id != cold.race_id


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"results": {}}, "the race has no results"),
        ({"results": None}, "the race has no results"),
        ({"results": {"op_metrics": []}}, "the race has no results|results without any task"),
        ({"results": {"op_metrics": [5, {"task": "a", "throughput": []}]}}, "results without any task"),
        ({"format": 2, "verdict": {}}, "it is a race of Pacenote"),
    ],
)
def test_a_document_without_results_is_refused(changes, message):
    with pytest.raises(PacenoteError, match=message):
        races_in_document(race_document(**changes))


@pytest.mark.parametrize("time", ["01100-01-01", "1107-12-07 01:03:39", "soon", ""])
def test_an_impossible_time_is_not_known(time):
    (race,) = records(race_document(**{"race-timestamp": time}))
    assert race.timestamp == FILE.imported_at
    assert race.imported is not None
    assert race.imported.unstated == ("time of the race",)


def test_the_number_of_tasks_is_limited(monkeypatch):
    monkeypatch.setattr(documents, "MAX_TASKS", 0)
    with pytest.raises(PacenoteError, match="more than 0 tasks"):
        races_in_document(race_document())


def test_values_of_other_types_are_left_out_and_named():
    document = race_document(
        car=5, cluster=[], challenge={"name": "x"}, **{"user-tags": "none", "track": None}
    )
    metrics = document["results"]["op_metrics"][0]
    metrics["throughput"] |= {"min": "fast", "max": True, "mean": 1e300}
    metrics["service_time"] = {
        "50_0": 2.0,
        "x_y": 3,
        "9_9_9": 4,
        "120_0": 5,
        "90_0": None,
        "50_0_rsd": "x",
        "_": 6,
    }
    metrics["error_rate"] = "none"
    (race,) = records(document)
    assert (race.track.name, race.challenge, race.car) == ("", None, ())
    assert race.imported is not None
    (task,) = imported_tasks(race.imported.values)
    assert (task.throughput, task.percentiles["service time"]) == ({"median": 2.5}, {50.0: 2.0})
    assert not any(value.metric.startswith((".", "_")) for value in race.imported.values)
    assert races_in_document(document)[1] == (
        "'Min Throughput' of 'index-append': 'fast' is not a figure that can be read",
        "'Mean Throughput' of 'index-append': '1e+300' is not a figure that can be read",
        "'Max Throughput' of 'index-append': 'True' is not a figure that can be read",
        "'120th percentile service time' of 'index-append': it is not a percentile from 0 to 100",
        "'9.9.9th percentile service time' of 'index-append': it is not a percentile from 0 to 100",
    )
    assert "track" in race.imported.unstated


def test_figures_of_another_form_are_named():
    document = race_document()
    metrics = document["results"]["op_metrics"][0]
    metrics["throughput"], metrics["service_time"] = "fast", 5
    (race,), problems = races_in_document(document)
    assert not any("Throughput" in value.metric for value in race.values)
    assert problems == (
        "'throughput' of 'index-append': 'fast' is not a figure that can be read",
        "'service_time' of 'index-append': '5' is not a figure that can be read",
    )


def test_other_documents_are_not_races():
    assert not is_race_document([1])
    assert not is_race_document({"name": "x"})
    assert is_race_document(race_document())


def test_the_number_of_figures_is_limited_before_they_are_made(monkeypatch):
    """Documents of a metrics store are not files, whose races are counted later."""
    monkeypatch.setattr(documents, "MAX_FIGURES", 50)
    metrics = [{"task": "t", "service_time": {f"1_{number}": 1.0 for number in range(100)}}]
    with pytest.raises(PacenoteError, match="has more than 50 figures"):
        races_in_document({"race-id": "r", "results": {"op_metrics": metrics}})


def test_figures_do_not_repeat_a_long_name():
    times = {**{f"{101 + number}": 1.0 for number in range(2_000)}, "99_9": 8.0}
    entry = {"task": "A" * 50_000, "service_time": times, "throughput": {"mean": 2.0, "unit": "d" * 50_000}}
    (race,), problems = races_in_document(race_document(results={"op_metrics": [entry]}))
    assert len(problems) == 2_000
    assert max(map(len, problems)) < 300
    assert {len(value.task) for value in race.values} == {300}
    assert max(len(value.unit) for value in race.values) <= 302


def test_a_secret_in_a_long_name_is_not_cut_before_it_is_found():
    entry = {"task": f"{'a' * 280} https://me:{'hunter2' * 100}@es:9200/", "error_rate": 0.5}
    (race,), _ = races_in_document(race_document(results={"op_metrics": [entry]}))
    assert "hunter2" not in str(race.values)


def test_the_number_of_figures_that_cannot_be_read_is_limited(monkeypatch):
    monkeypatch.setattr(names, "MAX_FIGURES", 5)
    times = {str(number): 1.0 for number in range(101, 120)}
    with pytest.raises(PacenoteError, match="more than 5 figures that cannot be read"):
        races_in_document(race_document(results={"op_metrics": [{"task": "a", "latency": times}]}))
