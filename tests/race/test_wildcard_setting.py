"""A race leaves the setting that rejects wildcards in deletions as it was, however the race ends."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.race.run import race
from pacenote.store.race_store import RaceStore
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

pytestmark = pytest.mark.process

SETTING = "action.destructive_requires_name"


class Listener:
    """Records the warnings of a race and ignores its other events."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.stopping = threading.Event()

    def preparing(self, label: str, done: int, total: int) -> None: ...

    def started(self, record: Any) -> None: ...

    def progress(self, progress: Any) -> None: ...

    def task_finished(self, result: Any) -> None: ...

    def info(self, text: str) -> None: ...

    def warning(self, text: str) -> None:
        self.warnings.append(text)
        if text.startswith("stopping"):
            self.stopping.set()

    def finished(self, record: Any) -> None: ...


class Engine:
    """An engine with a transient setting, which records the values that it gets."""

    def __init__(self, value: str | None) -> None:
        self.transient: dict[str, str] = {} if value is None else {SETTING: value}
        self.values: list[str | None] = []
        self.is_readable = True
        self.before_read: Callable[[], None] = lambda: None
        self.before_put: Callable[[str | None], None] = lambda _: None
        self.after_put: Callable[[str | None], None] = lambda _: None
        self.on_delete: Callable[[], HttpResponse] = lambda: json_response({"acknowledged": True})
        self.on_restore: Callable[[], HttpResponse | None] = lambda: None

    def respond(self, request: HttpRequest) -> HttpResponse:
        if request.method == "DELETE":
            return self.on_delete()
        if request.path != "/_cluster/settings":
            return json_response(engine_document(request.target))
        if request.method == "PUT":
            return self._put(json.loads(request.body)["transient"][SETTING])
        if "flat_settings" in request.query:
            if not self.is_readable:
                return json_response({"error": {"type": "security_exception", "reason": "no privilege"}}, 403)
            return json_response({"persistent": {}, "transient": self.transient})
        self.before_read()
        value = self.transient.get(SETTING)
        nested = {"transient": {"action": {"destructive_requires_name": value}}}
        return json_response({} if value is None else nested)

    def _put(self, value: Any) -> HttpResponse:
        text = None if value is None else str(value).lower()
        self.before_put(text)
        if text != "false" and (response := self.on_restore()) is not None:
            return response
        self.values.append(text)
        if text is None:
            self.transient.pop(SETTING, None)
        else:
            self.transient[SETTING] = text
        self.after_put(text)
        return json_response({"acknowledged": True})


@pytest.fixture(params=["true", None])
def engine(request: pytest.FixtureRequest) -> Engine:
    return Engine(request.param)


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def run(
    engine: Engine, listener: Listener, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[[], RaceRecord]]:
    operation = {"operation-type": "delete-index", "index": "logs-*"}
    task = {"name": "delete", "operation": operation, "clients": getattr(request, "param", 1)}
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": [task]}))
    with http_server(engine.respond) as server:
        race_request = RaceRequest(
            race_id="r",
            home=tmp_path / "home",
            track_path=tmp_path,
            pipeline="benchmark-only",
            target_hosts=(server.address,),
        )
        yield lambda: race(race_request, listener)


def test_an_operation_restores_the_setting_after_success(
    engine: Engine, run: Callable[[], RaceRecord]
) -> None:
    before = dict(engine.transient)
    assert run().complete
    assert engine.transient == before
    assert engine.values == ["false", before.get(SETTING)]


def test_an_operation_restores_the_setting_after_a_failed_deletion(
    engine: Engine, run: Callable[[], RaceRecord]
) -> None:
    before = dict(engine.transient)
    engine.on_delete = lambda: json_response({"error": {"type": "t", "reason": "r"}, "status": 400}, 400)
    (task,) = run().tasks
    assert task.error_rate == 1
    assert engine.transient == before
    assert engine.values == ["false", before.get(SETTING)]


def interrupted_twice(listener: Listener, released: threading.Event) -> Callable[[], HttpResponse]:
    """Returns a deletion that the second signal drops, so that its operation cannot restore the setting."""

    def interrupt() -> HttpResponse:
        os.kill(os.getpid(), signal.SIGINT)
        assert listener.stopping.wait(20)
        os.kill(os.getpid(), signal.SIGINT)
        released.wait(20)
        return json_response({})

    return interrupt


def test_the_race_restores_the_setting_if_a_deletion_is_interrupted(
    engine: Engine, listener: Listener, run: Callable[[], RaceRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pacenote.race.drive.EVENT_TIMEOUT_S", 0.02)
    before, released = dict(engine.transient), threading.Event()
    engine.on_delete = interrupted_twice(listener, released)
    try:
        record = run()
    finally:
        released.set()
    assert record.interrupted
    assert engine.transient == before
    assert engine.values == ["false", before.get(SETTING)]


def test_a_setting_that_cannot_be_read_is_mentioned_and_not_changed(
    engine: Engine, listener: Listener, run: Callable[[], RaceRecord]
) -> None:
    engine.is_readable = False
    assert run().complete
    (warning,) = listener.warnings
    assert warning.startswith(
        f"the cluster's transient setting {SETTING} cannot be read, so the race does not"
    )
    assert "no privilege" in warning
    # Only the operation changes it.
    assert len(engine.values) == 2


@pytest.mark.parametrize("run", [2], indirect=True)
def test_the_race_restores_the_first_value_if_operations_run_at_the_same_time(
    engine: Engine, run: Callable[[], RaceRecord]
) -> None:
    before, reads = dict(engine.transient), iter(range(2))
    turned_off, restored = threading.Event(), threading.Event()
    both_delete = threading.Barrier(2, timeout=20)

    def read_after_the_other() -> None:
        if next(reads) == 1:
            assert turned_off.wait(20)

    def restore_after_the_other(value: str | None) -> None:
        if value == "false" and engine.values.count("false") == 2:
            assert restored.wait(20)

    def delete_together() -> HttpResponse:
        both_delete.wait()
        return json_response({"acknowledged": True})

    engine.on_delete = delete_together
    engine.before_read, engine.before_put = read_after_the_other, restore_after_the_other
    engine.after_put = lambda value: (turned_off if value == "false" else restored).set()
    assert run().complete
    # The second operation has read the value of the first one, and restored it.
    assert engine.values == ["false", "false", before.get(SETTING), "false", before.get(SETTING)]
    assert engine.transient == before


def test_ctrl_c_does_not_interrupt_the_restoration(
    engine: Engine,
    listener: Listener,
    run: Callable[[], RaceRecord],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pacenote.race.drive.EVENT_TIMEOUT_S", 0.02)
    before, released = dict(engine.transient), threading.Event()
    engine.on_delete = interrupted_twice(listener, released)

    def interrupt() -> None:
        # Were it not postponed, the signal would end the wait for this response.
        os.kill(os.getpid(), signal.SIGINT)
        released.wait(0.1)

    engine.on_restore = interrupt
    try:
        record = run()
    finally:
        released.set()
    assert engine.transient == before
    assert engine.values == ["false", before.get(SETTING)]
    assert (record.interrupted, len(record.tasks)) == (True, 1)
    assert record.driver["threads"]
    assert RaceStore(tmp_path / "home").load("r") == record


def test_a_setting_that_cannot_be_restored_is_reported_in_one_line(
    engine: Engine, listener: Listener, run: Callable[[], RaceRecord]
) -> None:
    before = dict(engine.transient)
    engine.on_restore = lambda: json_response({"error": {"reason": "not\nnow"}}, 503)
    assert run().tasks
    (text,) = [text for text in listener.warnings if SETTING in text]
    value = before.get(SETTING, "no value")
    assert text.startswith(f"the cluster's transient setting {SETTING} could not be restored to {value}: ")
    assert "\n" not in text


def test_an_engine_that_dies_leaves_the_race_readable_and_a_warning(
    engine: Engine, listener: Listener, run: Callable[[], RaceRecord]
) -> None:
    engine.on_delete = lambda: HttpResponse(500, b"", close=True)
    engine.on_restore = lambda: HttpResponse(200, b"", (("content-length", "9"),), close=True)
    record = run()
    assert record.tasks
    (text,) = [text for text in listener.warnings if SETTING in text]
    assert "could not be restored" in text
    assert engine.transient == {SETTING: "false"}
