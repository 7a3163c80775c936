"""A file or a folder whose name cannot be an id is left out of every listing, and hides no neighbour."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pacenote.errors import StoreError
from pacenote.store.annotations import Annotation, AnnotationStore
from pacenote.store.experiment_store import TUNE_PLAN, ExperimentStore
from pacenote.store.installation_store import InstallationStore
from pacenote.store.node_files import RECORDINGS, node_files
from pacenote.store.race_index import RaceFilter
from pacenote.store.race_store import RaceStore
from pacenote.store.tune_store import find_tune, list_tunes
from support.records import record

NAMES = ["\udcff", "a\udc80", "a\nb", "\x1b[31m", "a\u202eb"]

pytestmark = pytest.mark.parametrize("name", NAMES)


def copied(folder: Path, name: str, file: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / file).write_text("{}")


def test_annotations_are_left_out_with_one_line(tmp_path: Path, name: str) -> None:
    store = AnnotationStore(tmp_path)
    note = Annotation(annotation_id="good", race_timestamp="20260301T000000Z", message="x")
    store.add(note)
    for stem in (name, ".", ".."):
        (tmp_path / "annotations" / f"{stem}.json").write_text(
            '{"race-timestamp": "20260301T000000Z", "message": "y"}'
        )
    lines: list[str] = []
    assert store.list(lines.append) == [note]
    assert store.ids() == {"good"}
    assert len(lines) == 3
    assert all("its name cannot be an id: rename or delete it" in line for line in lines)
    assert all(line.isprintable() for line in lines)


def test_experiments_and_searches_are_left_out(tmp_path: Path, name: str) -> None:
    store = ExperimentStore(tmp_path)
    for id_, file in (
        ("good", "plan.json"),
        ("tune-1", TUNE_PLAN),
        (name, "plan.json"),
        (f"t{name}", TUNE_PLAN),
    ):
        copied(store.experiments, id_, file)
    os.utime(store.experiments / name / "plan.json", (9_999_999_999, 9_999_999_999))
    os.utime(store.experiments / f"t{name}" / TUNE_PLAN, (9_999_999_999, 9_999_999_999))
    assert [folder.experiment_id for folder in store.list()] == ["good"]
    assert [folder.tune_id for folder in list_tunes(store)] == ["tune-1"]
    assert store.folder("latest").experiment_id == "good"
    assert find_tune(store, "latest").tune_id == "tune-1"
    for find in (store.folder, store.exact_folder, lambda reference: find_tune(store, reference)):
        with pytest.raises(StoreError, match=r"^no (experiment|search) "):
            find(name)
    # It can be deleted.
    store.delete(store.folder_or_link(name))
    assert not (store.experiments / name).exists()


def test_installations_are_left_out(tmp_path: Path, name: str) -> None:
    store = InstallationStore(tmp_path)
    for id_ in ("good", name):
        copied(tmp_path / "installations", id_, "installation.json")
    assert store.ids() == ["good"]


def test_files_of_nodes_are_left_out(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / "node").mkdir()
    for file in (f"{name}.jfr", f"node/{name}.jfr", f"{name}/a.jfr", "node/a.jfr"):
        (tmp_path / file).touch()
    assert node_files(tmp_path, RECORDINGS) == {"node": [tmp_path / "node" / "a.jfr"]}


def test_races_are_left_out(tmp_path: Path, name: str) -> None:
    store = RaceStore(tmp_path)
    store.create(record("good")).finish(record("good"))
    copied(store.races, name, "race.json")
    assert [race.race_id for race in store.list(RaceFilter())] == ["good"]
