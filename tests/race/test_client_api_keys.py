"""Each client of a race sends its own API key, which the race creates and deletes."""

from __future__ import annotations

import base64
import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import EngineError, UsageError
from pacenote.model.client_options import AdditionalCluster, ClientOptions
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.net.url import basic_auth_header
from pacenote.race.run import race
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

pytestmark = pytest.mark.process

ME = basic_auth_header("me", "hunter2hunter2")


class Listener:
    """Records warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


@dataclass
class Engine:
    """An engine that creates API keys, and records the credentials of all other requests."""

    created: list[str] = field(default_factory=list)
    deleted: list[list[str]] = field(default_factory=list)
    credentials: list[tuple[str, str]] = field(default_factory=list)
    creation_status: int = 200
    interrupts: bool = False
    deletes: bool = True
    id: object = None
    """The id of each key, or None for a number."""

    def respond(self, request: HttpRequest) -> HttpResponse:
        if request.path != "/_security/api_key":
            self.credentials.append((request.path, request.headers.get("authorization", "")))
            return json_response(engine_document(request.target))
        assert request.headers["authorization"] == ME
        body = json.loads(request.body)
        if request.method == "DELETE":
            self.deleted.append(body["ids"])
            done = body["ids"] if self.deletes else body["ids"][:1]
            return json_response({"invalidated_api_keys": done, "previously_invalidated_api_keys": []})
        self.created.append(body["name"])
        if self.creation_status != 200 and len(self.created) == 3:
            return json_response({"error": {"reason": "no handler"}}, self.creation_status)
        number = len(self.created) - 1
        if self.interrupts and number == 1:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
        key_id = f"id{number}" if self.id is None else self.id
        return json_response({"id": key_id, "name": body["name"], "api_key": f"hunter2-{number}"})


RUNNER = """
async def hit(es, params):
    await es.perform_request(method="GET", path="/hit")

def register(registry):
    registry.register_runner("hit", hit, async_runner=True)
"""


def raced(tmp_path: Path, engine: Engine, operation: Any, **more: Any) -> tuple[RaceRecord, list[str]]:
    folder = tmp_path / "tiny"
    folder.mkdir()
    if isinstance(operation, str):
        (folder / "track.py").write_text(RUNNER)
    task = {"operation": operation, "clients": 3, "iterations": 2}
    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": [task]}))
    listener = Listener()
    with http_server(engine.respond) as running:
        fields = {
            "client": ClientOptions(authorization=ME, api_key_per_client=True),
            "target_hosts": (running.address,),
            **more,
        }
        request = RaceRequest(
            race_id="r",
            home=tmp_path / "home",
            track_path=folder,
            pipeline="benchmark-only",
            **fields,
        )
        return race(request, listener), listener.warnings  # type: ignore[arg-type]


@pytest.mark.parametrize("operation", [{"operation-type": "raw-request", "path": "/hit"}, "hit"])
def test_each_client_sends_its_own_key(tmp_path: Path, operation: Any) -> None:
    engine = Engine()
    record, warnings = raced(tmp_path, engine, operation)
    assert record.tasks[0].error_rate == 0.0
    assert [text for text in warnings if "API key" in text] == []
    assert engine.created == ["pacenote-r-0", "pacenote-r-1", "pacenote-r-2"]
    assert engine.deleted == [["id0", "id1", "id2"]]
    keys = ["ApiKey " + base64.b64encode(f"id{n}:hunter2-{n}".encode()).decode() for n in range(3)]
    sent = [authorization for path, authorization in engine.credentials if path == "/hit"]
    assert sorted(sent) == sorted(keys * 2)
    # The race itself uses the user's credentials.
    assert {authorization for path, authorization in engine.credentials if path != "/hit"} == {ME}
    assert record.client.authentication == "api-key"
    stored = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert not any(key.partition(" ")[2].encode() in stored for key in keys)


def test_the_key_that_is_created_when_a_signal_arrives_is_deleted(tmp_path: Path) -> None:
    engine = Engine(interrupts=True)
    with pytest.raises(KeyboardInterrupt):
        raced(tmp_path, engine, {"operation-type": "raw-request", "path": "/hit"})
    assert engine.deleted == [["id0", "id1"]]


def test_keys_are_deleted_if_not_all_can_be_created(tmp_path: Path) -> None:
    engine = Engine(creation_status=405)
    with pytest.raises(
        EngineError, match=r"does not create API keys for the clients: .* no handler"
    ) as caught:
        raced(tmp_path, engine, {"operation-type": "raw-request", "path": "/hit"})
    assert "Elasticsearch with security" in caught.value.hint
    assert engine.deleted == [["id0", "id1"]]
    assert not any(path == "/hit" for path, _ in engine.credentials)


def test_keys_that_cannot_be_deleted_are_reported(tmp_path: Path) -> None:
    engine = Engine(deletes=False)
    _, warnings = raced(tmp_path, engine, {"operation-type": "raw-request", "path": "/hit"})
    assert (
        "2 API keys of the clients, whose names begin with pacenote-r-, could not be deleted: "
        "the cluster reports errors"
    ) in warnings


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"client": ClientOptions(authorization="ApiKey abc", api_key_per_client=True)},
            "needs a user name and a password",
        ),
        (
            {
                "additional_clusters": (
                    AdditionalCluster("far", ("h:1",), ClientOptions(api_key_per_client=True)),
                )
            },
            "only possible for the cluster default, not for far",
        ),
    ],
)
def test_keys_need_a_user_of_the_tested_cluster(tmp_path: Path, more: dict[str, Any], message: str) -> None:
    engine = Engine()
    with pytest.raises(UsageError, match=message):
        raced(tmp_path, engine, {"operation-type": "raw-request", "path": "/hit"}, **more)
    assert (engine.created, engine.credentials) == ([], [])


@pytest.mark.parametrize("key_id", [["\x7f" * 1000], {"id": 1}, "i" * 1001])
def test_a_key_whose_id_is_none_is_of_an_unexpected_form(tmp_path: Path, key_id: object) -> None:
    with pytest.raises(EngineError, match="the cluster's reply about a new API key has an unexpected form"):
        raced(tmp_path, Engine(id=key_id), {"operation-type": "raw-request", "path": "/hit"})
