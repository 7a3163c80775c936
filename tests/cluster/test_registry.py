"""What a dead owner left behind is ended and removed; nothing else is touched."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pacenote.cluster.place import Place
from pacenote.cluster.process import Identity, identify, is_running
from pacenote.cluster.registry import Entry, note, ourselves, remove_node_dir, sweep

DEAD = Identity(2**22 + 1, 1, "no such boot")


@pytest.fixture
def sleeper() -> Iterator[Identity]:
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"])
    who = identify(process.pid)
    assert who is not None
    yield who
    process.kill()
    process.wait()


def leave(place: Place, owner: Identity, process: Identity | None) -> Entry:
    folder = place.nodes / "n"
    (folder / "data").mkdir(parents=True)
    entry = Entry("n", folder, owner, process)
    note(place, entry)
    return entry


def test_an_orphan_is_ended_with_its_files(place: Place, sleeper: Identity) -> None:
    entry = leave(place, DEAD, sleeper)
    assert sweep(place) == ("n",)
    assert not is_running(sleeper)
    assert not entry.folder.exists()
    assert not entry.file(place).exists()


@pytest.mark.parametrize("change", ["started", "boot"])
def test_a_number_used_again_is_never_killed(place: Place, sleeper: Identity, change: str) -> None:
    other = replace(sleeper, started=1) if change == "started" else replace(sleeper, boot="another boot")
    entry = leave(place, DEAD, other)
    assert sweep(place) == ("n",)
    assert is_running(sleeper)
    assert not entry.folder.exists()


def test_a_living_owners_node_is_left_alone(place: Place, sleeper: Identity) -> None:
    entry = leave(place, ourselves(), sleeper)
    assert sweep(place) == ()
    assert is_running(sleeper)
    assert entry.folder.exists()


def test_one_that_never_started(place: Place) -> None:
    entry = leave(place, DEAD, None)
    assert sweep(place) == ("n",)
    assert not entry.folder.exists()


def test_a_damaged_note_is_removed(place: Place) -> None:
    place.registry.mkdir()
    (place.registry / "x.json").write_text("{")
    assert sweep(place) == ()
    assert not list(place.registry.iterdir())


def test_only_node_folders_are_removed(place: Place, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    for folder in (tmp_path / "precious", place.nodes, place.nodes / "..", place.jars):
        remove_node_dir(place, folder)
        assert folder.exists()
