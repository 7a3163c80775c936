"""Commands that are suggested begin with what the user has entered to start Pacenote."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from pacenote.cli.program import as_started, program


@pytest.mark.parametrize(
    "started",
    ["/site-packages/pytest/__main__.py", "/elsewhere/__main__.py", "__main__.py", "/bin/python", ""],
)
def test_a_program_that_is_not_pacenote_suggests_its_name(
    monkeypatch: pytest.MonkeyPatch, started: str
) -> None:
    monkeypatch.setattr(sys, "argv", [started])
    assert program() == "pacenote"
    monkeypatch.setattr(sys, "argv", [])
    assert program() == "pacenote"


def test_a_module_is_started_as_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/site-packages/pacenote/__main__.py"])
    module = f"{shlex.quote(sys.executable)} -m pacenote"
    assert program() == module
    assert as_started("see `pacenote race --help`") == f"see `{module} race --help`"


def test_what_the_shell_does_not_find_is_started_by_its_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started = tmp_path / "a b" / "pacenote"
    started.parent.mkdir()
    started.touch(mode=0o755)
    monkeypatch.setattr(sys, "argv", [str(started)])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program() == shlex.quote(str(started))
    monkeypatch.setenv("PATH", str(started.parent))
    assert program() == "pacenote"
