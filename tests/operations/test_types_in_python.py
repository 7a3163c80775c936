"""Operations that run in Python, with a real server."""

from __future__ import annotations

from typing import Any

import pytest

from operations.compiling import compiled, refused
from operations.serving import in_turn, serving
from pacenote.model.work import PythonRunner
from pacenote.operations.compile import InvalidOperation
from pacenote.operations.runner import (
    BuiltinResult,
    ConnectionFailed,
    HttpStatusError,
    OperationFailed,
    UnexpectedResponse,
)
from pacenote.operations.types import run_until, shrink_index

QUICK = 0.001


def until(operator: str, value: object = None, path: str = "a.b") -> dict[str, Any]:
    criterion = {"operator": operator} if value is None else {"operator": operator, "value": value}
    return {"path": "/x", "json-path": path, "criterion": criterion, "retry-wait-interval": QUICK}


@pytest.mark.parametrize(
    ("criterion", "replies"),
    [
        (until("exists"), [{}, {"a": {}}, {"a": {"b": 0}}]),
        (until("not_exists"), [{"a": {"b": 1}}, {"a": {"b": 0}}, {"a": {}}]),
        (until("eq", 0), [{}, {"a": {"b": 3}}, {"a": {"b": 0}}]),
        (until("eq", 0), [{"a": {"b": 1}}, {}, {"a": {"b": False}}]),
        (until("neq", 0), [{}, {"a": {"b": 0}}, {"a": {"b": 1}}]),
        (until("gte", "5"), [{"a": {"b": 4}}, {"a": {"b": "4"}}, {"a": {"b": 5.5}}]),
        (until("lte", 5), [{"a": {"b": 6}}, {"a": {"b": 7}}, {"a": {"b": 5}}]),
        (until("eq", 2, "a.item.b"), [{"a": []}, {"a": [{}]}, {"a": [{}, {"b": 2}]}]),
    ],
)
def test_run_until_polls_until_the_criterion_is_met(criterion: dict[str, Any], replies: list[Any]) -> None:
    with serving(in_turn(*replies)) as client:
        assert client.run("run-until", criterion) == BuiltinResult()
    assert client.request_lines == ["GET /x"] * 3


def test_run_until_pauses_after_every_value(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(run_until.asyncio, "sleep", sleep)
    criterion = {**until("eq", 1), "retry-wait-interval": 60, "method": "post", "body": {"q": 1}}
    replies = ({}, {"a": {"b": None}}, {"a": {"b": 0}}, {"a": {"b": False}}, {"a": {"b": 1}})
    with serving(in_turn(*replies)) as client:
        client.run("run-until", criterion)
    assert client.request_lines == ['POST /x {"q":1}'] * 5
    assert pauses == [60.0] * 4


def test_run_until_rejects_values_that_are_not_numbers() -> None:
    with (
        serving(in_turn({"a": {"b": "green"}})) as client,
        pytest.raises(OperationFailed, match=r'"a\.b" is "green", which is not a number'),
    ):
        client.run("run-until", until("eq", 1))


def test_problems_of_run_until_are_reported() -> None:
    assert refused("run-until", path="x", method="JUMP", json_path="a", criterion={"operator": "is"}) == (
        'operations[0].path is "x", but must start with /',
        'operations[0].method is "JUMP", but must be one of GET, POST, PUT, DELETE, HEAD',
        'operations[0].criterion.operator is "is", but must be one of exists, not_exists, gte, lte, eq, neq',
    )
    assert refused("run-until", path="/x", json_path="a", criterion={"operator": "eq"}) == (
        "operations[0].criterion.value is null, but must be a number",
    )


def shard(stage: str, recovered: int = 0, start: int = 0, stop: int = 0) -> dict[str, Any]:
    times = {"start_time_in_millis": start, "stop_time_in_millis": stop} if stop else {}
    return {"stage": stage, "index": {"size": {"recovered_in_bytes": recovered}}, **times}


def test_wait_for_recovery_polls_until_all_shards_have_recovered() -> None:
    replies = (
        {},
        {"a": {"shards": [shard("DONE", 5, 1_000, 2_000), shard("INDEX")]}},
        {
            "a": {"shards": [shard("DONE", 5, 1_000, 2_000), shard("DONE", 7, 1_500, 4_000)]},
            # This primary was created empty, long before its copy was recovered.
            "b": {"shards": [shard("DONE", 0, 1, 2), shard("DONE", 1, 1_200, 1_300)]},
        },
    )
    with serving(in_turn(*replies)) as client:
        params = {"index": "a,b", "completion-recheck-wait-period": QUICK}
        assert client.run("wait-for-recovery", params) == BuiltinResult(
            13, "byte", engine_ms=3_000, values={"start_time_millis": 1_000, "stop_time_millis": 4_000}
        )
    assert client.request_lines == ["GET /a,b/_recovery"] * 3


@pytest.mark.parametrize(
    ("kind", "params", "reply", "missing"),
    [
        ("wait-for-recovery", {"index": "a"}, {"a": {"shards": [shard("DONE", 5)]}}, "start_time_in_millis"),
        (
            "wait-for-snapshot-create",
            {"repository": "r", "snapshot": "s"},
            {"snapshots": [{"state": "SUCCESS", "stats": {"total": {"size_in_bytes": 1}}}]},
            "start_time_in_millis",
        ),
        (
            "wait-for-recovery",
            {"index": "a"},
            {"a": {"shards": [shard("DONE", 5, "early", 1)]}},  # type: ignore[arg-type]
            "the recovery of a shard has an unexpected form",
        ),
    ],
)
def test_a_reply_without_the_engines_time_fails_the_operation(
    kind: str, params: dict[str, Any], reply: Any, missing: str
) -> None:
    with serving(lambda *_: reply) as client, pytest.raises(UnexpectedResponse, match=missing):
        client.run(kind, params)


def test_bytes_of_shards_that_were_all_empty_have_a_time() -> None:
    with serving(in_turn({"a": {"shards": [shard("DONE", 0, 10, 30)]}})) as client:
        ran = client.run("wait-for-recovery", {"index": "a"})
    assert (ran.weight, ran.engine_ms) == (0, 20)


SNAPSHOT = {"repository": "r", "snapshot": "s", "completion-recheck-wait-period": QUICK}


def snapshot(state: str) -> dict[str, Any]:
    total = {"size_in_bytes": 42, "file_count": 3}
    stats = {"total": total, "start_time_in_millis": 1_000, "time_in_millis": 250}
    return {"snapshots": [{"state": state, "stats": stats}]}


def test_wait_for_snapshot_create_polls_until_the_snapshot_exists() -> None:
    running = {"snapshots": [{"snapshot": "s"}, {"snapshot": "x"}]}
    replies = (running, {"snapshots": []}, {"snapshots": []}, {"snapshots": []}, snapshot("SUCCESS"))
    with serving(in_turn(*replies)) as client:
        ran = client.run("wait-for-snapshot-create", SNAPSHOT)
    # The names and values of Rally's runner.
    values = {"start_time_millis": 1_000, "stop_time_millis": 1_250, "duration": 250, "file_count": 3}
    assert ran == BuiltinResult(42, "byte", engine_ms=250, values=values)
    current = "GET /_snapshot/r/_current?verbose=false"
    status = "GET /_snapshot/r/s/_status?ignore_unavailable=true"
    assert client.request_lines == [current, current, status, current, status]


def with_shards(**counts: int) -> dict[str, Any]:
    reply = snapshot("SUCCESS")
    reply["snapshots"][0]["shards_stats"] = counts
    return reply


@pytest.mark.parametrize("counts", [{}, {"failed": 0}, {"done": 5, "failed": 0, "total": 5}])
def test_a_snapshot_with_all_shards_is_a_success(counts: dict[str, int]) -> None:
    with serving(in_turn({"snapshots": []}, with_shards(**counts))) as client:
        assert client.run("wait-for-snapshot-create", SNAPSHOT).weight == 42


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (with_shards(done=3, failed=2, total=5), 'snapshot "s" is partial: it lacks 2 of 5 shards'),
        (with_shards(done=4, failed=0, total=5), 'snapshot "s" is partial: it lacks 1 of 5 shards'),
        (snapshot("FAILED"), 'snapshot "s" has the state FAILED'),
        (snapshot("PARTIAL"), 'snapshot "s" has the state PARTIAL'),
        ({"snapshots": []}, 'snapshot "s" has the state MISSING'),
    ],
)
def test_a_snapshot_that_is_not_created_fails_the_operation(reply: dict[str, Any], message: str) -> None:
    def answer(line: str, body: str) -> Any:
        return reply if "_status" in line else {"snapshots": []}

    with serving(answer) as client, pytest.raises(OperationFailed, match=message):
        client.run("wait-for-snapshot-create", SNAPSHOT)


def test_wait_for_current_snapshots_create_polls_until_no_snapshot_runs() -> None:
    with serving(in_turn({"snapshots": [{"snapshot": "x"}]}, {})) as client:
        assert client.run("wait-for-current-snapshots-create", SNAPSHOT) == BuiltinResult()
    assert (
        client.request_lines == ["GET /_snapshot/r/_current?verbose=false&filter_path=snapshots.snapshot"] * 2
    )


TRANSFORM = {"transform-id": "t", "poll-interval": QUICK}


def transform(state: str, documents: int, ms: int, **failures: int) -> dict[str, Any]:
    stats = {"documents_processed": documents, "search_time_in_ms": ms, "index_time_in_ms": 1, **failures}
    return {"transforms": [{"state": state, "reason": "because", "stats": stats}]}


def test_a_transform_reports_its_progress_and_counts_documents_once() -> None:
    replies = (
        {},
        transform("indexing", 100, 100),
        transform("indexing", 6_000, 900),
        transform("stopping", 7_000, 990),
        transform("stopped", 8_000, 999),
    )
    client_state: dict[str, Any] = {}
    with serving(in_turn(*replies)) as client:
        assert client.run("wait-for-transform", TRANSFORM, client_state) == BuiltinResult(
            6_000, "docs", engine_ms=901
        )
        assert client.run("wait-for-transform", TRANSFORM, client_state) == BuiltinResult(
            2_000, "docs", completes_task=True, engine_ms=99
        )
    stop = "POST /_transform/t/_stop?force=false&wait_for_completion=false&wait_for_checkpoint=true"
    assert client.request_lines == [stop, *["GET /_transform/t/_stats"] * 4]
    assert client_state == {}
    made = compiled("wait-for-transform", transform_id="t")
    assert (made.work, made.unit, made.until_exhausted) == (PythonRunner(), "docs", True)


@pytest.mark.parametrize(
    ("reply", "error", "message"),
    [
        (
            transform("stopped", 9, 1, search_failures=1, index_failures=2),
            OperationFailed,
            'transform "t" stopped after 1 failed searches and 2 failed index requests',
        ),
        (transform("failed", 0, 0), OperationFailed, 'transform "t" failed: because'),
        (transform("indexing", 0, 0), OperationFailed, r'"t" has not ended within 0 s \(transform-timeout\)'),
        ({"transforms": []}, UnexpectedResponse, 'no statistics of transform "t"'),
        (b"<html>", UnexpectedResponse, "the response is not JSON: '<html>'"),
    ],
)
def test_a_transform_that_does_not_end_fails_the_operation(
    reply: Any, error: type[Exception], message: str
) -> None:
    with serving(in_turn({}, reply)) as client, pytest.raises(error, match=message):
        client.run("wait-for-transform", {**TRANSFORM, "transform-timeout": 0})


def test_shrink_index_moves_then_shrinks_each_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shrink_index, "SETTLE_S", 0.0)
    monkeypatch.setattr(shrink_index, "POLL_S", 0.0)
    moving = [2, 0]

    def answer(line: str, body: str) -> Any:
        if line == "GET /src*":
            return {"src-b": {}, "src-a": {}}
        if line.startswith("GET /_nodes"):
            roles = {"x": ["master"], "y": ["data"], "z": ["data", "ingest"]}
            return {"nodes": {name: {"name": name, "roles": roles[name]} for name in roles}}
        if "_cluster/health" in line:
            return {"relocating_shards": moving.pop(0) if moving else 0}
        return {}

    body = {"settings": {"index.number_of_shards": 1}}
    params = {"source-index": "src*", "target-index": "dst-", "target-body": body}
    with serving(answer) as client:
        assert client.run("shrink-index", params) == BuiltinResult(weight=2)
    health = "?wait_for_no_relocating_shards=true"
    moved = '{"settings":{"index.routing.allocation.require._name":"%s","index.blocks.write":"true"}}'
    shrunk = (
        '{"settings":{"index.number_of_shards":1,"index.routing.allocation.require._name":null,'
        '"index.blocks.write":null}}'
    )
    assert client.request_lines == [
        "GET /src*",
        "GET /_nodes?filter_path=nodes.*.name,nodes.*.roles",
        f"PUT /src-a/_settings?preserve_existing=true {moved % 'y'}",
        f"GET /_cluster/health/src-a{health}",
        f"GET /_cluster/health/src-a{health}",
        f"PUT /src-a/_shrink/dst-a {shrunk}",
        f"GET /_cluster/health/dst-a{health}",
        f"PUT /src-b/_settings?preserve_existing=true {moved % 'z'}",
        f"GET /_cluster/health/src-b{health}",
        f"PUT /src-b/_shrink/dst-b {shrunk}",
        f"GET /_cluster/health/dst-b{health}",
    ]
    assert body == {"settings": {"index.number_of_shards": 1}}


@pytest.mark.parametrize("key", ["acknowledged", "shards_acknowledged"])
def test_an_index_that_was_not_created_in_time_fails_shrink_index(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(shrink_index, "SETTLE_S", 0.0)

    def answer(line: str, body: str) -> Any:
        if line == "GET /src":
            return {"src": {}}
        return {"relocating_shards": 0, key: False} if "_shrink" in line else {"relocating_shards": 0}

    params = {"source-index": "src", "target-index": "dst", "target-body": {}, "shrink-node": "n"}
    with serving(answer) as client, pytest.raises(OperationFailed, match=f"dst .* {key} is false"):
        client.run("shrink-index", params)


def test_a_timeout_in_the_engine_is_retried_but_other_errors_are_not() -> None:
    params = {**SNAPSHOT, "retries": 3, "retry-wait-period": QUICK}
    with serving(in_turn((408, {}), (408, {}), {})) as client:
        assert client.run("wait-for-current-snapshots-create", params) == BuiltinResult()
    assert len(client.request_lines) == 3
    with (
        serving(in_turn((404, {}))) as client,
        pytest.raises(HttpStatusError, match="HTTP status 404: refused"),
    ):
        client.run("wait-for-current-snapshots-create", params)
    assert len(client.request_lines) == 1
    never = {**params, "retry-on-timeout": False}
    with serving(in_turn((408, {}))) as client, pytest.raises(HttpStatusError):
        client.run("wait-for-current-snapshots-create", never)
    assert len(client.request_lines) == 1


def test_a_refused_connection_is_retried_up_to_the_limit() -> None:
    with serving(in_turn({})) as client:
        pass
    with pytest.raises(ConnectionFailed):
        client.run(
            "wait-for-current-snapshots-create", {**SNAPSHOT, "retries": 1, "retry-wait-period": QUICK}
        )


def test_invalid_parameters_from_a_source_are_rejected() -> None:
    with serving(in_turn({})) as client, pytest.raises(InvalidOperation) as caught:
        client.run("wait-for-recovery", {"completion-recheck-wait-period": -1})
    assert [problem.text for problem in caught.value.found_problems] == [
        "is missing",
        "is -1, but must be at least 0",
    ]
    assert client.request_lines == []


def test_the_work_of_an_operation_is_at_most_the_largest_exact_number() -> None:
    replies = [{"a": {"shards": [shard("DONE", size, 10, 30)]}} for size in (2**53, 2**53 + 1, -1)]
    with serving(in_turn(*replies)) as client:
        assert client.run("wait-for-recovery", {"index": "a"}).weight == 2**53
        for weight in (2**53 + 1, -1):
            with pytest.raises(
                UnexpectedResponse, match=rf"the weight {weight} is not a whole number from 0"
            ):
                client.run("wait-for-recovery", {"index": "a"})


@pytest.mark.parametrize(
    ("kind", "params", "answer"),
    [
        ("run-until", until("exists"), {"a": {"b": 0}}),
        ("wait-for-recovery", {"index": "a"}, {"a": {"shards": [shard("DONE", 5, 1_000, 2_000)]}}),
        ("wait-for-snapshot-create", SNAPSHOT, snapshot("SUCCESS")),
        ("wait-for-current-snapshots-create", SNAPSHOT, {}),
        ("wait-for-transform", TRANSFORM, transform("stopped", 3, 7)),
    ],
)
def test_a_poll_goes_on_after_a_few_busy_replies(kind: str, params: dict[str, Any], answer: Any) -> None:
    params = params | {"completion-recheck-wait-period": QUICK}
    started = kind == "wait-for-transform"
    for busy, fails in ((10, False), (11, True)):
        replies = [{}] * started + [(503, {})] * busy + [answer]
        with serving(in_turn(*replies)) as client:
            if fails:
                with pytest.raises(HttpStatusError):
                    client.run(kind, params)
            else:
                client.run(kind, params)
    with serving(in_turn(*[{}] * started, (500, {}), answer)) as client, pytest.raises(HttpStatusError):
        client.run(kind, params)


def test_retries_until_success_end_at_their_limit() -> None:
    limited = {**SNAPSHOT, "retry-until-success": True, "retry-wait-period": QUICK, "retry-time-period": 0.2}
    with serving(in_turn((408, {}))) as client, pytest.raises(HttpStatusError):
        client.run("wait-for-current-snapshots-create", limited)
    assert len(client.request_lines) > 1
