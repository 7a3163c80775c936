"""A home of its own for every test, and a race that never touches a cluster."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from pacenote.cli.main import main


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PACENOTE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RALLY_HOME", str(tmp_path / "rally"))
    return tmp_path / "home"


@pytest.fixture
def run(capsys):
    """Runs the command line; gives exit code, standard output and standard error."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def fake_race(monkeypatch):
    """Puts a function in the place of `pacenote.race.run.race`, and gives the list of requests it got."""

    def install(race):
        requests = []

        def noting(request, listener):
            requests.append(request)
            return race(request, listener)

        module = ModuleType("pacenote.race.run")
        module.race = noting  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "pacenote.race.run", module)
        return requests

    return install
