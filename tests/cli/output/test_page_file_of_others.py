"""Pages of races, experiments and searches in folders that another user could exchange for a link."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pacenote.cli.console import Console
from pacenote.cli.lab.experiment_page import write_experiment_page
from pacenote.cli.lab.tune_page import write_tune_page
from pacenote.errors import StoreError
from pacenote.store.experiment_store import ExperimentStore
from pacenote.store.race_store import RaceStore
from pacenote.store.tune_store import create_tune
from support.records import record

OTHER = 54321


def _given(path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give folders to other users")
    os.lchown(path, OTHER, OTHER)


def _linked(path: Path) -> None:
    target = path.parents[2] / "elsewhere"
    path.rename(target)
    (target / "report.html").write_text("precious")
    path.symlink_to(target)


_KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder of another user": (_given, f" belongs to user {OTHER}"),
    "races of another user": (lambda path: _given(path.parent), f" belongs to user {OTHER}"),
    "home of another user": (lambda path: _given(path.parents[1]), f" belongs to user {OTHER}"),
    "races that all may write": (lambda path: path.parent.chmod(0o777), " can be written by other users"),
    "folder that all may write": (lambda path: path.chmod(0o777), " can be written by other users"),
    "link": (_linked, "it is a symbolic link"),
}


@pytest.mark.parametrize("kind", _KINDS)
def test_no_page_of_a_race_is_written_there_but_one_is_to_a_file(run: Any, tmp_path: Path, kind: str) -> None:
    folder = RaceStore().create(record("race"))
    folder.finish(record("race"))
    assert run("report", "race", "--html")[:2] == (0, f"{folder.page}\n")
    folder.page.write_text("precious")
    change, reason = _KINDS[kind]
    change(folder.path)
    code, out, err = run("report", "race", "--html")
    assert (code, out) == (64, "")
    assert f"error: no page is written to {folder.path}: " in err
    assert reason in err
    assert err.endswith("hint: name a file for the page: --html=FILE\n")
    assert folder.page.read_text() == "precious"
    assert {path.name for path in folder.path.iterdir()} == {"artifacts", "race.json", "report.html"}
    page = tmp_path / "page.html"
    assert run("report", "race", f"--html={page}")[:2] == (0, f"{page}\n")
    assert run("report", "race")[0] == 0


@pytest.mark.parametrize("kind", _KINDS)
def test_no_page_of_an_experiment_or_a_search_is_written_there(home: Path, kind: str) -> None:
    store, console = ExperimentStore(home), Console()
    folder, search = store.create("heap"), create_tune(store)
    unused: Any = None
    for write, path in (
        (lambda: write_experiment_page(folder, unused, "", console), folder.path),
        (lambda: write_tune_page(search, "", console), search.path),
    ):
        _KINDS[kind][0](path)
        with pytest.raises(StoreError, match="no page is written to ") as caught:
            write()
        assert str(path) in caught.value.message
        if kind == "link":
            path.resolve().rename(home / path.name)
