"""Pacenote without /proc, as in some containers: what it cannot know is said."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, http_server, json_response
from support.secure import engine

pytestmark = pytest.mark.process

RUNNER = """
def register(registry):
    registry.register_runner("own", own, async_runner=True)

async def own(es, params):
    return {"weight": 1, "unit": "ops"}
"""


def without_proc(
    home: Path, *arguments: object, when: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs Pacenote where /proc is an empty folder, from the beginning or as soon as the file `when` exists;
    skips the test where that cannot be arranged.
    """
    hidden = ["unshare", "--mount", "sh", "-c"]
    mount = "mount -t tmpfs pacenote-test /proc"
    if os.geteuid() != 0 or subprocess.run([*hidden, mount], capture_output=True, check=False).returncode:
        pytest.skip("/proc cannot be hidden: that needs the rights to unshare and to mount")
    command = shlex.join([sys.executable, "-m", "pacenote", *map(str, arguments)])
    path = os.pathsep.join(filter(None, sys.path))
    later = f"{command} & until [ -e {when} ]; do sleep 0.02; done; {mount}; wait $!"
    return subprocess.run(
        [*hidden, later if when else f"{mount} && exec {command}"],
        env=os.environ | {"PACENOTE_HOME": str(home), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def write_track(folder: Path, **operation: object) -> Path:
    folder.mkdir()
    schedule = [{"name": "a", "operation": operation, "clients": 2, "iterations": 20}]
    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": schedule}))
    return folder


def test_a_race_and_its_report_say_what_was_not_measured(tmp_path: Path) -> None:
    home = tmp_path / "home"
    track = write_track(tmp_path / "track", **{"operation-type": "raw-request", "path": "/served"})
    with engine(None, refuses={}) as server:
        options = ("--pipeline=benchmark-only", f"--target-hosts={server.address}", "--race-id=r")
        raced = without_proc(home, "race", f"--track-path={track}", *options)
    assert (raced.returncode, "defect" in raced.stderr) == (0, False), raced.stderr
    reported = without_proc(home, "report", "r")
    for text in (raced.stdout, reported.stdout):
        assert "the kernel did not report the time that its threads waited for a core" in text
        assert "(is /proc mounted?)" in text
    assert reported.returncode == 0


def test_a_race_whose_proc_disappears_says_what_was_not_measured(tmp_path: Path) -> None:
    operation = {"operation-type": "raw-request", "path": "/served"}
    track = write_track(tmp_path / "track", **operation)
    task = {"name": "a", "operation": operation, "time-period": 2, "warmup-time-period": 0}
    (track / "track.json").write_text(json.dumps({"version": 2, "schedule": [task]}))
    begun = tmp_path / "begun"

    def respond(request: HttpRequest) -> HttpResponse:
        if request.target == "/served":
            begun.touch()
        return json_response(engine_document(request.target))

    with http_server(respond) as server:
        options = ("--pipeline=benchmark-only", f"--target-hosts={server.address}", "--race-id=r")
        raced = without_proc(tmp_path / "home", "race", f"--track-path={track}", *options, when=begun)
    assert (raced.returncode, "defect" in raced.stderr) == (0, False), raced.stderr
    assert "the kernel did not report the time that its threads waited for a core" in raced.stdout
    assert "the time for which a CPU quota stopped it" in raced.stdout


def test_a_track_with_python_code_is_raced(tmp_path: Path) -> None:
    track = write_track(tmp_path / "track", **{"operation-type": "own"})
    (track / "track.py").write_text(RUNNER)
    with engine(None, refuses={}) as server:
        options = ("--pipeline=benchmark-only", f"--target-hosts={server.address}", "--race-id=r")
        raced = without_proc(tmp_path / "home", "race", f"--track-path={track}", *options)
    assert raced.returncode == 0, raced.stderr
    assert "this system cannot find processes that the track's Python code starts" in raced.stderr


def test_an_engine_is_refused_before_anything_is_downloaded(tmp_path: Path) -> None:
    track = write_track(tmp_path / "track", **{"operation-type": "raw-request", "path": "/"})
    raced = without_proc(tmp_path / "home", "race", f"--track-path={track}", "--distribution-version=3.3.0")
    assert raced.returncode == 64
    assert "error: /proc is not available" in raced.stderr
    assert "downloading" not in raced.stderr
