"""Commands of git: which of them may ask for a passphrase, and how long they may take."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from pacenote.repository import git as module
from pacenote.repository.git import git


@pytest.mark.parametrize(
    ("source", "connects"),
    [
        ("https://host/x/y.git", True),
        ("ssh://git@host/x/y.git", True),
        ("git@host:x/y.git", True),
        ("host:/x/y.git", True),
        ("/srv/git/y.git", False),
        ("file:///srv/git/y.git", False),
        ("../y.git", False),
        ("y", False),
        ("./host:x", False),
    ],
)
def test_only_a_source_on_another_host_may_ask_for_a_passphrase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, connects: bool
) -> None:
    calls = []

    def run(command: list[str], *arguments: Any, has_group: bool) -> subprocess.CompletedProcess[str]:
        if "clone" in command:
            calls.append((arguments[2], has_group))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(module, "run_command", run)
    git("clone", "--quiet", "--", source, str(tmp_path / "target"))
    ((limit_s, has_group),) = calls
    # A process of a group of its own could not read from the terminal.
    assert has_group is not connects
    assert (limit_s > 2 * 3600) is connects
