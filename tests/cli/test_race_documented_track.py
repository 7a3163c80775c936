"""The track in docs/tracks.md can be raced."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pacenote.store.race_store import RaceStore
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

_PAGE = Path(__file__).parents[2] / "docs" / "tracks.md"
_FILE = re.compile(r"^`~/tracks/people/([\w.]+)`[^`]*```json\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Engine:
    """Counts the documents that it gets."""

    def __init__(self) -> None:
        self.documents = 0

    def respond(self, request: HttpRequest) -> HttpResponse:
        if request.path.endswith("/_bulk"):
            sent = request.body.count(b"\n") // 2
            self.documents += sent
            return json_response({"took": 1, "errors": False, "items": [{"index": {"status": 201}}] * sent})
        if request.path.endswith("/_count"):
            return json_response({"count": self.documents, "_shards": {"failed": 0}})
        return json_response({**engine_document(request.target), "acknowledged": True})


@pytest.fixture
def people(tmp_path):
    """The folder of the track, as the page describes it."""
    folder = tmp_path / "people"
    folder.mkdir()
    for name, text in _FILE.findall(_PAGE.read_text("utf-8")):
        (folder / name).write_text(text)
    return folder


def test_the_documented_track_is_complete_and_valid(run, people):
    assert sorted(file.name for file in people.iterdir()) == ["index.json", "people.json", "track.json"]
    code, out, err = run("validate-track", f"--track-path={people}")
    assert (code, err) == (0, "")
    assert out.endswith(" is valid: 1 challenge, 5 tasks\n")


@pytest.mark.process
def test_the_documented_track_can_be_raced(run, people, home):
    engine = Engine()
    with http_server(engine.respond) as server:
        options = (f"--track-path={people}", "--race-id=r", f"--target-hosts={server.address}")
        code, _, err = run("race", *options, "--test-mode", "--track-params=bulk_size:2,iterations:5")
    assert code == 0, err
    record = RaceStore(home).load("r")
    measured = {task.task: task.accounting.normal for task in record.tasks}
    assert (engine.documents, measured["in-lyon"]) == (5, 2)
