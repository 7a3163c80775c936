"""A race on serverless asks the cluster whether its user is the operator."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.race.run import race
from support.engine import OPENSEARCH, engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

SERVERLESS = {"number": "8.11.0", "build_flavor": "serverless", "build_hash": "0"}
TASKS = [
    {"operation": {"operation-type": "raw-request", "path": "/operator-{{ serverless_operator }}"}},
    {"operation": {"name": "stats", "operation-type": "node-stats"}},
]


class Listener:
    """Records notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def info(self, text: str) -> None:
        self.notes.append(text)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


def raced(
    tmp_path: Path, version: dict[str, str], status: int, answer: Any, **more: Any
) -> tuple[RaceRecord, list[str], list[str]]:
    """Returns the record of a race, its notes, and the paths of all requests."""
    paths: list[str] = []

    def respond(request: HttpRequest) -> HttpResponse:
        paths.append(request.path)
        if request.path == "/_security/_authenticate":
            return json_response(answer, status)
        return json_response(engine_document(request.target, version))

    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": TASKS}))
    listener = Listener()
    with http_server(respond) as engine:
        request = RaceRequest(
            race_id="r",
            home=tmp_path / "home",
            track_path=folder,
            pipeline="benchmark-only",
            target_hosts=(engine.address,),
            **more,
        )
        return race(request, listener), listener.notes, paths  # type: ignore[arg-type]


@pytest.mark.process
@pytest.mark.parametrize(
    ("status", "answer", "operator", "note"),
    [
        (200, {"username": "me", "operator": True}, True, "the user is its operator"),
        (200, {"username": "me", "operator": False}, False, "the user is not its operator"),
        (200, {"username": "me"}, False, "the user is not its operator"),
        (
            401,
            {"error": "no"},
            False,
            "does not tell whether the user is its operator (status 401): assuming not",
        ),
    ],
)
def test_the_cluster_determines_whether_the_user_is_its_operator(
    tmp_path: Path, status: int, answer: Any, operator: bool, note: str
) -> None:
    record, notes, paths = raced(tmp_path, SERVERLESS, status, answer)
    assert record.options.serverless_operator is operator
    assert f"/operator-{operator}" in paths
    assert ("stats" in [task.task for task in record.tasks]) is operator
    assert f"the cluster is serverless, and {note}" in notes


def test_the_option_overrides_the_cluster(tmp_path: Path) -> None:
    record, _, paths = raced(tmp_path, SERVERLESS, 200, {"operator": True}, serverless_operator=False)
    assert record.options.serverless_operator is False
    assert "/_security/_authenticate" not in paths


def test_other_clusters_are_not_asked(tmp_path: Path) -> None:
    record, _, paths = raced(tmp_path, dict(OPENSEARCH), 200, {"operator": True})
    assert record.options.serverless_operator is False
    assert "/_security/_authenticate" not in paths
