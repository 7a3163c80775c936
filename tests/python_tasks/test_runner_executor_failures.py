"""Operations in Python that fail: the class of each failure, and whether the client goes on."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import threading

import pytest

from python_tasks.racing import race_track, serving, stored_race
from support.engine import engine_document
from support.http_server import HttpResponse

pytestmark = pytest.mark.process

SEARCHING = """
    async def run(es, params):
        await es.search(index="x")

    async def calling(es, params):
        from esrally.driver.runner import runner_for
        await runner_for("refresh")(es, {"index": "x"})

    def register(registry):
        registry.register_runner("run", run, async_runner=True)
        registry.register_runner("calling", calling, async_runner=True)
    """

TORN = HttpResponse(200, b"{", (("content-length", "9"), ("content-type", "application/json")), close=True)
"""A response whose connection is closed before its end."""

WAITING = {
    "operation-type": "wait-for-current-snapshots-create",
    "repository": "r",
    "retry-on-timeout": False,
}


def test_a_connection_that_breaks_is_a_reset_and_the_race_goes_on(tmp_path):
    torn = {"/_search": [TORN], "/_refresh": [TORN], "/_snapshot/": [TORN]}

    def answer(line, _body):
        for part, replies in torn.items():
            if part in line:
                return replies.pop() if replies else {"snapshots": []}
        return None

    schedule = [
        {"name": "plug-in", "operation": "run", "iterations": 3},
        {"name": "called", "operation": "calling", "iterations": 3},
        {"name": "built-in", "operation": WAITING, "iterations": 3},
    ]
    with serving(answer) as server:
        raced = race_track(tmp_path, SEARCHING, schedule, server.address)
    assert raced.record.aborted == ""
    for name in ("plug-in", "called", "built-in"):
        assert raced.reason(name).startswith("reset: "), name
        assert (raced.task(name).accounting.succeeded, raced.task(name).accounting.failed) == (2, 1), name


COMPLETING = """
    class Polling:
        # Reports when its task is complete, but never gets that far.
        completed = False
        percent_completed = None

        async def __call__(self, es, params):
            await es.perform_request("POST", "/_transform/t/_stop")

    class Raising(Polling):
        async def __call__(self, es, params):
            await es.info()
            raise ValueError("no more")

    def register(registry):
        registry.register_runner("polling", Polling(), async_runner=True)
        registry.register_runner("raising", Raising(), async_runner=True)
    """

ENDLESS = 20
"""Number of requests after which a task is considered endless."""


def refusing():
    """Refuses to stop transforms, and interrupts the race if it does not end by itself."""
    counts = {"/_stop": 0, "GET / ": 0}

    def answer(line, _body):
        for part in counts:
            counts[part] += part in f"{line} "
            if counts[part] == ENDLESS:
                os.kill(os.getpid(), signal.SIGINT)
        return (404, {"error": {"type": "t", "reason": "no transform"}}) if "/_stop" in line else None

    return answer


@pytest.mark.parametrize("kind", ["wait-for-transform", "polling", "raising"])
def test_a_failure_ends_a_task_that_only_its_operation_can_complete(tmp_path, kind):
    operation = {"operation-type": kind, "transform-id": "t"}
    schedule = [{"name": "endless", "operation": operation}]
    with serving(refusing()) as server:
        raced = race_track(tmp_path, COMPLETING, schedule, server.address)
    assert not raced.record.interrupted
    accounting = raced.task("endless").accounting
    assert (accounting.operations, accounting.failed, raced.task("endless").ended_by) == (1, 1, "source")


def test_a_failure_does_not_end_a_task_with_another_bound(tmp_path):
    waiting = {"operation-type": "wait-for-transform", "transform-id": "t"}
    schedule = [
        {"name": "built-in", "operation": waiting, "iterations": 3},
        {"name": "plug-in", "operation": "raising", "iterations": 3},
    ]
    with serving(refusing()) as server:
        raced = race_track(tmp_path, COMPLETING, schedule, server.address, on_error="continue")
    for name in ("built-in", "plug-in"):
        assert raced.task(name).accounting.failed == 3, name


RAISING_ONCE = """
    CALLS = []

    async def run(es, params):
        await es.search(index="x")
        CALLS.append(1)
        if len(CALLS) == 3:
            raise KeyError("size")

    def register(registry):
        registry.register_runner("run", run, async_runner=True)
    """


@pytest.mark.parametrize("pacing", [{}, {"target-throughput": 200}])
def test_an_exception_fails_only_its_operation(tmp_path, pacing):
    schedule = [{"name": "t", "operation": "run", "iterations": 10, **pacing}]
    with serving() as server:
        raced = race_track(tmp_path, RAISING_ONCE, schedule, server.address)
    accounting = raced.task("t").accounting
    assert (accounting.succeeded, accounting.failed, accounting.unsent) == (9, 1, 0)
    assert raced.reason("t") == "plugin: track.py:8: KeyError: 'size'"
    assert raced.record.verdict.state == "void"


UNENCODABLE = r"""
    def source(track, params, **kwargs):
        raise ValueError("source \udc80")

    async def raising(es, params):
        raise ValueError("raised \udc80")

    async def reporting(es, params):
        return {"success": False, "error-type": "type \udc80", "error-description": "reason \udc80"}

    async def unit(es, params):
        return 2, "doc\udc80"

    async def key(es, params):
        return {"lag\udc80": 1.5}

    def register(registry):
        registry.register_param_source("source", source)
        for one in (raising, reporting, unit, key):
            registry.register_runner(one.__name__, one, async_runner=True)
    """


def test_text_that_cannot_be_encoded_is_stored_with_a_replacement(tmp_path):
    rejected = HttpResponse(400, rb'{"error": {"type": "t\udc80", "reason": "no \udc80"}}')

    def answer(line, _body):
        return rejected if "/_current" in line else None

    schedule = [{"operation": name, "iterations": 1} for name in ("raising", "reporting", "unit", "key")]
    schedule.append({"name": "search", "operation": {"operation-type": "search", "param-source": "source"}})
    schedule.append({"name": "built-in", "operation": {**WAITING, "repository": "r"}})
    with serving(answer) as server:
        raced = race_track(tmp_path, UNENCODABLE, schedule, server.address)
    assert raced.record.aborted == ""
    assert raced.reason("raising") == "plugin: track.py:6: ValueError: raised \ufffd"
    assert raced.reason("reporting") == "condition: type \ufffd: reason \ufffd"
    assert raced.reason("built-in") == "http-status: t\ufffd: no \ufffd"
    assert raced.reason("search").endswith("track.py:3: ValueError: source \ufffd")
    assert (raced.task("unit").unit, raced.task("unit").work.done) == ("doc\ufffd", 2)
    assert raced.task("key").values["lag\ufffd"].mean == 1.5
    assert stored_race(tmp_path).tasks == raced.record.tasks


EXTREME = """
    async def large(es, params):
        return {"lag": 1.7e308}

    async def slow(es, params):
        return {"weight": 5, "throughput": 5e-324}

    async def built(es, params):
        import elasticsearch
        raise elasticsearch.ApiError("no response", None, None)

    def register(registry):
        for one in (large, slow, built):
            registry.register_runner(one.__name__, one, async_runner=True)
    """


def test_numbers_and_errors_that_cannot_be_used_do_not_end_the_race(tmp_path):
    schedule = [{"operation": name, "iterations": 2} for name in ("large", "slow", "built")]
    with serving() as server:
        raced = race_track(tmp_path, EXTREME, schedule, server.address)
    assert raced.record.aborted == ""
    assert [raced.task(name).accounting.succeeded for name in ("large", "slow")] == [2, 2]
    assert raced.task("slow").reported_s is None
    assert raced.reason("built").startswith("plugin: track.py:10: ApiError")


def test_a_response_of_another_form_is_no_fault_of_a_plug_in(tmp_path):
    replies = {"/i/_recovery": {"i": {}}, "/_current": []}

    def answer(line, _body):
        return next((reply for part, reply in replies.items() if part in line), None)

    recovery = {"operation-type": "wait-for-recovery", "index": "i"}
    schedule = [{"name": "recovery", "operation": recovery}, {"name": "current", "operation": WAITING}]
    with serving(answer) as server:
        (tmp_path / "tour").mkdir()
        raced = race_track(tmp_path, {}, {"schedule": schedule}, server.address)
    assert raced.reason("recovery") == (
        "protocol: UnexpectedResponse: the recovery of an index lacks 'shards'"
    )
    assert raced.reason("current") == (
        "protocol: UnexpectedResponse: the response is [], but must be an object"
    )


COUNTING = """
    RESULTS = {
        "partial": {"weight": 1000, "unit": "docs", "success": False, "success-count": 999, "error-count": 1,
                    "error-type": "bulk", "error-description": "queue full"},
        "silent": {"weight": 1000, "unit": "docs", "success-count": 999, "error-count": 1},
        "whole": {"weight": 1000, "unit": "docs", "success-count": 1000, "error-count": 0},
        "batches": {"weight": 1, "unit": "batches", "success": False, "success-count": 999, "error-count": 1},
        "unusual": {"weight": 9, "unit": "docs", "success": False, "success-count": "8", "error-count": 1},
    }

    async def run(es, params):
        return RESULTS[params["result"]]

    def register(registry):
        registry.register_runner("run", run, async_runner=True)
    """


def test_the_documents_that_a_bulk_of_a_runner_counts_are_done_or_failed(tmp_path):
    expected = {
        "partial": ((999, 1), "docs", "bulk-item: bulk: queue full"),
        "silent": ((999, 1), "docs", "condition: its runner reported a failure"),
        "whole": ((1000, 0), "docs", ""),
        "batches": ((0, 1), "ops", "condition: its runner reported a failure"),
        "unusual": ((0, 9), "ops", "condition: its runner reported a failure"),
    }
    schedule = [{"name": name, "operation": {"operation-type": "run", "result": name}} for name in expected]
    with serving() as server:
        raced = race_track(tmp_path, COUNTING, schedule, server.address)
    for name, (counts, unit, reason) in expected.items():
        task = raced.task(name)
        assert ((task.work.done, task.work.failed), task.unit) == (counts, unit), name
        assert task.accounting.failed == bool(reason)
        assert not reason or raced.reason(name) == reason


RETURNING = """
    import math

    RETURNED = {
        "huge": 2**63, "negative": -1, "nan": math.nan, "infinite": math.inf, "flag": True, "text": "many",
        "fraction": 1.5, "largest": 2**53,
    }
    CALLS = []

    async def returning(es, params):
        return {"weight": RETURNED[params["kind"]], "unit": "docs"}

    async def mixing(es, params):
        CALLS.append(1)
        if len(CALLS) == 3:
            return {"weight": 5, "unit": "MB", "success": False}
        return (10, "docs") if len(CALLS) == 1 else None

    def register(registry):
        registry.register_runner("returning", returning, async_runner=True)
        registry.register_runner("mixing", mixing, async_runner=True)
    """


def test_a_weight_that_cannot_be_added_fails_the_operation(tmp_path):
    kinds = ["huge", "negative", "nan", "infinite", "flag", "text", "fraction", "largest"]
    schedule = [
        {"name": kind, "operation": {"operation-type": "returning", "kind": kind}, "iterations": 2}
        for kind in kinds
    ]
    with serving() as server:
        raced = race_track(tmp_path, RETURNING, schedule, server.address)
    for kind in kinds[:-1]:
        task = raced.task(kind)
        assert (task.accounting.failed, task.work.done, task.work.failed) == (2, 0, 0), kind
        assert raced.reason(kind).startswith("plugin: the runner returned the weight "), kind
    assert raced.task("largest").work.done == 2**54


def test_operations_in_another_unit_fail(tmp_path):
    with serving() as server:
        raced = race_track(tmp_path, RETURNING, [{"operation": "mixing", "iterations": 4}], server.address)
    task = raced.task("mixing")
    assert (task.unit, task.work.done, task.work.failed) == ("docs", 10, 0)
    assert (task.accounting.succeeded, task.accounting.failed) == (1, 3)
    reasons = {error.error_class: (error.count, error.reason) for error in task.errors}
    assert reasons["plugin"] == (
        2,
        'the runner returned the unit "ops", but "docs" before: all operations of a task must have the same '
        "unit",
    )
    assert raced.record.verdict.state == "void"


RETRYING = """
    async def retrying(es, params):
        await es.options(max_retries=3, retry_on_status=(503,)).search(index="x")

    async def trusting(es, params):
        await es.search(index="x")

    def register(registry):
        registry.register_runner("retrying", retrying, async_runner=True)
        registry.register_runner("trusting", trusting, async_runner=True)
    """


def is_search(line):
    """Returns whether a request is a search of a track, not one of a telemetry device."""
    path = line.partition("?")[0]
    return path.endswith("/_search") and ".ml-" not in path


def test_the_client_retries_only_if_it_is_told_to_and_every_attempt_is_counted(tmp_path):
    seen = []

    def answer(line, _body):
        if not is_search(line):
            return None
        seen.append(line)
        return (503, {"error": {"type": "busy", "reason": "later"}}) if len(seen) % 3 else None

    schedule = [{"operation": name, "iterations": 2} for name in ("retrying", "trusting")]
    with serving(answer) as server:
        raced = race_track(tmp_path, RETRYING, schedule, server.address)
    accounting = raced.task("retrying").accounting
    assert (accounting.succeeded, accounting.requests, accounting.retried) == (2, 6, 4)
    accounting = raced.task("trusting").accounting
    assert (accounting.failed, accounting.requests, accounting.retried) == (2, 2, 0)
    assert len(seen) == 8


class RefusingEngine:
    """An engine that closes its port and all connections instead of answering a search."""

    def __init__(self, last_search):
        self._last_search = last_search
        self._searches = 0
        self._connections = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with self._listener, contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with contextlib.suppress(OSError, ValueError), connection, connection.makefile("rwb") as stream:
            while line := stream.readline().decode():
                length = 0
                while head := stream.readline().strip():
                    name, _, value = head.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                stream.read(length)
                target = line.split()[1]
                self._searches += is_search(target)
                if self._searches == self._last_search:
                    self._close()
                    return
                body = json.dumps(engine_document(target)).encode()
                head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n"
                stream.write(f"{head}content-type: application/json\r\n\r\n".encode() + body)
                stream.flush()

    def _close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("operation", "on_error", "last_search"),
    [("run", "continue", 1), ("run", "continue", 5), ("run", "abort", 5), ("calling", "continue", 5)],
)
def test_an_engine_that_refuses_connections_ends_the_race(tmp_path, operation, on_error, last_search):
    files = SEARCHING.replace('"refresh")(es, {"index": "x"})', '"search")(es, {"index": "x", "body": {}})')
    schedule = [{"name": "t", "operation": operation, "iterations": 50}]
    engine = RefusingEngine(last_search)
    raced = race_track(tmp_path, files, schedule, engine.address, on_error=on_error)
    assert raced.record.aborted in {
        "task t failed (reset)",
        f"{engine.address} cannot be reached in task t: Connection refused (os error 111)",
        f"{engine.address} closed all connections in step t: Connection refused (os error 111)",
    }
    assert raced.task("t").accounting.succeeded == last_search - 1
    assert not any("defect" in text or "does not handle" in text for text in raced.warnings)


CATCHING = """
    import contextlib
    from elasticsearch import NotFoundError
    from esrally.driver.runner import Retry, runner_for

    TRIES = []

    async def failing(es, params):
        with contextlib.suppress(Exception):
            await es.search(index="error")

    async def seven(es, params):
        with contextlib.suppress(Exception):
            await es.transport.perform_request(method="POST", url="/error", params={})

    async def called(es, params):
        with contextlib.suppress(Exception):
            await runner_for("refresh")(es, {"index": "error"})

    async def reset(es, params):
        with contextlib.suppress(Exception):
            await es.search(index="reset")

    async def expected(es, params):
        assert not await es.indices.exists(index="gone")
        await es.options(ignore_status=(500,)).search(index="error")
        with contextlib.suppress(NotFoundError):
            await es.indices.delete(index="gone")
        with contextlib.suppress(Exception):
            await es.indices.create(index="there")

    async def unsuccessful(es, params):
        await failing(es, params)
        return {"success": False}

    async def again(es, params):
        TRIES.append(1)
        await failing(es, params)
        return {"success": len(TRIES) == 3}

    def register(registry):
        for one in (failing, seven, called, reset, expected, unsuccessful):
            registry.register_runner(one.__name__, one, async_runner=True)
        registry.register_runner("again", Retry(again), async_runner=True)
    """


def test_failed_requests_in_operations_that_succeed_are_counted_and_warned_about(tmp_path):
    def answer(line, _body):
        if "/reset" in line:
            return TORN
        if "/there" in line:
            return 400, {"error": {"type": "resource_already_exists_exception"}, "status": 400}
        status = 404 if "/gone" in line else 500 if "/error" in line else None
        return status and (status, {"error": {"type": "some_exception"}, "status": status})

    counts = {"failing": 2, "seven": 2, "called": 2, "reset": 2, "expected": 0, "unsuccessful": 0}
    schedule = [{"operation": name, "iterations": 2} for name in counts]
    again = {"operation-type": "again", "retry-until-success": True, "retry-wait-period": 0}
    with serving(answer) as server:
        raced = race_track(tmp_path, CATCHING, [*schedule, {"operation": again}], server.address)
    assert {name: raced.task(name).caught_failures for name in counts} == counts
    assert (raced.task("unsuccessful").error_rate, raced.task("expected").error_rate) == (1.0, 0.0)
    # The first two attempts were repeated.
    assert raced.task("again").caught_failures == 1
    assert sum("failed in operations that count as successes" in text for text in raced.warnings) == 5
