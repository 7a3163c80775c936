"""A real race is followed while it runs, and leaves nothing behind for that."""

from __future__ import annotations

import json
import threading
import time

import pytest

from pacenote.cli.main import main
from pacenote.store.progress_file import PROGRESS_FILE
from serve.test_live_updates import lines
from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response


def respond(request: HttpRequest) -> HttpResponse:
    if request.path == "/task":
        time.sleep(0.005)
    return json_response(engine_document(request.target))


@pytest.mark.process
def test_a_real_race_is_followed_to_its_report(site, tmp_path, monkeypatch):
    monkeypatch.setenv("PACENOTE_HOME", str(site.store.home))
    operation = {"operation-type": "raw-request", "path": "/task"}
    schedule = [
        {"name": "first", "operation": operation},
        {"name": "long", "operation": operation, "warmup-time-period": 0, "time-period": 4},
        {"name": "last", "operation": operation},
    ]
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    followed = []

    def follow():
        while not (site.store.races / "r" / "race.json").exists():
            time.sleep(0.02)
        connection = site.connect()
        connection.request("GET", f"{site.root}race/r/events", headers={"Cookie": site.cookie})
        followed.extend(lines(connection.getresponse()))
        connection.close()

    follower = threading.Thread(target=follow, daemon=True)
    follower.start()
    with http_server(respond) as server:
        hosts = f"--target-hosts={server.address}"
        assert main(["race", f"--track-path={tmp_path}", "--race-id=r", "--quiet", hosts]) in (0, 3)
    follower.join(30)
    assert not follower.is_alive()

    assert followed[-1] == ("end", {})
    running = [parts["running"] for _, parts in followed if "long" in parts.get("running", "")]
    assert any("ops/s" in text and "<progress" in text for text in running)
    assert len(set(running)) >= 2
    assert any("last" in parts.get("to-come", "") for _, parts in followed)
    assert any("first" in parts.get("ended", "") for _, parts in followed)
    assert (site.store.races / "r" / "report.html").is_file()
    assert not (site.store.races / "r" / PROGRESS_FILE).exists()
    assert "<iframe" in site.page("race/r")
