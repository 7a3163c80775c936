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
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

SETTING = "action.destructive_requires_name"


class Listener:
    """Ignores the events of a race, except that it is being stopped."""

    def __init__(self) -> None:
        self.stopping = threading.Event()

    def preparing(self, label: str, done: int, total: int) -> None: ...

    def started(self, record: Any) -> None: ...

    def progress(self, progress: Any) -> None: ...

    def task_finished(self, result: Any) -> None: ...

    def info(self, text: str) -> None: ...

    def warning(self, text: str) -> None:
        if text.startswith("stopping"):
            self.stopping.set()

    def finished(self, record: Any) -> None: ...


class Engine:
    """An engine with a transient setting, which records the values that it gets."""

    def __init__(self, value: str | None) -> None:
        self.transient: dict[str, str] = {} if value is None else {SETTING: value}
        self.values: list[str | None] = []
        self.on_delete: Callable[[], HttpResponse] = lambda: json_response({"acknowledged": True})

    def respond(self, request: HttpRequest) -> HttpResponse:
        if request.method == "DELETE":
            return self.on_delete()
        if request.path != "/_cluster/settings":
            return json_response(engine_document(request.target))
        if request.method == "PUT":
            return self._put(json.loads(request.body)["transient"][SETTING])
        if "flat_settings" in request.query:
            return json_response({"persistent": {}, "transient": self.transient})
        value = self.transient.get(SETTING)
        nested = {"transient": {"action": {"destructive_requires_name": value}}}
        return json_response({} if value is None else nested)

    def _put(self, value: Any) -> HttpResponse:
        text = None if value is None else str(value).lower()
        self.values.append(text)
        if text is None:
            self.transient.pop(SETTING, None)
        else:
            self.transient[SETTING] = text
        return json_response({"acknowledged": True})


@pytest.fixture(params=["true", None])
def engine(request: pytest.FixtureRequest) -> Engine:
    return Engine(request.param)


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def run(engine: Engine, listener: Listener, tmp_path: Path) -> Iterator[Callable[[], RaceRecord]]:
    operation = {"operation-type": "delete-index", "index": "logs-*"}
    track = {"version": 2, "schedule": [{"name": "delete", "operation": operation}]}
    (tmp_path / "track.json").write_text(json.dumps(track))
    with http_server(engine.respond) as server:
        request = RaceRequest(
            race_id="r",
            home=tmp_path / "home",
            track_path=tmp_path,
            pipeline="benchmark-only",
            target_hosts=(server.address,),
        )
        yield lambda: race(request, listener)


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


def test_the_race_restores_the_setting_if_a_deletion_is_interrupted(
    engine: Engine, listener: Listener, run: Callable[[], RaceRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pacenote.race.drive.EVENT_TIMEOUT_S", 0.02)
    before, released = dict(engine.transient), threading.Event()

    def interrupt() -> HttpResponse:
        # The second signal drops the deletion, so the operation cannot restore the setting.
        os.kill(os.getpid(), signal.SIGINT)
        assert listener.stopping.wait(20)
        os.kill(os.getpid(), signal.SIGINT)
        released.wait(20)
        return json_response({})

    engine.on_delete = interrupt
    try:
        record = run()
    finally:
        released.set()
    assert record.interrupted
    assert engine.transient == before
    assert engine.values == ["false", before.get(SETTING)]
