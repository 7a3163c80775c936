"""All operation types that OpenSearch supports without plug-ins, in one race with a real engine.

`tests/operations/test_registry.py` checks that every type is raced here, or left out with a reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from operations.serving import OperationClient
from pacenote.cluster.cluster import EmbeddedCluster, start_cluster
from pacenote.operations.runner import BuiltinResult
from pacenote.provision.cars import Car
from pacenote.provision.engine_request import EngineRequest

pytestmark = pytest.mark.engine

DOCUMENTS = 1_000
SORTED = {"query": {"match_all": {}}, "sort": [{"number": "asc"}]}
HITS = {"property": "hits", "condition": ">=", "value": DOCUMENTS}
SHARDS = {"property": "shards.failed", "condition": "==", "value": 0}
ONE_SHARD = {"index.number_of_shards": 1, "index.number_of_replicas": 0}

RUN_IN_PYTHON = frozenset({
    "run-until", "shrink-index", "wait-for-current-snapshots-create", "wait-for-recovery",
    "wait-for-snapshot-create",
})  # fmt: skip
"""Types that run in Python and are executed one by one, without a race."""

_ML = "needs machine learning of Elasticsearch's X-Pack"
_PLUGIN = "needs a plug-in of OpenSearch that the embedded engine lacks"
_X_PACK = "needs a feature of Elasticsearch's X-Pack"

LEFT_OUT = {
    **dict.fromkeys(("close-ml-job", "create-ml-datafeed", "create-ml-job", "delete-ml-datafeed"), _ML),
    **dict.fromkeys(("delete-ml-job", "open-ml-job", "start-ml-datafeed", "stop-ml-datafeed"), _ML),
    **dict.fromkeys(("delete-async-search", "get-async-search", "sql", "submit-async-search"), _PLUGIN),
    **dict.fromkeys(("create-ilm-policy", "delete-ilm-policy", "downsample", "enrich-policy"), _X_PACK),
    **dict.fromkeys(("create-transform", "delete-transform", "start-transform"), _X_PACK),
    **dict.fromkeys(("esql", "esql-profile", "transform-stats", "wait-for-transform"), _X_PACK),
}
"""Operation type → the reason why the engine in these tests cannot run it."""


@pytest.fixture(scope="module")
def cluster(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    car = Car(heap_size="512m")
    with start_cluster(EngineRequest(home, tmp_path_factory.mktemp("artifacts"), car=car)) as running:
        yield running


def op(kind: str, **params: Any) -> dict[str, Any]:
    """Returns an operation; keyword arguments are its parameters, with underscores instead of dashes."""
    return {"operation-type": kind, **{key.replace("_", "-"): value for key, value in params.items()}}


def tasks() -> list[dict[str, Any]]:
    """Returns operations in an order in which they can run, each as a separate task."""
    return [*setting_up(), *indexing(), *reading(), *composing(), *keeping(), *tearing_down()]


def types_in(operation: object) -> Iterator[str]:
    """Yields the types of an operation and of the operations inside it."""
    if isinstance(operation, Mapping):
        if "operation-type" in operation:
            yield operation["operation-type"]
        operation = list(operation.values())
    if isinstance(operation, list):
        for inner in operation:
            yield from types_in(inner)


def setting_up() -> list[dict[str, Any]]:
    return [
        op("put-settings", body={"transient": {"cluster.routing.allocation.enable": None}}),
        op("put-pipeline", id="stamp", body={"processors": [{"set": {"field": "seen", "value": True}}]}),
        op("delete-index-template", only_if_exists=True),
        op("create-index-template", settings={"number_of_replicas": 0}),
        op("create-component-template"),
        op("create-composable-template", settings={"index": {"number_of_replicas": 0}}),
        op("delete-index", index=["numbers", "small"]),
        op("create-index", settings={"index.number_of_replicas": 0}),
        op("create-data-stream", data_stream="events-a"),
        op("cluster-health", index="numbers", request_params={"wait_for_status": "green"}, retries=3),
    ]


def indexing() -> list[dict[str, Any]]:
    sizes = {"bulk_size": 100, "request_timeout": 30}
    return [
        op("bulk", name="index", pipeline="stamp", indices=["numbers"], **sizes),
        op("bulk", name="again", conflicts="random", on_conflict="update", ingest_doc_count=200,
           indices=["numbers"], **sizes),
        op("bulk", name="stream", corpora=["streamed"], refresh="true", **sizes),
        op("refresh"),
        op("index-stats", index="numbers", retries=20,
           condition={"path": "_all.primaries.merges.current", "expected-value": 0}),
        op("node-stats"),
        op("force-merge", max_num_segments=1),
        op("force-merge", name="in-background", mode="polling", poll_period=0.1, max_num_segments=1),
        op("refresh", name="refresh-again", index="numbers"),
    ]  # fmt: skip


def reading() -> list[dict[str, Any]]:
    composite = {"composite": {"sources": [{"n": {"terms": {"field": "number"}}}]}}
    return [
        op("search", index="numbers", body={**SORTED, "track_total_hits": True}, cache=False,
           detailed_results=True, assertions=[HITS, SHARDS]),
        op("search", name="old-scroll", index="numbers", body={}, pages=2, results_per_page=100),
        op("scroll-search", index="numbers", body={}, pages="all", results_per_page=300),
        op("paginated-search", index="numbers", body=SORTED, pages="all", results_per_page=300),
        op("composite-agg", index="numbers", results_per_page=400, body={"aggs": {"a": composite}}),
        op("field-caps", index="numbers", fields="num*"),
        op("raw-request", path="/_cat/indices", request_params={"v": True}),
        op("raw-request", name="missing", path="/nowhere", ignore=[404]),
        op("sleep", duration=0.01),
    ]  # fmt: skip


def composing() -> list[dict[str, Any]]:
    search = op("search", index="numbers", body={"query": {"match_all": {}}})
    paged = op("paginated-search", name="pinned", body=SORTED, pages=3, results_per_page=200,
               with_point_in_time_from="pit")  # fmt: skip
    return [
        op("composite", max_connections=2, requests=[
            op("open-point-in-time", name="pit", index="numbers"),
            {"stream": [{**search, "name": "left"}, op("sleep", duration=0.01)]},
            {"stream": [{**search, "name": "right"}]},
            paged,
            op("composite", name="nested", requests=[op("field-caps", name="caps", index="numbers")]),
            op("raw-request", name="raw", path="/_cat/nodes"),
            op("close-point-in-time", name="unpin", with_point_in_time_from="pit"),
        ]),
    ]  # fmt: skip


def keeping() -> list[dict[str, Any]]:
    snapshot = {"repository": "kept", "snapshot": "first"}
    restored = {"indices": "numbers", "rename_pattern": "numbers", "rename_replacement": "restored"}
    return [
        op("create-snapshot-repository", repository="kept",
           body={"type": "fs", "settings": {"location": "backups"}}),
        op("create-snapshot", body={"indices": "numbers"}, wait_for_completion=True, **snapshot),
        op("restore-snapshot", body=restored, wait_for_completion=True, **snapshot),
        op("raw-request", name="forget", path="/_snapshot/kept/first", method="DELETE"),
        op("delete-snapshot-repository", repository="kept"),
    ]  # fmt: skip


def tearing_down() -> list[dict[str, Any]]:
    return [
        op("delete-data-stream", data_stream="events-a"),
        op("delete-composable-template", name="drop-composable"),
        op("delete-component-template"),
        op("delete-index-template", name="drop-legacy"),
        op("delete-index", name="drop", index=["numbers", "restored", "old-*", "nowhere"]),
    ]


def write_track(folder: Path, operations: list[dict[str, Any]]) -> None:
    """Writes a track that runs the operations one after another."""
    mapping = {"properties": {"number": {"type": "integer"}, "@timestamp": {"type": "date"}}}
    files = {
        "index.json": {"settings": ONE_SHARD, "mappings": mapping},
        "legacy.json": {"index_patterns": ["old-*"], "settings": {"number_of_shards": 1}},
        "part.json": {"template": {"mappings": mapping}},
        "whole.json": {"index_patterns": ["events-*"], "data_stream": {}, "composed_of": ["part"]},
    }
    lines = [json.dumps({"number": n, "@timestamp": 1_500_000_000_000 + n}) for n in range(DOCUMENTS)]
    action = json.dumps({"create": {"_index": "events-a"}})
    files_text = {name: json.dumps(content) for name, content in files.items()}
    files_text["numbers.json"] = "".join(f"{line}\n" for line in lines)
    files_text["events.json"] = "".join(f"{action}\n{line}\n" for line in lines)
    counted = {"document-count": DOCUMENTS}
    numbers = {**counted, "source-file": "numbers.json", "target-index": "numbers"}
    events = {**counted, "source-file": "events.json", "includes-action-and-meta-data": True}
    track = {
        "version": 2,
        "indices": [{"name": "numbers", "body": "index.json"}],
        "templates": [{"name": "legacy", "index-pattern": "old-*", "template": "legacy.json"}],
        "composable-templates": [
            {"name": "whole", "index-pattern": "events-*", "template": "whole.json",
             "delete-matching-indices": False}
        ],
        "component-templates": [{"name": "part", "template": "part.json"}],
        "corpora": [
            {"name": "indexed", "documents": [numbers]},
            {"name": "streamed", "documents": [events]},
        ],
        "schedule": [{"operation": operation, "name": operation.get("name")} for operation in operations],
    }  # fmt: skip
    files_text["track.json"] = json.dumps(track)
    for name, text in files_text.items():
        (folder / name).write_text(text)


def race(track: Path, cluster: EmbeddedCluster) -> dict[str, Any]:
    """Races the track on the cluster and returns the race record."""
    command = [
        sys.executable, "-m", "pacenote", "race", f"--track-path={track}", "--race-id=all",
        f"--target-hosts={cluster.hosts[0].address}", "--enable-assertions",
    ]  # fmt: skip
    environment = {**os.environ, "PACENOTE_HOME": str(track / "home")}
    ended = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=300)
    record = track / "home" / "races" / "all" / "race.json"
    assert record.exists(), ended.stderr
    return json.loads(record.read_text())


def test_every_type_that_the_engine_supports(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    operations = tasks()
    write_track(tmp_path, operations)
    raced = race(tmp_path, cluster)
    results = {task["task"]: task for task in raced["tasks"]}
    failed = {name: task["errors"] for name, task in results.items() if task["error_rate"]}
    assert failed == {}
    assert raced["aborted"] == ""
    assert len(results) == len(operations)
    # The repository of the track is a folder of the node, and is removed with it.
    (node,) = cluster.local_nodes()
    assert (node.folder / "repository" / "backups").is_dir()
    done = {name: task["work"]["done"] for name, task in results.items()}
    expected = {
        "index": DOCUMENTS, "stream": DOCUMENTS, "again": 200, "search": 1, "old-scroll": 2,
        "scroll-search": 4, "paginated-search": 4, "composite-agg": 4, "composite": 1,
        "force-merge": 1, "in-background": 1,
        "delete-index": 0, "drop": 3, "create-index": 1, "missing": 1,
    }  # fmt: skip
    assert {name: done[name] for name in expected} == expected
    parts = {part["operation"]: part for part in results["composite"]["parts"]}
    assert {"pit", "left", "right", "pinned", "caps", "raw", "unpin"} <= set(parts)


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_types_that_the_engine_does_not_support(kind: str) -> None:
    pytest.skip(LEFT_OUT[kind])


def test_types_that_run_in_python(cluster: EmbeddedCluster) -> None:
    client = OperationClient(cluster.hosts[0].port)
    rest = cluster.rest()
    executed: set[str] = set()

    def run(kind: str, params: dict[str, Any]) -> BuiltinResult:
        executed.add(kind)
        return client.run(kind, params)

    def ask(method: str, path: str, body: object = None) -> None:
        reply = rest.exchange(method, path, body)
        assert reply.ok, reply.body

    ask("PUT", "/wide", {"settings": {"number_of_shards": 2, "number_of_replicas": 0}})
    ask("POST", "/wide/_doc?refresh=true", {"a": 1})
    recovered = run("wait-for-recovery", {"index": "wide"})
    assert (recovered.unit, recovered.success) == ("byte", True)
    shrunk = {"settings": {"index.number_of_shards": 1}}
    params = {"source-index": "wide", "target-index": "narrow", "target-body": shrunk}
    assert run("shrink-index", params).weight == 1
    until = {"path": "/narrow/_settings", "json-path": "narrow.settings.index.number_of_shards"}
    assert run("run-until", {**until, "criterion": {"operator": "eq", "value": 1}}).success
    gone = {**until, "json-path": "narrow.settings.index.blocks.write"}
    assert run("run-until", {**gone, "criterion": {"operator": "not_exists"}}).success
    ask("PUT", "/_snapshot/waited", {"type": "fs", "settings": {"location": "waited"}})
    ask("PUT", "/_snapshot/waited/one", {"indices": "narrow"})
    waited = {"repository": "waited", "snapshot": "one", "completion-recheck-wait-period": 0.05}
    assert run("wait-for-snapshot-create", waited).weight > 0
    assert run("wait-for-current-snapshots-create", waited).weight == 1
    ask("DELETE", "/_snapshot/waited/one")
    assert executed == RUN_IN_PYTHON
