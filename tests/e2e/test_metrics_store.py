"""A race against a real engine that is its own metrics store afterwards, read with the searches of Rally."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pacenote.net.hosts import parse_hosts
from pacenote.net.rest import RestClient

pytestmark = pytest.mark.engine

SEARCH = {"operation-type": "search", "index": "books", "body": {"query": {"match_all": {}}}}
TRACK = {
    "version": 2,
    "description": "a few searches",
    "indices": [{"name": "books"}],
    "schedule": [
        {"operation": {"name": "query", **SEARCH}, "name": "read", "iterations": 200, "warmup-iterations": 10}
    ],
}


class StoredRace:
    """An engine that Pacenote started, and a race of which it is the store."""

    def __init__(self, home: Path, work: Path) -> None:
        self._environment = {**os.environ, "PACENOTE_HOME": str(home), "RALLY_HOME": str(work)}
        self._environment["PACENOTE_TRUST"] = "1"  # the store is configured in the folder
        self._work = work
        started = self.run("start", "--car-params=heap_size:512m", "--node-name=store", "--format=json")
        (node,) = json.loads(started)["nodes"]
        self.address, self.installation_id = str(node["address"]), str(node["installation-id"])
        self.client = RestClient(parse_hosts(self.address).hosts)

    def run(self, *arguments: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "pacenote", *arguments]
        done = subprocess.run(
            command, env=self._environment, cwd=self._work, text=True, capture_output=True, timeout=300
        )
        assert done.returncode == code, done.stderr
        self.messages = done.stderr
        return done.stdout

    def race(self, race_id: str) -> None:
        self.run(
            *("race", "--track-path=track.json", f"--target-hosts={self.address}", f"--race-id={race_id}"),
            "--pipeline=benchmark-only",
        )

    def document(self, race_id: str) -> dict[str, Any]:
        """Returns the record of a race on this machine."""
        listed = json.loads(self.run("list", "races", "--limit=100", "--format=json"))["races"]
        record: dict[str, Any] = next(one for one in listed if one["race-id"] == race_id)
        return record

    def search(self, kind: str, body: dict[str, Any]) -> Any:
        return self.client.request("POST", f"/rally-{kind}-v1/_search", body)


@pytest.fixture(scope="module")
def stored(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoredRace]:
    work = tmp_path_factory.mktemp("metrics-store")
    (work / "track.json").write_text(json.dumps(TRACK))
    stored_race = StoredRace(home, work)
    try:
        stored_race.client.request("PUT", "/books/_doc/1", {"a": 1}, {"refresh": True})
        host, _, port = stored_race.address.rpartition(":")
        settings = {"type": "opensearch", "host": host, "port": port}
        lines = "".join(f'datastore.{key} = "{value}"\n' for key, value in settings.items())
        (work / "pacenote.toml").write_text(f"[reporting]\n{lines}")
        for race_id in ("stored-1", "stored-2"):
            stored_race.race(race_id)
        yield stored_race
    finally:
        stored_race.run("stop", f"--installation-id={stored_race.installation_id}")
        for race_id in ("stored-1", "stored-2", "stored-3"):
            if (home / "races" / race_id).is_dir():
                stored_race.run("delete", "race", f"--id={race_id}", "--no-metrics-store")


def by_name(name: str, **terms: str) -> dict[str, Any]:
    """Returns the query that Rally sends for the values of a metric of a race."""
    conditions = {
        "race-id": "stored-1",
        "name": name,
        **{key.replace("_", "-"): one for key, one in terms.items()},
    }
    return {"bool": {"filter": [{"term": {key: value}} for key, value in conditions.items()]}}


def test_rallys_searches_find_what_was_measured(stored: StoredRace) -> None:
    normal = by_name("service_time", task="read", operation_type="search", sample_type="normal")
    # get_stats, get_percentiles and get_error_rate of Rally's metrics store.
    stats = {"metric_stats": {"stats": {"field": "value"}}}
    percentiles = {"percentile_stats": {"percentiles": {"field": "value", "percents": [50, 99, 100]}}}
    errors = {"error_rate": {"terms": {"field": "meta.success"}}}
    body = {"query": normal, "size": 0, "aggs": {**stats, **percentiles, **errors}}
    aggregations = stored.search("metrics", body)["aggregations"]
    (task,) = stored.document("stored-1")["tasks"]
    assert aggregations["metric_stats"]["count"] == task["accounting"]["normal"] == 200
    assert aggregations["metric_stats"]["avg"] == pytest.approx(task["service_time"]["mean_ms"], rel=1e-3)
    values = aggregations["percentile_stats"]["values"]
    assert values["100.0"] == pytest.approx(task["service_time"]["max_ms"], rel=1e-3)
    (bucket,) = aggregations["error_rate"]["buckets"]
    assert (bucket["key_as_string"], bucket["doc_count"]) == ("true", 200)
    # `duration` reads the last relative time, `get_unit` a unit, and sums have the shards' values.
    last = {
        "query": by_name("service_time", task="read"),
        "size": 1,
        "sort": [{"relative-time": {"order": "desc"}}],
    }
    (hit,) = stored.search("metrics", last)["hits"]["hits"]
    assert 0 < hit["_source"]["relative-time"] <= task["duration_s"] * 1000
    assert hit["_source"]["unit"] == "ms"
    (hit,) = stored.search("metrics", {"query": by_name("indexing_total_time")})["hits"]["hits"]
    assert hit["_source"]["per-shard"] is not None
    assert stored.search("metrics", {"query": by_name("throughput", task="read")})["hits"]["hits"]


def test_rallys_list_of_races_and_results_are_there(stored: StoredRace) -> None:
    track = stored.document("stored-1")["track"]
    body = {
        "query": {
            "bool": {
                "filter": [
                    {"term": {"environment": "local"}},
                    {"range": {"race-timestamp": {"gte": None, "lte": None, "format": "basic_date"}}},
                    {"term": {"track": track}},
                ]
            }
        },
        "size": 10,
        "sort": [{"race-timestamp": {"order": "desc"}}],
    }
    races = stored.client.request("POST", "/rally-races-*/_search", body)["hits"]["hits"]
    assert [one["_source"]["race-id"] for one in races] == ["stored-2", "stored-1"]
    query = {"query": {"bool": {"filter": [{"term": {"race-id": "stored-1"}}, {"term": {"active": True}}]}}}
    results = stored.search("results", {**query, "size": 100})["hits"]["hits"]
    names = {hit["_source"]["name"] for hit in results}
    assert {"throughput", "latency", "service_time", "error_rate", "duration", "store_size"} <= names


def test_races_and_annotations_are_exported_listed_and_deleted(stored: StoredRace) -> None:
    def count() -> int:
        query = {"query": {"term": {"race-id": "stored-1"}}}
        return int(stored.client.request("POST", "/rally-*/_count", query)["count"])

    before = count()
    stored.run("export", "stored-1", "--to-store")
    stored.client.request("POST", "/rally-*/_refresh")
    assert count() == before > 600
    places = [stored.document(race_id)["stored-in"] for race_id in ("stored-1", "stored-2")]
    assert places == [["here", "store"], ["here", "store"]]
    added = stored.run("add", "annotation", "--race-timestamp=20260301T123015Z", "--message=disks").split()[2]
    assert "here, store" in stored.run("list", "annotations")
    assert added in stored.run("delete", "annotation", f"--id={added}")
    stored.race("stored-3")
    stored.run("delete", "race", "--id=stored-3")
    assert "stored-3" not in stored.run("list", "races")
    assert stored.search("metrics", {"query": {"term": {"race-id": "stored-3"}}})["hits"]["hits"] == []
