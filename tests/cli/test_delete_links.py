"""A link in the place of an experiment or a search: what it leads to is neither read nor changed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from lab.tune.searches import search_plan
from pacenote.errors import StoreError
from pacenote.model.experiment import ExperimentPlan
from pacenote.store.experiment_store import ExperimentStore, file_digest
from pacenote.store.tune_store import TuneFolder, create_tune, list_tunes, write_tune

TEXT = 'question = "?"\n'


@pytest.fixture
def store(home: Path) -> ExperimentStore:
    return ExperimentStore(home)


@pytest.fixture
def outside(store: ExperimentStore, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder with the files of an experiment or a search, outside, to which `experiments/x-1` is a link."""
    if request.param == "experiment":
        folder = store.create("x")
        plan = ExperimentPlan(
            experiment_id="x-1", created="t", seed=1, folder="/", file_digest=file_digest(TEXT)
        )
        store.write(folder, TEXT, plan)
    else:
        search = create_tune(store)
        write_tune(search, search_plan(tune_id="x-1"))
        folder = search.files
    outside = tmp_path / "outside"
    shutil.move(folder.path, outside)
    (outside / "journal.jsonl").write_text('{"the end of a line')
    (outside / ".plan.json.1000000000.tmp").write_text("other")
    os.utime(outside, (1, 1))
    (store.experiments / "x-1").symlink_to(outside)
    return outside


_KINDS = pytest.mark.parametrize("outside", ["experiment", "search"], indirect=True)

_COMMANDS = [
    ("experiment", "report", "x-1"),
    ("experiment", "report", "x-1", "--html"),
    ("experiment", "resume", "x-1"),
    ("tune", "report", "x-1"),
    ("tune", "report", "x-1", "--html"),
    ("tune", "resume", "x-1"),
]


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@_KINDS
@pytest.mark.parametrize("command", _COMMANDS, ids=" ".join)
def test_no_command_follows_it(
    run: Any, store: ExperimentStore, outside: Path, command: tuple[str, ...]
) -> None:
    before = _contents(outside)
    code, out, err = run(*command)
    assert (code, out) == (64, "")
    assert f"error: {store.experiments / 'x-1'} is a symbolic link, which is not followed\n" in err
    assert "pacenote delete experiment --id=x-1" in err
    assert _contents(outside) == before


@_KINDS
def test_it_is_deleted_alone(run: Any, store: ExperimentStore, outside: Path) -> None:
    before = _contents(outside)
    text = "the link x-1; what it leads to is kept\n"
    assert run("delete", "experiment", "--id=x-1", "--dry-run")[:2] == (0, f"would delete {text}")
    assert run("delete", "experiment", "--id=x-1")[:2] == (0, f"deleted {text}")
    assert not os.path.lexists(store.experiments / "x-1")
    assert _contents(outside) == before


def test_one_that_leads_nowhere_is_deleted(run: Any, store: ExperimentStore) -> None:
    store.experiments.mkdir(parents=True)
    (store.experiments / "x-1").symlink_to("missing")
    assert run("delete", "experiment", "--id=x-1")[0] == 0
    assert not os.path.lexists(store.experiments / "x-1")


@_KINDS
def test_it_is_neither_listed_nor_locked_nor_cleared(store: ExperimentStore, outside: Path) -> None:
    before = _contents(outside)
    for locked in (store.folder_or_link("x-1").locked, TuneFolder(store.experiments / "x-1").locked):
        with pytest.raises(StoreError, match="is a symbolic link, which is not followed"), locked():
            pass
    with pytest.raises(StoreError, match="is a symbolic link"):
        store.exact_folder("x-1")
    assert (store.list(), list_tunes(store)) == ([], [])
    assert _contents(outside) == before
    # What an experiment has before it has a plan, an hour ago.
    for path in outside.iterdir():
        path.rmdir() if path.is_dir() else path.unlink()
    (outside / ".lock").touch()
    os.utime(outside, (1, 1))
    os.utime(store.experiments / "x-1", (1, 1), follow_symlinks=False)
    store.create("other")
    assert set(_contents(outside)) == {".lock"}
