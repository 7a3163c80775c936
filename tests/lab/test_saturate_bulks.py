"""Searches for the limit of bulks, which many connections make shorter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.test_saturate import Listener
from pacenote.lab.rate_search import RateRange
from pacenote.lab.saturate import saturate
from pacenote.lab.saturation_request import SaturationRequest
from pacenote.model.race_request import RaceRequest
from pacenote.model.saturation import Objective
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, HttpServer, http_server, json_response

pytestmark = pytest.mark.process


def respond(request: HttpRequest) -> HttpResponse:
    if not request.path.endswith("_bulk"):
        return json_response(engine_document(request.target))
    items = [{"index": {"status": 201}}] * (request.body.count(b"\n") // 2)
    return json_response({"took": 1, "errors": False, "items": items})


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with http_server(respond) as running:
        yield running


def test_a_limit_of_shorter_bulks_than_those_of_the_track_is_said_to_be_one(
    tmp_path: Path, server: HttpServer
) -> None:
    """Each of 16 clients has 25 of 400 documents, and the two clients of the track send bulks of 100."""
    (tmp_path / "d.json").write_text('{"a":1}\n' * 400)
    documents = {"source-file": "d.json", "document-count": 400, "target-index": "a"}
    track = {
        "version": 2,
        "indices": [{"name": "a"}],
        "corpora": [{"name": "c", "documents": [documents]}],
        "schedule": [{"clients": 2, "operation": {"operation-type": "bulk", "bulk-size": 100}}],
    }
    (tmp_path / "track.json").write_text(json.dumps(track))
    race = RaceRequest(
        race_id="r",
        home=tmp_path / "home",
        track_path=tmp_path,
        pipeline="benchmark-only",
        target_hosts=(server.address,),
    )
    request = SaturationRequest(
        race=race,
        task=None,
        objective=Objective((), 0.6),
        within=RateRange(1000.0, 1000.0, 1000.0, repeats=0),
        connections=16,
        window_s=0.05,
        warmup_s=0.01,
        clients=32,
        level_s=0.1,
        repeats=1,
    )
    result = saturate(request, Listener()).result
    changed = "bulks of 25 documents in the mean with 16 clients instead of 100 with 2"
    assert [note for note in result.notes if note.startswith(f"the probes send {changed}")]
    short = [level.clients for level in result.levels if "it sends bulks of" in "".join(level.left_out)]
    assert short == [8, 16, 32]
