"""A separate home for each test, and a race that does not touch a cluster."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest

from pacenote.cli.main import main
from support.metrics_store import fake_store
from track.builders import document

CHALLENGES = [
    {
        "name": "fast",
        "default": True,
        "description": "A quick look.",
        "user-info": "Mind the gap.",
        "schedule": [
            {"operation": "read", "clients": 4, "target-throughput": 10, "tags": ["hot"]},
            {
                "parallel": {
                    "completed-by": "a",
                    "tasks": [
                        {"name": "a", "operation": "read"},
                        {"name": "b", "operation": "force-merge"},
                    ],
                }
            },
        ],
    },
    {"name": "slow", "schedule": [{"operation": "read", "iterations": 10}]},
]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RALLY_HOME", str(tmp_path / "rally"))
    return tmp_path / "home"


@pytest.fixture
def run(capsys):
    """Runs the command line; returns exit code, standard output and standard error."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def metrics_store(tmp_path):
    """A metrics store that `rally.ini` names."""
    with fake_store() as store:
        folder = tmp_path / "rally" / ".rally"
        folder.mkdir(parents=True)
        lines = "".join(f"{key} = {value}\n" for key, value in store.reporting().items())
        (folder / "rally.ini").write_text(f"[reporting]\n{lines}")
        yield store


@pytest.fixture
def fake_race(monkeypatch):
    """Replaces `pacenote.race.run.race` with a function; returns the list of requests that it received."""

    def install(race):
        requests = []

        def recording(request, listener):
            requests.append(request)
            return race(request, listener)

        module = ModuleType("pacenote.race.run")
        module.race = recording  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "pacenote.race.run", module)
        return requests

    return install


@pytest.fixture
def books(tmp_path):
    """A folder with one track whose template reads a parameter."""
    folder = tmp_path / "tracks" / "books"
    folder.mkdir(parents=True)
    text = json.dumps(
        document(challenges=CHALLENGES, description="{{ about | default('Books.') }}"), indent=1
    )
    (folder / "track.json").write_text(text)
    return folder
