"""A race started from the command line, without a terminal, against a server with known responses."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from pacenote.cli.main import main
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, HttpServer, http_server, json_response
from support.secure import engine

pytestmark = pytest.mark.process


def test_a_failed_race_is_reported_with_its_reason_without_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two clients send three requests each, all of which are rejected, then three each that succeed.

    Expected: an error rate of 100 % and its reason in the report and the record, six failures for the six
    requests that the server received, exit code 3, and the complete report on standard output.
    """
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    full = {"error": {"type": "rejected_execution", "reason": "the queue is full"}}
    schedule = [
        {
            "name": name,
            "operation": {"operation-type": "raw-request", "path": f"/{name}"},
            "clients": 2,
            "iterations": 3,
        }
        for name in ("refused", "served")
    ]
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    with engine(None, refuses={"/refused": (429, full)}) as server:
        code = main([
            "race",
            f"--track-path={tmp_path}",
            "--race-id=r",
            "--pipeline=benchmark-only",
            f"--target-hosts={server.address}",
        ])
        sent = server.count("GET /refused")
    out = capsys.readouterr().out
    assert (code, sent) == (3, 6)
    record = json.loads((tmp_path / "home" / "races" / "r" / "race.json").read_text())
    (error,) = record["tasks"][0]["errors"]
    assert (error["count"], error["status"], error["reason"]) == (
        6,
        429,
        "rejected_execution: the queue is full",
    )
    assert record["verdict"]["state"] == "void"
    for text in ("429", error["reason"], "100 % of the operations failed (limit 1 %), mostly HTTP 429"):
        assert text in out
    assert any("Mean Throughput" in line and "served" in line for line in out.splitlines())


def _race(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], server: HttpServer, *options: str
) -> tuple[int, dict[str, Any], str]:
    """Races the track in `tmp_path`; returns the exit code, the race record and the report."""
    target = f"--target-hosts={server.address}"
    fixed = ["race", f"--track-path={tmp_path}", "--race-id=r", "--pipeline=benchmark-only", target]
    code = main([*fixed, *options])
    record = json.loads((tmp_path / "home" / "races" / "r" / "race.json").read_text())
    return code, record, capsys.readouterr().out


def test_failures_in_the_warm_up_void_a_race_whose_measured_operations_all_succeed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The server refuses the first five requests, which are the warm-up, and serves the next five."""
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    counts = {"warmup-iterations": 5, "iterations": 5}
    task = {"name": "t", "operation": {"operation-type": "raw-request", "path": "/t"}, **counts}
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": [task]}))
    seen: list[str] = []

    def respond(request: HttpRequest) -> HttpResponse:
        if request.target == "/t":
            seen.append(request.target)
            if len(seen) <= 5:
                return json_response({"error": {"type": "unavailable", "reason": "not yet"}}, 503)
        return json_response(engine_document(request.target))

    with http_server(respond) as server:
        code, record, out = _race(tmp_path, capsys, server)
    (result,) = record["tasks"]
    assert (code, record["verdict"]["state"], result["error_rate"]) == (3, "void", 0.0)
    assert (result["accounting"]["failed"], result["accounting"]["normal"]) == (5, 5)
    reason = "t: 50 % of all operations failed, warm-up included (limit 1 %)"
    assert any(text.startswith(reason) for text in record["verdict"]["reasons"])
    assert reason in out
    assert "50 % of all operations failed, only in the warm-up" in out


@pytest.mark.parametrize("refused", [False, True])
def test_a_task_that_ends_in_its_warm_up_voids_the_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, refused: bool
) -> None:
    """The data ends long before the warm-up of ten minutes does."""
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    (tmp_path / "docs.json").write_text('{"n": 1}\n{"n": 2}\n{"n": 3}\n')
    file = {"source-file": str(tmp_path / "docs.json"), "document-count": 3, "target-index": "i"}
    bulk = {"operation-type": "bulk", "bulk-size": 1}
    schedule = [{"name": "index", "operation": bulk, "warmup-time-period": 600}]
    document = {"version": 2, "corpora": [{"name": "c", "documents": [file]}], "schedule": schedule}
    (tmp_path / "track.json").write_text(json.dumps(document))
    full = {"error": {"type": "rejected_execution", "reason": "the queue is full"}}
    refuses = {"/_bulk": (429, full)} if refused else {}
    with engine(None, refuses=refuses) as server:
        code, record, out = _race(tmp_path, capsys, server)
    (result,) = record["tasks"]
    assert (result["error_rate"], result["accounting"]["warmup"], result["accounting"]["normal"]) == (
        None,
        3,
        0,
    )
    assert (code, record["verdict"]["state"]) == (3, "void")
    reasons = record["verdict"]["reasons"]
    (ended,) = (reason for reason in reasons if "nothing was measured" in reason)
    assert ended.startswith("index: nothing was measured: the warm-up took all 3")
    overall = "index: 100 % of all operations failed, warm-up included (limit 1 %)"
    assert any(reason.startswith(overall) for reason in reasons) == refused
    assert "nothing was measured" in out


def test_lost_documents_of_files_with_action_lines_are_said_to_be_unchecked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The engine acknowledges three documents, and nothing shows in which index they should be."""
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    (tmp_path / "docs.json").write_text('{"index": {"_index": "i"}}\n{"n": 1}\n' * 3)
    own_actions = {"includes-action-and-meta-data": True}
    file = {"source-file": str(tmp_path / "docs.json"), "document-count": 3, **own_actions}
    schedule = [{"name": "index", "operation": {"operation-type": "bulk", "bulk-size": 3}}]
    document = {"version": 2, "corpora": [{"name": "c", "documents": [file]}], "schedule": schedule}
    (tmp_path / "track.json").write_text(json.dumps(document))
    items = [{"index": {"status": 201}}] * 3

    def respond(request: HttpRequest) -> HttpResponse:
        if request.target == "/_bulk":
            return json_response({"took": 1, "errors": False, "items": items})
        return json_response(engine_document(request.target))

    with http_server(respond) as server:
        _, record, out = _race(tmp_path, capsys, server)
    reason = "the action lines of its files name the indices"
    assert record["tasks"][0]["work"] == {"done": 3, "failed": 0}
    assert record["documents"] == []
    assert record["documents-unchecked"] == [{"task": "index", "acknowledged": 3, "reason": reason}]
    assert f"3 documents of task 'index' not compared with those in the engine: {reason}" in out


@pytest.mark.parametrize("lost", [0, 3, 4])
def test_bulks_that_are_indexed_but_not_answered_in_time_are_neither_lost_nor_foreign_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], lost: int
) -> None:
    """One bulk in four has no reply within its time, although the engine indexes it."""
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    (tmp_path / "docs.json").write_text('{"n": 1}\n' * 12)
    file = {"source-file": str(tmp_path / "docs.json"), "document-count": 12, "target-index": "i"}
    bulk = {"operation-type": "bulk", "bulk-size": 3, "request-timeout": 0.5}
    schedule = [{"operation": {"operation-type": "delete-index"}}, {"name": "index", "operation": bulk}]
    document = {"version": 2, "indices": [{"name": "i"}], "corpora": [{"name": "c", "documents": [file]}]}
    (tmp_path / "track.json").write_text(json.dumps({**document, "schedule": schedule}))
    items, bulks = [{"index": {"status": 201}}] * 3, []

    def respond(request: HttpRequest) -> HttpResponse:
        if request.target == "/_bulk":
            bulks.append(request.body)
            if len(bulks) == 2:
                time.sleep(1.0)
            return json_response({"took": 1, "errors": False, "items": items})
        if request.path == "/i/_count":
            return json_response({"count": 12 - lost, "_shards": {"failed": 0}})
        return json_response(engine_document(request.target))

    with http_server(respond) as server:
        _, record, out = _race(tmp_path, capsys, server, "--max-error-rate=50")
    (check,) = record["documents"]
    assert (check["acknowledged"], check["counted"], check["unknown"]) == (9, 12 - lost, 3)
    assert "index 'i': at most 3 documents were sent without a reply" in out
    findings = [text for text in record["verdict"]["reasons"] if "document" in text]
    assert bool(findings) == (lost == 4)
    if lost == 4:
        assert record["verdict"]["state"] == "void"
        assert findings[0].startswith("acknowledged documents are missing: 'i' has 8 of 9, besides 3 that")


PREPARATION = {
    "error": {"type": "mapper_parsing_exception", "reason": "analyzer [english] has not been found"}
}


@pytest.mark.parametrize(
    "case",
    [
        ((), {}, 1),
        (("--on-error=continue",), {}, 2),
        ((), {"ignore-response-error-level": "non-fatal"}, 2),
    ],
)
def test_a_failed_preparation_ends_the_race_with_the_reason_of_the_engine(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    case: tuple[tuple[str, ...], dict[str, str], int],
) -> None:
    """The engine refuses the index; without it, the search that follows would measure nothing."""
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    options, more, tasks = case
    create = {"name": "create", "operation": {"operation-type": "create-index"}, **more}
    search = {"name": "search", "operation": {"operation-type": "raw-request", "path": "/queries"}}
    indices = [{"name": "queries", "body": "index.json"}]
    document = {"version": 2, "indices": indices, "schedule": [create, search]}
    (tmp_path / "track.json").write_text(json.dumps(document))
    (tmp_path / "index.json").write_text("{}")

    def respond(request: HttpRequest) -> HttpResponse:
        if request.method == "PUT":
            return json_response(PREPARATION, 400)
        return json_response(engine_document(request.target))

    with http_server(respond) as server:
        code, record, out = _race(tmp_path, capsys, server, *options)
    assert (code, len(record["tasks"])) == (3, tasks)
    refused = "mapper_parsing_exception: analyzer [english] has not been found (HTTP status 400)"
    reason = f"task create failed: {refused}"
    hint = "later tasks depend on it (--on-error=continue runs them)"
    assert record["aborted"] == (f"{reason}; {hint}" if tasks == 1 else "")
    assert (reason in out) == (tasks == 1)
