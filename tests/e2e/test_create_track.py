"""A track captured from a real cluster, a race with this track, and aborted captures."""

from __future__ import annotations

import bz2
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacenote.capture.create import CaptureRequest, create_track
from pacenote.capture.dump import JOURNAL, CaptureJournal
from pacenote.capture.sources import find_indices
from pacenote.cluster.cluster import EmbeddedCluster, start_cluster
from pacenote.provision.cars import compose_car
from pacenote.provision.engine_request import EngineRequest
from pacenote.track.load import load_track
from pacenote.track.render import RenderOptions
from pacenote.track.source import open_track

pytestmark = pytest.mark.engine

COUNT = 2_500
CAR = compose_car([], {"heap_size": "512m"})


@pytest.fixture(scope="module")
def cluster(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCluster]:
    request = EngineRequest(home, tmp_path_factory.mktemp("artifacts"), car=CAR)
    with start_cluster(request) as running:
        fill(running)
        yield running


def fill(cluster: EmbeddedCluster) -> None:
    rest = cluster.rest()
    settings = {"number_of_shards": 2, "number_of_replicas": 0}
    # Text that looks like a template must not change.
    mapping = {"_meta": {"script": "{{mustache}} {% if %}"}, "properties": {"n": {"type": "integer"}}}
    rest.request("PUT", "/notes", {"settings": settings, "mappings": mapping})
    lines = [line for n in range(COUNT) for line in ({"index": {}}, {"n": n, "text": f"Nummer {n} äöü"})]
    body = "".join(json.dumps(line) + "\n" for line in lines)
    rest.request("POST", "/notes/_bulk", body, {"refresh": True})


def numbers(file: Path) -> list[int]:
    return sorted(json.loads(line)["n"] for line in file.read_bytes().splitlines())


def test_a_captured_track_can_be_raced(cluster: EmbeddedCluster, home: Path, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "pacenote", *arguments]
        environment = {**os.environ, "PACENOTE_HOME": str(home)}
        done = subprocess.run(
            command, env=environment, text=True, capture_output=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    hosts = f"--target-hosts=127.0.0.1:{cluster.hosts[0].port}"
    folder = tmp_path / "tracks" / "mine"
    out = run("create-track", "--track=mine", "--indices=not*", hosts, f"--output-path={tmp_path / 'tracks'}")
    assert f"--track-path={folder}" in out
    assert numbers(folder / "notes-documents.json") == list(range(COUNT))
    whole = (folder / "notes-documents.json").read_bytes()
    assert bz2.decompress((folder / "notes-documents.json.bz2").read_bytes()) == whole
    small = (folder / "notes-documents-1k.json").read_bytes()
    assert whole.startswith(small)
    assert small.count(b"\n") == 1_000
    assert bz2.decompress((folder / "notes-documents-1k.json.bz2").read_bytes()) == small

    track = load_track(open_track(folder), {"number_of_shards": 3}, RenderOptions(now=0))
    (corpus,) = track.corpora
    (documents,) = corpus.documents
    assert documents.document_count == COUNT
    assert documents.uncompressed_bytes == len(whole)
    (index,) = track.indices
    assert index.body is not None
    assert index.body["mappings"]["_meta"] == {"script": "{{mustache}} {% if %}"}
    assert index.body["settings"]["index"] == {
        "number_of_shards": "3",
        "number_of_replicas": "0",
        "replication": {"type": "DOCUMENT"},
    }

    race_id = uuid.uuid4().hex
    run("race", f"--track-path={folder}", "--test-mode", f"--race-id={race_id}", hosts)
    race = json.loads((home / "races" / race_id / "race.json").read_text())
    assert all(task["error_rate"] == 0 for task in race["tasks"])
    assert [(check["counted"], check["acknowledged"]) for check in race["documents"]] == [(1_000, 1_000)]
    fill(cluster) if cluster.rest().exchange("DELETE", "/notes").ok else None


class Aborted(Exception):
    """Ends a capture before it is complete."""


def abort_after(documents: int):
    def progress(label: str, done: int, total: int) -> None:
        if label.startswith("reading") and done >= documents:
            raise Aborted

    return progress


@pytest.mark.parametrize("lost", [False, True])
def test_an_aborted_capture_continues(cluster: EmbeddedCluster, tmp_path: Path, *, lost: bool) -> None:
    folder = tmp_path / "mine"
    request = CaptureRequest("mine", folder, indices=("notes",), batch_size=300)
    warnings: list[str] = []
    with pytest.raises(Aborted):
        create_track(request, cluster.rest(), abort_after(900), warnings.append)
    (source,) = find_indices(cluster.rest(), ("notes",))
    state = CaptureJournal(folder).state(source)
    assert state.documents == 900
    # Documents after the last saved position, as after SIGKILL.
    with (folder / "notes-documents.json").open("ab") as file:
        file.write(b'{"n": -1}\n{"n"')
    if lost:
        cluster.rest().request("DELETE", "/_search/point_in_time", {"pit_id": [state.position.pit_id]})
    labels: list[str] = []
    create_track(request, cluster.rest(), lambda label, *_: labels.append(label), warnings.append)
    assert numbers(folder / "notes-documents.json") == list(range(COUNT))
    assert "reading notes: continuing after 900 documents" in labels
    assert any("starting from the beginning" in label for label in labels) == lost
    assert not (folder / JOURNAL).exists()


def test_a_data_stream(cluster: EmbeddedCluster, tmp_path: Path) -> None:
    rest = cluster.rest()
    template = {"mappings": {"properties": {"@timestamp": {"type": "date"}, "n": {"type": "long"}}}}
    body = {"index_patterns": ["logs-*"], "data_stream": {}, "template": template}
    rest.request("PUT", "/_index_template/logs", body)
    for n in range(3):
        rest.request("POST", "/logs-x/_doc", {"@timestamp": "2026-01-02", "n": n}, {"refresh": True})
        rest.request("POST", "/logs-x/_rollover") if n == 0 else None
    folder = create_track(
        CaptureRequest("logs", tmp_path / "logs", data_streams=("logs-*",)), rest, lambda *_: None, print
    )
    assert numbers(folder / "logs-x-documents.json") == [0, 1, 2]
    track = load_track(open_track(folder), {}, RenderOptions(now=0))
    assert [stream.name for stream in track.data_streams] == ["logs-x"]
    (made,) = track.composable_templates
    assert made.pattern == "logs-x"
    assert made.body["template"]["mappings"] == template["mappings"]
    assert track.corpora[0].documents[0].target_data_stream == "logs-x"
    assert rest.exchange("PUT", "/_index_template/logs-x", made.body).ok


def test_an_engine_without_points_in_time_is_scrolled(home: Path, tmp_path: Path) -> None:
    engine = EngineRequest(home, tmp_path / "artifacts", distribution="elasticsearch", car=CAR)
    with start_cluster(engine) as running:
        fill(running)
        request = CaptureRequest("mine", tmp_path / "mine", indices=("notes",), batch_size=400)
        with pytest.raises(Aborted):
            create_track(request, running.rest(), abort_after(800), print)
        create_track(request, running.rest(), lambda *_: None, print)
    assert numbers(tmp_path / "mine" / "notes-documents.json") == list(range(COUNT))
