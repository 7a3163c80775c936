"""Complete races against a small server that responds like an engine."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import EngineError, TrackError, UsageError
from pacenote.model.engine_options import EngineOptions
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.race.prefetch import prefetch_corpora
from pacenote.race.run import race
from pacenote.repository.git import git
from pacenote.store.race_store import RaceStore
from support.engine import OPENSEARCH, engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

pytestmark = pytest.mark.process


class Engine:
    """Responds like OpenSearch."""

    version: Mapping[str, str] = OPENSEARCH
    address: str

    def respond(self, request: HttpRequest) -> HttpResponse:
        if request.target.startswith("/missing"):
            return json_response({"error": {"type": "no_such_thing", "reason": "it is missing"}}, 404)
        return json_response(engine_document(request.target, self.version))


@pytest.fixture
def engine() -> Iterator[Engine]:
    running = Engine()
    with http_server(running.respond) as server:
        running.address = server.address
        yield running


@pytest.fixture
def address(engine: Engine) -> str:
    return engine.address


class Listener:
    """Records the calls it receives."""

    def __init__(self) -> None:
        self.received: list[str] = []

    def preparing(self, label: str, done: int, total: int) -> None:
        self.received.append(f"preparing {label}")

    def started(self, record: Any) -> None:
        self.received.append("started")

    def progress(self, progress: Any) -> None:
        """Ignored: whether it is called depends on timing."""

    def task_finished(self, result: Any) -> None:
        self.received.append(result.task)

    def info(self, text: str) -> None:
        self.received.append(f"note {text}")

    def warning(self, text: str) -> None:
        self.received.append(f"warning {text}")

    def finished(self, record: Any) -> None:
        self.received.append(f"finished {record.verdict.state}")


def track(folder: Path, *operations: dict[str, Any]) -> Path:
    schedule = [
        {"name": f"task{number}", "operation": {"operation-type": "raw-request", **operation}}
        for number, operation in enumerate(operations)
    ]
    folder.mkdir()
    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    return folder


def request(tmp_path: Path, **more: Any) -> RaceRequest:
    return RaceRequest(race_id="r", home=tmp_path / "home", **more)


def existing(tmp_path: Path, address: str, *operations: dict[str, Any], **more: Any) -> RaceRequest:
    path = track(tmp_path / "tiny", *operations)
    own: dict[str, Any] = {"track_path": path, "pipeline": "benchmark-only", "target_hosts": (address,)}
    return request(tmp_path, **own, **more)


def state(record: RaceRecord) -> str:
    assert record.verdict is not None
    return record.verdict.state


def test_a_race_is_reported_and_stored_and_has_a_verdict(tmp_path: Path, address: str) -> None:
    listener = Listener()
    record = race(
        existing(tmp_path, address, {"path": "/one", "meta": {"kind": "x"}}, {"path": "/two"}), listener
    )
    assert listener.received == ["started", "task0", "task1", f"finished {state(record)}"]
    # On a busy host, the race is suspect.
    assert state(record) in {"valid", "suspect"}
    assert (record.complete, record.challenge, record.car) == (True, None, ("external",))
    assert record.cluster.version == "3.3.0"
    assert record.task_meta == {"task0": {"kind": "x"}}
    assert RaceStore(tmp_path / "home").load("r") == record


def test_an_engine_that_cannot_start_is_refused_before_the_code_of_the_track_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("JAVA_HOME", "JAVA8_HOME"):
        monkeypatch.delenv(name, raising=False)
    own = track(tmp_path / "tiny", {"path": "/one"})
    ran = tmp_path / "ran"
    (own / "track.py").write_text(
        f"import pathlib\npathlib.Path({str(ran)!r}).touch()\ndef register(registry): pass\n"
    )
    with pytest.raises(EngineError, match="no Java 8 in JAVA8_HOME or JAVA_HOME"):
        race(request(tmp_path, track_path=own, engine=EngineOptions(runtime_jdk=8)), Listener())
    assert not ran.exists()


def test_selected_tasks_of_a_track_from_a_repository_are_raced(tmp_path: Path, address: str) -> None:
    upstream = tmp_path / "upstream"
    upstream.mkdir()
    operations = ({"path": "/"}, {"path": "/_cat"}, {"path": "/x", "run-on-serverless": False})
    file = track(upstream / "tiny", *operations) / "track.json"
    document = json.loads(file.read_text())
    document["schedule"][0] |= {"iterations": 50, "warmup-iterations": 20, "clients": 2}
    document["challenge"] = {"name": "c", "user-info": "Mind the gap.", "schedule": document.pop("schedule")}
    file.write_text(json.dumps(document))
    git("init", "--quiet", "--initial-branch=master", at=upstream)
    commit(upstream)
    options: dict[str, Any] = {"track": "tiny", "track_repository": upstream.as_uri(), "test_mode": True}
    options |= {"exclude_tasks": ("task1",), "build_flavor": "serverless"}
    options |= {"pipeline": "benchmark-only", "target_hosts": (address,)}
    listener = Listener()
    record = race(request(tmp_path, **options), listener)
    assert record.track.revision == git("rev-parse", "HEAD", at=upstream)
    (task,) = record.tasks
    assert (task.task, task.accounting.warmup, task.accounting.normal) == ("task0", 2, 2)
    assert 'note left out because they cannot run on serverless: "task2"' in listener.received
    assert "note Mind the gap." in listener.received


def commit(root: Path) -> None:
    git("add", "--all", at=root)
    author = ("-c", "user.name=me", "-c", "user.email=me@example.org", "-c", "commit.gpgsign=false")
    git(*author, "commit", "--quiet", "--message=change", at=root)


@pytest.fixture
def branches(tmp_path: Path) -> Path:
    """A repository with one track on the branch `master` and a different one on `8.11`."""
    root = tmp_path / "upstream"
    root.mkdir()
    git("init", "--quiet", "--initial-branch=8.11", at=root)
    track(root / "old", {"path": "/"})
    commit(root)
    git("checkout", "--quiet", "-b", "master", at=root)
    (root / "old").rename(root / "new")
    commit(root)
    return root


@pytest.mark.parametrize(
    ("version", "name"),
    [
        ({"number": "8.12.0"}, "old"),
        ({"number": "8.11.0", "build_flavor": "serverless"}, "new"),
        ({"distribution": "opensearch", "number": "8.11.0"}, "new"),
    ],
)
@pytest.mark.usefixtures("branches")
def test_the_version_of_the_cluster_selects_the_branch(
    tmp_path: Path, engine: Engine, version: dict[str, str], name: str
) -> None:
    engine.version = version
    options: dict[str, Any] = {"track": name, "track_repository": str(tmp_path / "upstream")}
    options |= {"challenge": "none", "pipeline": "benchmark-only", "target_hosts": (engine.address,)}
    with pytest.raises(
        TrackError, match=f'track "{name}" has no challenge'
    ):  # The track is found, but has no such challenge.
        race(request(tmp_path, **options), Listener())


def test_data_is_downloaded_for_the_selected_branch(tmp_path: Path, branches: Path) -> None:
    options: dict[str, Any] = {"track": "old", "track_repository": branches.as_uri()}
    engine = EngineOptions(distribution="elasticsearch", distribution_version="8.12.0")
    assert prefetch_corpora(request(tmp_path, **options, engine=engine), lambda *_: None) == {}
    with pytest.raises(TrackError, match='there is no track "old"'):
        prefetch_corpora(request(tmp_path, **options), lambda *_: None)


def test_failed_requests_void_the_race(tmp_path: Path, address: str) -> None:
    record = race(existing(tmp_path, address, {"path": "/missing"}), Listener())
    assert record.complete
    assert record.verdict.state == "void"
    assert record.tasks[0].errors[0].reason == "no_such_thing: it is missing"


def test_no_secret_is_written_to_disk(tmp_path: Path, address: str) -> None:
    race_request = existing(
        tmp_path,
        address.replace("127.0.0.1", "me:hunter22@127.0.0.1"),
        {"path": "/{{ secret_key }}", "method": "POST", "body": {"key": "{{ secret_key }}"}},
        track_params={"secret_key": "hunter33"},
    )
    race(race_request, Listener())
    stored = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert {"race.json", "plan.json"} <= {path.name for path in stored}
    for path in stored:
        text = path.read_bytes()
        assert b"hunter22" not in text, path
        assert b"hunter33" not in text, path


def test_invalid_race_requests_are_rejected_before_anything_is_created(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="4gheapp"):
        race(request(tmp_path, track="http_logs", engine=EngineOptions(car=("4gheapp",))), Listener())
    with pytest.raises((UsageError, EngineError), match="opensearch"):
        race(
            request(tmp_path, track="http_logs", engine=EngineOptions(distribution_version="0.1")),
            Listener(),
        )
    with pytest.raises(TrackError, match=r'no track "http_logz" .did you mean "http_logs"'):
        race(request(tmp_path, track="http_logz", offline=True), Listener())
    assert not (tmp_path / "home" / "races").exists()
    assert not (tmp_path / "home" / "corpora").exists()


def test_a_misspelled_track_is_reported_before_the_cluster_is_contacted(tmp_path: Path) -> None:
    race_request = request(
        tmp_path, track="http_logz", pipeline="benchmark-only", target_hosts=("127.0.0.1:1",)
    )
    with pytest.raises(TrackError, match=r'no track "http_logz"'):
        race(race_request, Listener())


def test_searching_a_new_engine_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a new engine does not have") as caught:
        race(request(tmp_path, track="http_logs", challenge="query-only"), Listener())
    assert "such as --challenge=append-no-conflicts; or use data" in caught.value.hint


def test_the_tasks_that_would_create_the_indices_are_named(tmp_path: Path) -> None:
    race_request = request(tmp_path, track="http_logs", include_tasks=("term",))
    with pytest.raises(UsageError) as caught:
        race(race_request, Listener())
    assert "--include-tasks=create-index,index-append,term" in caught.value.hint


def test_nothing_is_downloaded_when_offline(tmp_path: Path) -> None:
    race_request = request(tmp_path, track="http_logs", track_params={"docs": 1000}, offline=True)
    listener = Listener()
    with pytest.raises(EngineError) as caught:
        race(race_request, listener)
    assert "--offline" in caught.value.hint
    assert not any("downloading" in text for text in listener.received)
    assert not (tmp_path / "home" / "corpora").exists()


def test_a_race_on_generated_documents_warns_that_the_small_files_are_missing(
    tmp_path: Path, address: str
) -> None:
    path = track(tmp_path / "tiny")
    documents = {"source-file": "documents-181998.json", "document-count": 1_500, "target-index": "logs"}
    document = {
        "version": 2,
        "corpora": [{"name": "http_logs", "documents": [documents]}],
        "schedule": [{"operation": {"operation-type": "bulk", "bulk-size": 1_000}}],
    }
    (path / "track.json").write_text(json.dumps(document))
    listener = Listener()
    race(
        request(
            tmp_path, track_path=path, pipeline="benchmark-only", target_hosts=(address,), test_mode=True
        ),
        listener,
    )
    (text,) = [text for text in listener.received if text.startswith("warning documents-")]
    assert (
        text == "warning documents-181998-1k.json of corpus 'http_logs' is missing; documents are generated"
    )


def test_no_race_is_stored_if_the_cluster_does_not_respond(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"127\.0\.0\.1:1"):
        race(existing(tmp_path, "127.0.0.1:1", {"path": "/"}), Listener())
    assert not (tmp_path / "home" / "races").exists()


def test_races_can_run_at_the_same_time(tmp_path: Path) -> None:
    both = threading.Barrier(2, timeout=20)

    def respond(request: HttpRequest) -> HttpResponse:
        if request.target == "/together":
            # Each race only gets its response when the other one runs as well.
            both.wait()
        return json_response(engine_document(request.target, OPENSEARCH))

    with http_server(respond) as server, ThreadPoolExecutor(2) as pool:
        first = existing(tmp_path, server.address, {"path": "/together"})
        requests = [dataclasses.replace(first, race_id=race_id) for race_id in ("first", "second")]
        records = list(pool.map(lambda request: race(request, Listener()), requests))
    assert [(record.race_id, record.complete) for record in records] == [("first", True), ("second", True)]
    for record in records:
        assert [task.accounting.succeeded for task in record.tasks] == [1]
        assert RaceStore(tmp_path / "home").load(record.race_id) == record
