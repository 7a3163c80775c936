"""The state of installations is kept as JSON, and files that cannot be read are reported."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from pacenote.errors import StoreError, UsageError
from pacenote.model.engine_options import EngineOptions
from pacenote.store.installation_store import InstallationStore, InstalledEngine

STATE = InstalledEngine(
    id="one",
    created="2026-11-23T08:00:00+00:00",
    engine=EngineOptions(car=("4gheap", "g1gc"), car_params={"heap_size": "2g", "nested": {"a": [1]}}),
    http_port=39205,
)


def test_a_state_survives_a_round_trip_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    store = InstallationStore(tmp_path)
    store.save(STATE)
    assert store.load("one") == STATE
    assert (store.ids(), store.all()) == (["one"], [STATE])
    mode = stat.S_IMODE((store.folder("one") / "installation.json").stat().st_mode)
    assert mode == 0o600
    store.remove("one")
    store.remove("one")
    assert store.ids() == []


def test_each_start_has_a_folder_for_its_logs_and_only_the_last_ones_are_kept(tmp_path: Path) -> None:
    store = InstallationStore(tmp_path)
    (tmp_path / "installations").mkdir(mode=0o755)
    folders = [store.new_logs("one") for _ in range(7)]
    assert [folder.name for folder in folders] == ["1", "2", "3", "4", "5", "6", "7"]
    assert [folder.name for folder in folders if folder.exists()] == ["3", "4", "5", "6", "7"]
    for folder in (folders[-1], folders[-1].parent, store.folder("one"), tmp_path / "installations"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_an_unknown_installation_is_reported_with_those_that_exist(tmp_path: Path) -> None:
    store = InstallationStore(tmp_path)
    with pytest.raises(UsageError, match="there is no installation 'x'") as caught:
        store.load("x")
    assert caught.value.hint == "there are none"
    store.save(STATE)
    with pytest.raises(UsageError) as caught:
        store.load("onee")
    assert caught.value.hint == "did you mean one?"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "was written by a newer version of Pacenote"),
        ({"http_port": "x"}, "http_port must be a whole number"),
        ({"unknown": 1}, "has the unknown field 'unknown'"),
    ],
)
def test_a_state_that_cannot_be_read_is_reported(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    store = InstallationStore(tmp_path)
    store.save(STATE)
    file = store.folder("one") / "installation.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(StoreError, match=message):
        store.load("one")
    assert store.all() == []
    file.write_text("{")
    with pytest.raises(StoreError, match="cannot be read"):
        store.load("one")


def test_the_logs_of_an_engine_that_did_not_start_are_removed_after_an_hour(tmp_path: Path) -> None:
    store = InstallationStore(tmp_path)
    store.save(STATE)
    for name in ("new", "old"):
        store.folder(name).mkdir()
        (store.folder(name) / "engine.log").touch()
    for name in ("old", "one"):
        os.utime(store.folder(name), (0, 0))
    # What is removed by another command while this one looks at it.
    (store.folder("one").parent / "gone").symlink_to("nowhere")
    store.remove_abandoned()
    (store.folder("one").parent / "gone").unlink()
    assert {each.name for each in store.folder("one").parent.iterdir()} == {"new", "one"}
