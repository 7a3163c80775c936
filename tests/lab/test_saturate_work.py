"""Probes of a bulk task whose bulks differ in size, because a bulk has documents of one file only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.test_saturate_backlog import Listener
from pacenote.lab.rate_search import RateRange
from pacenote.lab.saturate import saturate
from pacenote.lab.saturation_request import SaturationRequest
from pacenote.model.race_request import RaceRequest
from pacenote.model.saturation import Objective
from pacenote.model.telemetry_options import TelemetryOptions
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response

pytestmark = pytest.mark.process

CONNECTIONS, BULK_SIZE, RATE = 4, 100, 100.0

SMALL_FILES = 10
"""Each has one document per connection, so that a bulk of it has one."""

LARGE_FILE = CONNECTIONS * BULK_SIZE * 50


def respond(request: HttpRequest) -> HttpResponse:
    if request.path.endswith("/_bulk"):
        items = [{"index": {"status": 201}}] * (request.body.count(b"\n") // 2)
        return json_response({"took": 1, "errors": False, "items": items})
    return json_response(engine_document(request.target))


def write_track(folder: Path) -> None:
    """Writes a track whose small files are sent first."""
    lengths = [CONNECTIONS] * SMALL_FILES + [LARGE_FILE]
    for number, documents in enumerate(lengths):
        (folder / f"{number}.json").write_text('{"a":1}\n' * documents)
    files = [
        {"source-file": f"{number}.json", "document-count": documents, "target-index": "i"}
        for number, documents in enumerate(lengths)
    ]
    operation = {"operation-type": "bulk", "bulk-size": BULK_SIZE}
    document = {
        "version": 2,
        "indices": [{"name": "i"}],
        "corpora": [{"name": "c", "documents": files}],
        "schedule": [{"operation": operation, "clients": CONNECTIONS}],
    }
    (folder / "track.json").write_text(json.dumps(document))


def test_documents_per_second_are_those_of_the_measured_bulks(tmp_path: Path) -> None:
    """In the warm-up, ten bulks of one document are sent on each connection, and then those of 100."""
    write_track(tmp_path)
    with http_server(respond) as server:
        race = RaceRequest(
            race_id="r",
            home=tmp_path / "home",
            track_path=tmp_path,
            pipeline="benchmark-only",
            target_hosts=(server.address,),
            telemetry=TelemetryOptions(default_devices=False),
        )
        request = SaturationRequest(
            race=race,
            task=None,
            objective=Objective((), 1.0),
            within=RateRange(RATE, RATE, RATE, repeats=0),
            connections=CONNECTIONS,
            window_s=1.0,
            warmup_s=0.5,
            clients=0,
            level_s=0.1,
        )
        result = saturate(request, Listener()).result
    probe = result.probes[-1]
    # On a busy machine, a few of the warm-up end in the window; with all of them, it would be 74.
    assert probe.work_per_operation == pytest.approx(BULK_SIZE, rel=0.1)
    assert result.work_at(RATE) == result.work_per_operation == probe.work_per_operation
