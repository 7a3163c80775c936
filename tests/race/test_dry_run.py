"""A dry run describes a race without doing anything of it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import CorpusError, EngineError, TrackError, UsageError
from pacenote.model.race_request import RaceRequest
from pacenote.plan.duration import ExpectedDuration
from pacenote.race.dry_run import dry_run


def request(tmp_path: Path, **more: Any) -> RaceRequest:
    return RaceRequest(race_id="r", home=tmp_path / "home", **more)


def notes(tmp_path: Path, *schedule: dict[str, Any], **documents: Any) -> RaceRequest:
    """Returns a request to race a track with one data file, `notes.json`."""
    bulk = {"name": "index", "operation": {"operation-type": "bulk", "bulk-size": 10}}
    file = {"source-file": "notes.json", "document-count": 5000, **documents}
    text = {
        "version": 2,
        "indices": [{"name": "notes"}],
        "corpora": [{"name": "notes", "documents": [file]}],
        "schedule": [bulk, *schedule],
    }
    folder = tmp_path / "track"
    folder.mkdir()
    (folder / "track.json").write_text(json.dumps(text))
    return request(tmp_path, track_path=folder)


def test_a_dry_run_creates_nothing(tmp_path: Path) -> None:
    found = dry_run(request(tmp_path, track="http_logs"))
    assert [step.name for step in found.steps][:3] == ["delete-index", "create-index", "check-cluster-health"]
    assert not (tmp_path / "home").exists()


def test_the_documents_are_those_that_would_be_sent(tmp_path: Path) -> None:
    generated = request(tmp_path, track="http_logs", corpus_documents=700, seed=7)
    (corpus,) = dry_run(generated).corpora
    total = sum(count or 0 for count in corpus.documents.values())
    assert (corpus.source, total) == ("generated with seed 7", 700)
    tested = dry_run(dataclasses.replace(generated, corpus_documents=None, test_mode=True))
    (step,) = [step for step in tested.steps if step.name == "index-append"]
    (line,) = step.tasks[0].requests
    counts = tested.corpora[0].documents.values()
    assert f" of {sum(count or 0 for count in counts):,} documents in {len(counts)} files" in line


def test_a_file_of_the_user_that_is_missing_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    own = request(tmp_path, track="http_logs", track_params={"corpus_file": "./none.json"})
    with pytest.raises(CorpusError, match=r"^\./none\.json of corpus 'http_logs' is missing$"):
        dry_run(own)


def test_the_source_of_data_is_stated(tmp_path: Path) -> None:
    missing = notes(tmp_path, **{"base-url": "http://127.0.0.1:1/data"})
    assert dry_run(missing).corpora[0].source == "to be downloaded from http://127.0.0.1:1/data"
    offline = dataclasses.replace(missing, offline=True)
    assert dry_run(offline).corpora[0].source == "notes.json is missing, so the race would not begin"
    folder = missing.home / "corpora" / "notes"
    folder.mkdir(parents=True)
    (folder / "notes.json").write_text("{}\n")
    found = dry_run(offline).corpora[0]
    assert (found.source, dict(found.documents)) == (f"in {folder}", {"notes.json": 5000})
    excerpt = dry_run(dataclasses.replace(offline, test_mode=True)).corpora[0]
    assert excerpt.source == f"the first documents of {folder / 'notes.json'}"
    assert dict(excerpt.documents) == {"notes-1k.json": 1000}
    with pytest.raises(CorpusError, match="has no generator"):
        dry_run(dataclasses.replace(offline, corpus="generated"))


def test_the_engine_and_the_duration_are_stated(tmp_path: Path) -> None:
    search = {"operation": {"operation-type": "raw-request", "path": "/"}, "time-period": 20}
    own = notes(tmp_path, search)
    found = dry_run(dataclasses.replace(own, car=("1gheap",)))
    assert found.engine == (
        "opensearch 3.3.0, started on a free port of 127.0.0.1 with car '1gheap' and 1g of heap"
    )
    assert found.duration == ExpectedDuration(20.0, 1)
    hosts = dataclasses.replace(own, pipeline="benchmark-only", target_hosts=("10.0.0.1:9200", "b:9201"))
    assert dry_run(hosts).engine == (
        "the cluster at http://10.0.0.1:9200, http://b:9201, which a dry run does not contact"
    )


def test_what_a_race_would_refuse_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrackError) as caught:
        dry_run(request(tmp_path, track="http_logs", track_params={"number_of_shards": -1}))
    assert 'number_of_shards of "logs-181998" to -1, but it must be at least 1' in caught.value.problems[0]
    with pytest.raises(UsageError, match="searches indices that a new engine does not have"):
        dry_run(request(tmp_path, track="http_logs", include_tasks=("term",)))


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ({"distribution": "elasticsearch", "distribution_version": "8.19.0"}, r"8\.19\.0 cannot be started"),
        ({"runtime_jdk": 11}, "no Java 11 in JAVA11_HOME or JAVA_HOME"),
    ],
)
def test_an_engine_or_java_that_a_race_would_refuse_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: dict[str, Any], message: str
) -> None:
    for name in ("JAVA_HOME", "JAVA11_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(EngineError, match=message):
        dry_run(request(tmp_path, track="http_logs", **engine))
    cluster = {"pipeline": "benchmark-only", "target_hosts": ("10.0.0.1:9200",)}
    assert dry_run(request(tmp_path, track="http_logs", **engine, **cluster)).steps


def test_a_heap_larger_than_the_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"too little memory: a node with 97\.7 TiB of heap"):
        dry_run(request(tmp_path, track="http_logs", car_params={"heap_size": "100000g"}))
