"""Folders of experiments: ids, changed files, plans of newer versions, lists, and what is left behind."""

import errno
import json
import os
import time
from pathlib import Path

import pytest

from pacenote.errors import StoreError
from pacenote.model.experiment import ExperimentPlan, JournalEntry
from pacenote.store.experiment_store import TUNE_PLAN, ExperimentStore, file_digest
from pacenote.store.installation_store import new_kept_id

TEXT = 'question = "?"\n'


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)
    return ExperimentStore(tmp_path)


def created(store, name="heap"):
    folder = store.create(name)
    plan = ExperimentPlan(
        experiment_id=folder.experiment_id,
        created="t",
        seed=1,
        folder="/",
        file_digest=file_digest(TEXT),
    )
    store.write(folder, TEXT, plan)
    return folder


def test_experiments_are_found_by_their_ids_and_prefixes(store):
    names = [created(store).experiment_id for _ in range(2)] + [created(store, "gc").experiment_id]
    assert names == ["heap-1", "heap-2", "gc-1"]
    assert [folder.experiment_id for folder in store.list()] == ["gc-1", "heap-2", "heap-1"]
    assert store.folder("latest").experiment_id == "gc-1"
    assert store.folder("g").experiment_id == "gc-1"
    with pytest.raises(StoreError, match="'heap' matches 2 experiments: heap-2, heap-1"):
        store.folder("heap")
    with pytest.raises(StoreError, match="no experiment 'x' in "):
        store.folder("x")


def test_the_id_of_a_deleted_experiment_is_not_used_again_while_its_races_are_kept(store):
    folder = created(store)
    (store.home / "races" / "heap-1-001").mkdir(parents=True)
    (store.home / "races" / "heap-x-1-001").mkdir()
    store.delete(folder)
    assert not folder.path.exists()
    assert created(store).experiment_id == "heap-2"
    assert created(store, "heap-x").experiment_id == "heap-x-2"


def test_an_experiment_that_runs_is_not_deleted(store):
    folder = created(store)
    with folder.locked(), pytest.raises(StoreError, match="experiment 'heap-1' is running"):
        store.delete(folder)
    assert folder.plan_json.exists()


def test_an_experiment_whose_engine_was_left_is_not_deleted(store):
    folder = created(store)
    left = new_kept_id("heap-1")
    folder.engine_json.write_text(f'"--installation-id={left}"')
    installation = store.home / "installations" / left / "installation.json"
    installation.parent.mkdir(parents=True)
    installation.touch()
    with pytest.raises(StoreError, match="the engine of experiment 'heap-1' has not been stopped") as caught:
        store.delete(folder)
    assert caught.value.hint == f"stop it first: pacenote stop --installation-id={left}"
    assert folder.plan_json.exists()
    installation.unlink()
    store.delete(folder)
    assert not folder.path.exists()


def test_a_file_that_was_changed_is_refused(store):
    folder = created(store)
    assert folder.text() == TEXT
    folder.toml.write_text(TEXT + "blocks = 3\n")
    with pytest.raises(StoreError, match=r"experiment\.toml was changed after its races were planned"):
        folder.text()


def test_a_plan_of_a_newer_version_is_refused(store):
    folder = created(store)
    document = json.loads(folder.plan_json.read_bytes())
    folder.plan_json.write_text(json.dumps(document | {"format": 2}))
    with pytest.raises(StoreError, match="a newer version of Pacenote wrote it"):
        folder.plan()


def test_what_killed_processes_left_is_removed(store):
    folder = created(store)
    left = [
        folder.path / f".{name}.999999999.tmp" for name in ("engine.json", "plan.json", "experiment.toml")
    ]
    for path in left:
        path.touch()
    with folder.locked():
        assert not any(path.exists() for path in left)
    unplanned, recent = store.create("old"), store.create("recent")
    os.utime(unplanned.path, (0, time.time() - 7200))
    created(store)
    assert (unplanned.path.exists(), recent.path.exists()) == (False, True)


def test_folders_that_contain_anything_without_a_plan_are_kept(store):
    """An experiment whose plan was lost, and a folder that is not one of ours."""
    lost, notes = created(store), store.experiments / "my-notes"
    lost.plan_json.unlink()
    (lost.path / "journal.jsonl").write_text("{}\n")
    notes.mkdir()
    (notes / "a.txt").write_text("kept")
    logged = store.create("logged")
    (logged.path / "logs" / "001.log").write_text("kept")
    for path in (lost.path, notes, logged.path):
        os.utime(path, (0, time.time() - 7200))
    created(store, "other")
    assert (lost.path / "journal.jsonl").exists()
    assert (notes / "a.txt").exists()
    assert (logged.path / "logs" / "001.log").exists()


def test_an_experiment_that_cannot_be_written_leaves_no_folder(store, monkeypatch):
    folder = created(store)
    monkeypatch.setattr(os, "fsync", lambda _descriptor: os.close(-1))
    with pytest.raises(StoreError):
        created(store)
    assert list(store.experiments.iterdir()) == [folder.path]


def test_a_folder_without_a_plan_is_listed_and_can_be_deleted(store):
    unplanned = store.create("gc")
    with pytest.raises(StoreError, match="no experiment 'latest'"):
        store.folder("latest")
    folder = created(store)
    assert [one.experiment_id for one in store.list()] == ["heap-1", "gc-1"]
    assert store.folder("latest").experiment_id == folder.experiment_id
    with pytest.raises(StoreError, match="experiment 'gc-1' has no plan"):
        unplanned.plan()
    store.delete(store.folder("gc"))
    assert not unplanned.path.exists()


def test_searches_are_no_experiments(store):
    search = store.create("tune")
    (search.path / TUNE_PLAN).touch()
    confirmation = store.create("tune-1-confirm")
    assert [one.experiment_id for one in store.list()] == ["tune-1-confirm-1"]
    with pytest.raises(StoreError, match="tune-1 is a search, not an experiment"):
        store.folder("tune-1")
    store.delete(store.exact_folder("tune-1"))
    assert (search.path.exists(), confirmation.path.exists()) == (False, True)
    with pytest.raises(StoreError, match="no experiment 'tune-1'"):
        store.exact_folder("tune-1")


def test_a_read_only_file_system_is_told(store, monkeypatch):
    def fails(*_arguments, **_options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", fails)
    with pytest.raises(StoreError, match="the file system is read-only"):
        store.create("heap")


def test_a_file_in_place_of_the_folder_is_told(store):
    store.experiments.write_text("")
    with pytest.raises(StoreError, match=r"cannot create .*experiments: File exists"):
        store.create("heap")


def test_lists_and_reports_change_nothing_in_an_experiment(store):
    folder = created(store)
    folder.append(JournalEntry(event="machine", at="t", text="x"))
    with folder.journal_file.open("ab") as file:
        file.write(b'{"event": "sta')
    before = {path.name: path.read_bytes() for path in folder.path.iterdir() if path.is_file()}
    assert not folder.is_running()
    assert len(folder.journal()) == 1
    assert {path.name: path.read_bytes() for path in folder.path.iterdir() if path.is_file()} == before
    with folder.locked():
        assert folder.is_running()
        assert folder.is_running()
