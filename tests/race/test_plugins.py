"""The packages that the Python code of a track needs."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pacenote.errors import TrackError
from pacenote.model.track import Challenge, Track
from pacenote.race.plugins import track_plugins


def track(folder: Path, code: str, *dependencies: str) -> Track:
    file = folder / "lonely" / "track.py"
    file.parent.mkdir()
    file.write_text(code)
    challenge = Challenge("c", (), default=True)
    return Track("lonely", file.parent, (challenge,), dependencies=dependencies, plugin=file)


def test_a_package_that_cannot_be_installed_is_reported_and_left_out(tmp_path: Path) -> None:
    """Two of the public tracks depend on archives that are sometimes unavailable."""
    warnings: list[str] = []
    dependent = track(tmp_path, "def register(registry): pass", "no-such-a==1", "no-such-b==2")
    with track_plugins(dependent, tmp_path, offline=True, warn=warnings.append) as plugins:
        assert plugins is not None
    assert ["no-such-a" in line for line in warnings[1:]] == [True, False]
    assert ["no-such-b" in line for line in warnings[1:]] == [False, True]


def test_code_that_cannot_be_supervised_is_warned_about(tmp_path: Path) -> None:
    warnings: list[str] = []
    lonely = track(tmp_path, "def register(registry): pass")
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        with track_plugins(lonely, tmp_path, offline=True, warn=warnings.append, in_copy=True) as plugins:
            assert plugins is not None
    finally:
        end.set()
        thread.join()
    assert [text for text in warnings if "supervised" in text] == [
        'this process has several threads, so the Python code of track "lonely" is not supervised: if it ends'
        " or crashes its process, nothing is reported, and `pacenote report` shows what was measured"
    ]


def test_the_error_about_a_missing_package_names_it(tmp_path: Path) -> None:
    dependent = track(tmp_path, "import no_such_a", "no-such-a==1")
    with (
        pytest.raises(TrackError, match=r"track\.py.*no_such_a"),
        track_plugins(dependent, tmp_path, offline=True, warn=lambda _: None),
    ):
        pass


@pytest.mark.process
def test_a_track_without_python_code_does_not_import_plug_in_support(tmp_path: Path) -> None:
    task = {"operation": {"operation-type": "raw-request", "path": "/"}}
    (tmp_path / "track.json").write_text(json.dumps({"version": 2, "schedule": [task]}), "utf-8")
    program = (
        "import sys; from pacenote.cli.main import main; main(sys.argv[1:]); names = set(sys.modules); "
        "unwanted = ('pacenote.plugins', 'pacenote.python_tasks', 'elasticsearch', 'asyncio'); "
        "print([name for name in unwanted if name in names])"
    )
    command = [sys.executable, "-c", program, "race", "--dry-run", f"--track-path={tmp_path}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "GET /" in done.stdout
    assert done.stdout.endswith("\n[]\n")
