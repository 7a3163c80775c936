"""A dry run describes a race without doing anything of it."""

from __future__ import annotations

import dataclasses
import json
import socket
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from pacenote.errors import CorpusError, EngineError, TrackError, UsageError
from pacenote.model.archive_options import ArchiveOptions
from pacenote.model.car_options import CarOverrides
from pacenote.model.data_options import DataOptions
from pacenote.model.engine_options import EngineOptions
from pacenote.model.node_options import NodeGroup, NodeOptions
from pacenote.model.race_request import RaceRequest
from pacenote.model.source_options import SourceOptions
from pacenote.model.team_options import TeamOptions
from pacenote.plan.duration import ExpectedDuration
from pacenote.provision import engine_checks
from pacenote.provision.data_sets import DataOrigin, DataSetWriter
from pacenote.provision.layout import create_layout, plan_layout
from pacenote.race.dry_run import dry_run
from teams.repositories import write_team

JDWP = "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=5005"


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
    plan = dry_run(request(tmp_path, track="http_logs"))
    assert [step.name for step in plan.steps][:3] == ["delete-index", "create-index", "check-cluster-health"]
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
    corpus = dry_run(offline).corpora[0]
    assert (corpus.source, dict(corpus.documents)) == (f"in {folder}", {"notes.json": 5000})
    excerpt = dry_run(dataclasses.replace(offline, test_mode=True)).corpora[0]
    assert excerpt.source == f"the first documents of {folder / 'notes.json'}"
    assert dict(excerpt.documents) == {"notes-1k.json": 1000}
    with pytest.raises(CorpusError, match="has no generator"):
        dry_run(dataclasses.replace(offline, corpus="generated"))


def test_the_engine_and_the_duration_are_stated(tmp_path: Path) -> None:
    search = {"operation": {"operation-type": "raw-request", "path": "/"}, "time-period": 20}
    own = notes(tmp_path, search)
    plan = dry_run(dataclasses.replace(own, engine=EngineOptions(car=("1gheap",))))
    assert plan.engine == (
        "opensearch 3.3.0, started on a free port of 127.0.0.1 with car '1gheap' and 1g of heap"
    )
    assert plan.duration == ExpectedDuration(20.0, 1)
    split = NodeOptions((NodeGroup(1, ("master",)), NodeGroup(2, ("data",))))
    several = dry_run(dataclasses.replace(own, engine=EngineOptions(nodes=split)))
    assert several.engine == (
        "opensearch 3.3.0, started on 3 nodes on 127.0.0.1 with car 'defaults' and 1g of heap each"
    )
    assert [text for text in several.warnings if "no node has the role ingest" in text]
    hosts = dataclasses.replace(own, pipeline="benchmark-only", target_hosts=("10.0.0.1:9200", "b:9201"))
    assert dry_run(hosts).engine == (
        "the cluster at http://10.0.0.1:9200, http://b:9201, which a dry run does not contact"
    )


@pytest.mark.parametrize(
    ("name", "version", "repository"),
    [
        ("elasticsearch", "8.17.0", None),
        ("opensearch", "1.3.20", None),
        ("elasticsearch", "9.5.3", "release"),
    ],
)
def test_an_official_archive_is_planned_without_a_download(
    tmp_path: Path, name: str, version: str, repository: str | None
) -> None:
    archive = ArchiveOptions(repository=repository)
    engine = EngineOptions(distribution=name, distribution_version=version, archive=archive)
    planned = dry_run(request(tmp_path, track="http_logs", engine=engine))
    assert planned.engine.startswith(f"{name} {version}, started on a free port of 127.0.0.1 ")
    assert not (tmp_path / "home").exists()


def test_bulks_that_their_iterations_end_are_told(tmp_path: Path) -> None:
    few = {"operation-type": "bulk", "bulk-size": 10}
    task = {"name": "few", "operation": few, "iterations": 4}
    own = notes(tmp_path, task, **{"base-url": "http://127.0.0.1:1/data"})
    text = "few sends 40 of 5,000 documents, because its iterations end it; omit `iterations` to send all"
    assert [note for note in dry_run(own).notes if note.startswith("few ")] == [text]
    assert not any("few" in note for note in dry_run(dataclasses.replace(own, test_mode=True)).notes)


@pytest.mark.process
def test_what_the_engine_lacks_is_stated(tmp_path: Path) -> None:
    create = {"operation": "create-index"}
    query = {"script_score": {"query": {"match_all": {}}, "script": "1"}}
    scripted = {"operation": {"operation-type": "search", "index": "notes", "body": {"query": query}}}
    own = notes(tmp_path, create, scripted)
    engine = EngineOptions(distribution="elasticsearch", distribution_version="9.5.3")
    core = dataclasses.replace(own, engine=engine)
    plan = dry_run(core)
    assert plan.engine.startswith("Elasticsearch core 9.5.3, assembled: not the official distribution, ")
    (warning,) = plan.warnings
    assert warning.startswith("task 'search' needs the module lang-painless, which is not published for ")
    assert dry_run(own).warnings == ()


def test_what_a_race_would_refuse_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrackError) as caught:
        dry_run(request(tmp_path, track="http_logs", track_params={"number_of_shards": -1}))
    assert 'number_of_shards of "logs-181998" to -1, but it must be at least 1' in caught.value.problems[0]
    with pytest.raises(UsageError, match="searches indices that a new engine does not have"):
        dry_run(request(tmp_path, track="http_logs", include_tasks=("term",)))


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ({"distribution": "elasticsearch", "distribution_version": "6.8.0"}, r"6\.8\.0 cannot be started"),
        ({"runtime_jdk": 11}, "no Java 11 in JAVA11_HOME or JAVA_HOME"),
    ],
)
def test_an_engine_or_java_that_a_race_would_refuse_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: dict[str, Any], message: str
) -> None:
    for name in ("JAVA_HOME", "JAVA11_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(EngineError, match=message):
        dry_run(request(tmp_path, track="http_logs", engine=EngineOptions(**engine)))
    cluster = {"pipeline": "benchmark-only", "target_hosts": ("10.0.0.1:9200",)}
    assert dry_run(request(tmp_path, track="http_logs", engine=EngineOptions(**engine), **cluster)).steps


def test_what_a_race_may_refuse_is_a_warning(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = {"http.port": str(port), "indices.memory.index_bufer_size": "1%"}
        options = EngineOptions(overrides=CarOverrides(settings=settings, jvm_options=(JDWP,)))
        warnings = dry_run(request(tmp_path, track="http_logs", engine=options)).warnings
    assert [text for text in warnings if text.startswith(f"port {port} is taken: another process listens")]
    assert "the settings of the engine are not checked yet: its jars are not downloaded" in warnings
    assert [text for text in warnings if text.startswith("a debug agent (jdwp) slows the engine")]
    assert not (tmp_path / "home").exists()


def test_the_data_that_the_engine_starts_with_is_checked_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_checks, "plan_layout", partial(plan_layout, root=False))
    origin = DataOrigin("opensearch", "3.3.0", "race-1", "logs", "", "2026-11-23T08:00:00+00:00")
    writer = DataSetWriter(create_layout(tmp_path / "home", root=False), "logs", origin)
    (folder,) = writer.targets(0, 1)
    folder.mkdir()
    (folder / "index").write_bytes(b"1234567")
    writer.commit((1,))
    restored = {"track": "http_logs", "include_tasks": ("term",)}
    options = EngineOptions(data=DataOptions("restore", "logs"))
    plan = dry_run(request(tmp_path, engine=options, **restored))
    assert plan.engine.endswith(
        "of heap, and data set logs (7 B, opensearch 3.3.0, track logs, stored 2026-11-23T08:00:00+00:00)"
    )
    other = structs.replace(options, distribution_version="3.8.0")
    with pytest.raises(EngineError, match=r"is of opensearch 3\.3\.0, not of opensearch 3\.8\.0"):
        dry_run(request(tmp_path, engine=other, **restored))


@pytest.mark.process
def test_a_misspelt_jvm_option_is_refused(tmp_path: Path) -> None:
    params = {"additional_java_settings": ["-XX:+UseZCG"]}
    with pytest.raises(UsageError, match=r"does not know the JVM option -XX:\+UseZCG") as caught:
        dry_run(request(tmp_path, track="http_logs", engine=EngineOptions(car_params=params)))
    assert caught.value.hint == "did you mean -XX:+UseZGC?"


def test_an_option_of_a_car_for_another_java_is_refused(tmp_path: Path) -> None:
    options = {"cars/v1/plain/templates/config/jvm.options": "-XX:+UseConcMarkSweepGC\n"}
    team = TeamOptions(path=write_team(tmp_path / "team", options))
    with pytest.raises(UsageError, match="UseConcMarkSweepGC") as caught:
        dry_run(request(tmp_path, track="http_logs", engine=EngineOptions(car=("small",), team=team)))
    assert (caught.value.hint or "").endswith("sets it, choose another --team-revision")


def test_sources_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    sources = SourceOptions(source_path=str(tmp_path / "none"))
    with pytest.raises(UsageError, match=r"--source-path=.*none is not a folder"):
        dry_run(
            request(
                tmp_path, track="http_logs", pipeline="from-sources", engine=EngineOptions(source=sources)
            )
        )


def test_a_heap_larger_than_the_memory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"too little memory: a node with 97\.7 TiB of heap"):
        dry_run(
            request(tmp_path, track="http_logs", engine=EngineOptions(car_params={"heap_size": "100000g"}))
        )


def test_the_bundled_track_can_run_on_the_core(tmp_path: Path) -> None:
    engine = EngineOptions(distribution="elasticsearch", distribution_version="9.5.3")
    bundled = request(tmp_path, track="http_logs", track_repository="bundled", engine=engine)
    assert not dry_run(bundled).warnings
    as_public = dataclasses.replace(bundled, track_params={"request_type": "match_only_text"})
    assert any(
        "needs the module mapper-extras" in text or "need the module mapper-extras" in text
        for text in dry_run(as_public).warnings
    )
