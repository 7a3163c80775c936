"""Annotations are files that are added, listed and deleted."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from pacenote.errors import StoreError
from pacenote.store.annotations import Annotation, AnnotationStore


@pytest.fixture
def store(tmp_path: Path) -> AnnotationStore:
    return AnnotationStore(tmp_path / "home")


def annotation(name: str, day: str = "20260301", **fields: str) -> Annotation:
    return Annotation(annotation_id=name, race_timestamp=f"{day}T000000Z", message=f"é {name}", **fields)


def test_annotations_are_listed_newest_first(store: AnnotationStore) -> None:
    older, newer = annotation("a", track="geonames", chart_type="io"), annotation("b", "20260302")
    for note in (older, newer):
        store.add(note)
    assert store.list(pytest.fail) == [newer, older]


def test_a_file_has_rallys_keys_and_is_private(store: AnnotationStore, tmp_path: Path) -> None:
    store.add(annotation("a", track="geonames"))
    (file,) = (tmp_path / "home" / "annotations").iterdir()
    assert json.loads(file.read_text()) == {
        "environment": "local",
        "race-timestamp": "20260301T000000Z",
        "track": "geonames",
        "chart-type": None,
        "chart-name": None,
        "message": "é a",
    }
    assert (file.name, stat.S_IMODE(file.stat().st_mode)) == ("a.json", 0o600)


def test_an_annotation_is_deleted(store: AnnotationStore) -> None:
    store.add(annotation("a"))
    store.add(annotation("b"))
    store.delete("a")
    assert [each.annotation_id for each in store.list(pytest.fail)] == ["b"]
    for name in ("a", "../home", ""):
        with pytest.raises(StoreError, match=f"there is no annotation '{name}' in "):
            store.delete(name)


def test_a_home_without_annotations_has_an_empty_list(store: AnnotationStore, tmp_path: Path) -> None:
    assert store.list(pytest.fail) == []
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"message": "x"}'])
def test_a_damaged_file_is_left_out_and_named(store: AnnotationStore, tmp_path: Path, text: str) -> None:
    store.add(annotation("a"))
    file = tmp_path / "home" / "annotations" / "a.json"
    file.write_text(text)
    left_out: list[str] = []
    assert store.list(left_out.append) == []
    assert left_out == [f"{file} is not an annotation: delete the file, or repair it"]
    assert store.ids() == {"a"}


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot create"):
        AnnotationStore(tmp_path / "file").add(annotation("a"))


def test_one_that_cannot_be_read_hides_no_other_one(store: AnnotationStore, tmp_path: Path) -> None:
    good = annotation("a")
    store.add(good)
    folder = tmp_path / "home" / "annotations"
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "list.json").write_text("[]")
    (folder / "link.json").symlink_to("link.json")
    os.mkfifo(folder / "pipe.json")
    left_out: list[str] = []
    assert store.list(left_out.append) == [good]
    assert len(left_out) == 4
    assert all("\n" not in message for message in left_out)
