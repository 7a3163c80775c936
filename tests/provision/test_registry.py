"""What a dead owner left behind is ended and removed; nothing else is touched."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pacenote.provision.layout import Place
from pacenote.provision.process import Identity, identify, is_running
from pacenote.provision.registry import Entry, forget, hold, note, ourselves, remove_node_dir, sweep

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


@pytest.mark.parametrize("owner", [ourselves(), DEAD], ids=["here", "in another container"])
def test_a_living_owners_node_is_left_alone(place: Place, sleeper: Identity, owner: Identity) -> None:
    entry = leave(place, owner, sleeper)
    held = hold(place, entry)
    assert sweep(place) == ()
    assert is_running(sleeper)
    assert entry.folder.exists()
    held.release()
    held.release()
    assert sweep(place) == ("n",)
    assert not list(place.registry.iterdir())


def test_a_process_with_the_dead_owners_number_saves_nothing(place: Place) -> None:
    entry = leave(place, ourselves(), None)
    assert sweep(place) == ("n",)
    assert not entry.folder.exists()


def test_a_kept_folder_stays(place: Place) -> None:
    entry = leave(place, ourselves(), None)
    forget(place, entry, hold(place, entry))
    assert sweep(place) == ()
    assert entry.folder.exists()
    assert not list(place.registry.iterdir())


def test_a_lock_whose_note_was_never_written_goes(place: Place) -> None:
    place.registry.mkdir()
    (place.registry / "n.lock").touch()
    (place.registry / ".n.json.part").touch()
    assert sweep(place) == ()
    assert not list(place.registry.iterdir())


_HOLDER = """
import sys, time
from pathlib import Path
from pacenote.provision.layout import find_place
from pacenote.provision.registry import Entry, hold, ourselves
place = find_place(Path(sys.argv[1]), root=False)
held = hold(place, Entry("n", place.nodes / "n", ourselves(), None))
print("held", flush=True)
time.sleep(60)
"""


def test_the_lock_ends_with_its_owner(place: Place) -> None:
    entry = leave(place, DEAD, None)
    with subprocess.Popen([sys.executable, "-c", _HOLDER, place.home], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"held\n"
        assert sweep(place) == ()
        assert entry.folder.exists()
        owner.kill()
    assert sweep(place) == ("n",)
    assert not entry.folder.exists()


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
