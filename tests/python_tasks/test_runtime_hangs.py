"""Code of plug-ins that does not return, requests that are not awaited, and defects of Pacenote itself."""

from __future__ import annotations

import os
import re
import threading
from types import SimpleNamespace

import pytest

from pacenote.errors import DriverError
from pacenote.model.client_options import ClientOptions
from pacenote.python_tasks import hang_watch, runtime
from pacenote.python_tasks.runtime import PythonRuntime
from python_tasks.racing import race_track, serving, start_race, stored_race

pytestmark = pytest.mark.process

DEADLINE_S = 300.0
"""Seconds after which what is expected has not happened; plug-ins that hang do so for an hour."""

SHORT = ClientOptions(timeout_s=0.1)

HANGING = """
    import asyncio

    async def hang(es, params):
        await es.info()
        await asyncio.sleep(3600)

    async def forget(es, params):
        asyncio.create_task(es.search(index=params.get("index", "x")))
        await es.info()

    def register(registry):
        registry.register_runner("hang", hang, async_runner=True)
        registry.register_runner("forget", forget, async_runner=True)
    """


def test_a_runner_that_hangs_fails_at_the_end_of_its_task_with_its_line(tmp_path):
    schedule = [
        {"name": "t", "operation": "hang", "time-period": 0.1},
        {"operation": "forget", "iterations": 1},
    ]
    with serving() as server:
        raced = race_track(tmp_path, HANGING, schedule, server.address, client=SHORT)
    accounting = raced.task("t").accounting
    assert (accounting.failed, accounting.unanswered, accounting.requests) == (1, 0, 1)
    assert raced.reason("t") == (
        "plugin: the runner did not end the operation within 0.1 s after the end of the task and its requests"
    )
    assert 'the runner of task "t" at track.py:6 was cancelled' in raced.warnings
    assert raced.record.verdict.state == "void"
    assert raced.task("forget").accounting.succeeded == 1


def test_requests_that_outlive_their_operation_are_counted_or_named(tmp_path):
    released = threading.Event()

    def answer(line, _body):
        if "/slow/_search" in line:
            released.wait(DEADLINE_S)
        elif "GET /x/_search" in line or "POST /x/_search" in line:
            # The second task has begun.
            released.set()

    schedule = [
        {"name": "slow", "operation": {"operation-type": "forget", "index": "slow"}, "iterations": 1},
        {"name": "t", "operation": "forget", "iterations": 3},
    ]
    with serving(answer) as server:
        raced = race_track(tmp_path, HANGING, schedule, server.address)
    assert raced.task("slow").accounting.requests == 2
    assert raced.task("t").accounting.requests == 6
    assert (
        'the runner of task "slow" has not awaited 1 of its requests until their end, so their bytes are not '
        "counted"
    ) in raced.warnings
    assert raced.task("slow").unfinished_requests == 1


ABANDONING = """
    import asyncio

    async def forget(es, params):
        for _ in range(3):
            asyncio.create_task(es.search(index="slow"))
        await es.info()

    async def cancel(es, params):
        try:
            await asyncio.wait_for(es.search(index="slow"), 0.01)
        except asyncio.TimeoutError:
            return 1, "ops"

    def register(registry):
        registry.register_runner("forget", forget, async_runner=True)
        registry.register_runner("cancel", cancel, async_runner=True)
    """


def test_requests_without_bytes_are_counted_over_all_clients_even_if_cancelled(tmp_path):
    released = threading.Event()

    def answer(line, _body):
        if "/slow/_search" in line:
            released.wait(DEADLINE_S)
        elif line.startswith("GET /end"):
            released.set()

    schedule = [
        {"operation": "forget", "clients": 2, "iterations": 2},
        {"operation": "cancel", "clients": 2, "iterations": 2},
        {"name": "end", "operation": {"operation-type": "raw-request", "path": "/end"}, "iterations": 1},
    ]
    with serving(answer) as server:
        raced = race_track(tmp_path, ABANDONING, schedule, server.address)
    assert [raced.task(name).unfinished_requests for name in ("forget", "cancel", "end")] == [12, 4, 0]
    counted = [text for text in raced.warnings if "not awaited" in text]
    assert ['task "forget" has not awaited 12 of' in counted[0], 'task "cancel"' in counted[1]] == [True] * 2


class _Bridge:
    """Stands for the driver, and sends an event that does not exist."""

    def __init__(self) -> None:
        self.reader, writer = os.pipe()
        os.write(writer, b"x")
        self.failures: list[str] = []
        self.failed = threading.Event()

    def fileno(self) -> int:
        return self.reader

    def events(self) -> list[object]:
        os.read(self.reader, 1)
        return ["no event"]

    def preparing_s(self) -> None:
        return None

    def fail(self, reason: str) -> None:
        self.failures.append(reason)
        self.failed.set()


def test_a_defect_in_the_code_that_serves_events_ends_the_race(tmp_path):
    bridge = _Bridge()
    tasks = SimpleNamespace(
        root=tmp_path, warn=lambda _: None, context=None, steps=(), tasks={}, registry=None, alone=frozenset
    )
    with PythonRuntime(bridge, tasks):  # type: ignore[arg-type]
        assert bridge.failed.wait(DEADLINE_S)
    (reason,) = bridge.failures
    assert reason.startswith("a defect of Pacenote ended the track's Python code: ")


BLOCKING = """
    import time

    def at_once(current):
        return current + 0.01

    def never(current):
        if current > 0.02:
            time.sleep(3600)
        return current + 0.01

    async def block(es, params):
        await es.info()
        time.sleep(3600)

    def register(registry):
        registry.register_scheduler("never", never)
        registry.register_scheduler("at_once", at_once)
        registry.register_runner("block", block, async_runner=True)
    """

PING = {"operation-type": "raw-request", "path": "/p"}


@pytest.mark.parametrize(
    ("task", "line"),
    [
        ({"operation": PING, "schedule": "never", "time-period": 1}, "track.py:9"),
        ({"operation": "block", "time-period": 1}, "track.py:14"),
    ],
)
def test_code_that_never_returns_does_not_keep_the_race_from_ending(tmp_path, task, line):
    """The next step needs Python too, but can never be prepared."""
    schedule = [{"name": "hangs", **task}, {"operation": PING, "schedule": "at_once", "iterations": 2}]
    with serving() as server:
        process = start_race(tmp_path, BLOCKING, schedule, server.address, "--client-options=timeout:1")
        with process:
            output, errors = process.communicate(timeout=DEADLINE_S)
    # Void: aborted.
    assert process.returncode == 3, (output, errors)
    text = " ".join((output + errors).split())
    assert f'task "hangs" at {line} does not return' in text
    (result,) = stored_race(tmp_path).tasks
    assert result.accounting.failed == 1
    assert result.errors[0].error_class == "plugin"


INCOMPARABLE = """
    class Unit(str):
        # An error that the code around the runner does not expect.
        def __ne__(self, other):
            raise ValueError("not comparable")
        __eq__, __hash__ = __ne__, str.__hash__

    async def run(es, params):
        await es.info()
        return 1, Unit("docs")

    def register(registry):
        registry.register_runner("run", run, async_runner=True)
    """


def test_a_defect_while_an_operation_ends_could_not_run_and_keeps_the_results(tmp_path):
    schedule = [
        {"operation": {"operation-type": "sleep", "duration": 0}},
        {"name": "t", "operation": "run", "iterations": 2},
    ]
    with serving() as server, pytest.raises(DriverError) as raised:
        race_track(tmp_path, INCOMPARABLE, schedule, server.address)
    assert raised.value.exit_code == 64
    assert raised.value.message == (
        "a defect of Pacenote ended the track's Python code: track.py:5: ValueError: not comparable"
    )
    assert raised.value.hint == "what was measured is kept: pacenote report r"
    assert [task.task for task in stored_race(tmp_path).tasks] == ["sleep", "t"]


STUBBORN = """
    import asyncio

    async def stubborn(es, params):
        await es.info()
        while True:
            try:
                await asyncio.sleep(3600)
            except BaseException:
                pass

    def register(registry):
        registry.register_runner("stubborn", stubborn, async_runner=True)
    """


def test_a_runner_that_swallows_its_cancellation_does_not_keep_the_process_from_ending(tmp_path):
    """Freeing its coroutine would let it go on without an event loop, and so without an end."""
    schedule = [{"name": "t", "operation": "stubborn", "clients": 2, "time-period": 0.1}]
    with serving() as server:
        process = start_race(tmp_path, STUBBORN, schedule, server.address, "--client-options=timeout:0.1")
        with process:
            try:
                output, errors = process.communicate(timeout=DEADLINE_S)
            finally:
                process.kill()
    assert process.returncode == 3, (output, errors)
    text = " ".join((output + errors).split())
    assert "still running and was abandoned: a coroutine at track.py:8" in text
    assert "destroyed" not in text
    assert "Verdict: void" in output
    (result,) = stored_race(tmp_path).tasks
    assert result.accounting.failed == 2


UNPREPARED = """
    import time
    from pathlib import Path

    class Source:
        infinite = True

        def __init__(self, track, params, **kwargs):
            self.params_of_task = params
            self.hangs("build")

        def partition(self, index, total):
            self.hangs("partition")
            return self

        def params(self):
            self.hangs("params")
            return {"index": "x", "body": {}}

        def hangs(self, where):
            while self.params_of_task["hangs-in"] == where and not Path(self.params_of_task["end"]).exists():
                time.sleep(0.01)

    async def ask(es, params):
        await es.info()

    def register(registry):
        registry.register_param_source("source", Source)
        registry.register_runner("ask", ask, async_runner=True)
    """


@pytest.mark.parametrize("where", ["build", "partition", "params"])
def test_a_source_that_hangs_before_its_step_fails_its_task_and_the_others_run(tmp_path, monkeypatch, where):
    monkeypatch.setattr(hang_watch, "_INTERVAL_S", 0.01)
    monkeypatch.setattr(hang_watch, "PREPARATION_LIMIT_S", 0.2)
    monkeypatch.setattr(runtime, "_SHUTDOWN_TIMEOUT_S", 0.05)
    end = tmp_path / "end"

    def supplied(name, hangs_in):
        operation = {
            **{"operation-type": "search", "param-source": "source", "end": str(end)},
            "hangs-in": hangs_in,
        }
        return {"name": name, "operation": operation, "clients": 2, "iterations": 3}

    tasks = [
        {"name": "native", "operation": PING, "iterations": 3},
        {"name": "asks", "operation": "ask", "iterations": 3},
        supplied("hangs", where),
        supplied("later", "nowhere"),
    ]
    schedule = [{"parallel": {"tasks": tasks}}, {"name": "next", "operation": PING, "iterations": 3}]
    with serving() as server:
        try:
            raced = race_track(tmp_path, UNPREPARED, schedule, server.address)
        finally:
            end.touch()
    assert re.fullmatch(
        r'plugin: the parameter source of task "hangs" at track\.py:2[12] did not return within 0\.2 s '
        "before the step began",
        raced.reason("hangs"),
    )
    assert raced.task("hangs").accounting.failed == 2
    assert raced.task("later").errors[0].error_class == "plugin"
    assert [raced.task(name).accounting.succeeded for name in ("native", "asks", "next")] == [3, 3, 3]
    assert raced.record.verdict.state == "void"
    assert any("still running and was abandoned" in text for text in raced.warnings)


STARVING = """
    import time
    from pathlib import Path

    class Source:
        infinite = True

        def __init__(self, track, params, **kwargs):
            self.end, self.calls = Path(params["end"]), 0

        def partition(self, index, total):
            return self

        def params(self):
            self.calls += 1
            while self.calls > 200 and not self.end.exists():
                time.sleep(0.01)
            return {"index": "x", "body": {}}

    def register(registry):
        registry.register_param_source("source", Source)
    """


def test_a_source_that_hangs_in_its_step_ends_the_race(tmp_path, monkeypatch):
    monkeypatch.setattr(hang_watch, "_INTERVAL_S", 0.01)
    monkeypatch.setattr(hang_watch, "SUPPLY_LIMIT_S", 0.2)
    monkeypatch.setattr(runtime, "_SHUTDOWN_TIMEOUT_S", 0.05)
    end = tmp_path / "end"
    operation = {"operation-type": "search", "param-source": "source", "end": str(end)}
    with serving() as server:
        try:
            schedule = [{"name": "hangs", "operation": operation, "iterations": 1000}]
            raced = race_track(tmp_path, STARVING, schedule, server.address)
        finally:
            end.touch()
    assert re.fullmatch(
        'the step cannot go on: the parameter source of task "hangs" at track.py:1[67] '
        "has not returned for 0.2 s",
        raced.record.aborted or "",
    )
    assert raced.task("hangs").accounting.succeeded == 200


def test_a_runner_that_hangs_between_requests_ends_the_race_unless_something_else_ends_its_task(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(hang_watch, "_INTERVAL_S", 0.01)
    monkeypatch.setattr(hang_watch, "SUPPLY_LIMIT_S", 0.1)
    ended = {"name": "ends", "operation": "hang", "time-period": 0.3}
    others = {"parallel": {"completed-by": "ends", "tasks": [ended, {"name": "other", "operation": "hang"}]}}
    with serving() as server:
        schedule = [others, {"name": "hangs", "operation": "hang", "iterations": 1}]
        raced = race_track(tmp_path, HANGING, schedule, server.address, client=SHORT)
    assert raced.record.aborted == (
        'the step cannot go on: the runner of task "hangs" at track.py:6 has not sent a request or returned '
        "for 0.1 s"
    )
