"""What else races on this machine at the same time."""

import contextlib
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pacenote.lab.machine_changes import MAX_CHANGES, new_changes
from pacenote.lab.other_races import announced, other_races
from pacenote.store.race_store import RaceStore
from support.records import record


@pytest.mark.process
def test_another_experiment_is_seen_until_its_process_has_ended(tmp_path):
    program = (
        "from pacenote.lab.other_races import announced\nwith announced(): print(1, flush=True); input()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline()
    text = "another experiment runs at the same time"
    assert text in other_races(RaceStore(tmp_path))
    other.kill()
    other.communicate()
    assert text not in other_races(RaceStore(tmp_path))


def test_a_race_that_runs_is_seen_but_not_the_experiment_itself(tmp_path):
    races = RaceStore(tmp_path)
    folder = races.create(record("night", complete=False))
    with announced():
        texts = other_races(races)
    assert "race night runs at the same time" in texts
    assert not any("experiment" in text for text in texts)
    folder.finish(record("night"))
    assert "race night runs at the same time" not in other_races(races)


def test_names_that_any_user_can_take_are_at_most_one_text(tmp_path):
    """A name is ignored if its process does not run, whichever user has taken it."""
    with contextlib.ExitStack() as stack:
        for process in (*range(900_000_000, 900_000_200), os.getppid(), 1):
            taken = stack.enter_context(socket.socket(socket.AF_UNIX))
            with contextlib.suppress(OSError):
                taken.bind(f"\0pacenote-experiment-{process}")
        texts = other_races(RaceStore(tmp_path))
    assert len(texts) <= 2
    assert not any("900" in text for text in texts)


def test_a_line_break_in_the_name_of_a_socket_announces_nothing(tmp_path, monkeypatch):
    """The list of sockets shows names as they are, so that any user can add a line to it."""
    monkeypatch.chdir(tmp_path)
    line = f"{0:016x}: 00000002 00000000 00010000 0001 01 12345 @pacenote-experiment-{os.getppid()}"
    with socket.socket(socket.AF_UNIX) as forged:
        forged.bind(f"x\n{line}")
        assert line in Path("/proc/net/unix").read_text(errors="replace").splitlines()
        assert other_races(RaceStore(tmp_path)) == ()


def test_the_user_of_an_announcement_is_the_one_who_listens(tmp_path):
    """Any user can take a name with the id of a process of root."""
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind("\0pacenote-experiment-1000000000")
        taken.listen(0)
        assert other_races(RaceStore(tmp_path)) == ("another experiment runs at the same time",)
        # The queue of the announcer is full.
        assert other_races(RaceStore(tmp_path)) == ("an experiment of another user runs at the same time",)


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a process of another user")
def test_an_experiment_of_another_user_is_told_apart(tmp_path):
    program = (
        "import os, socket\n"
        "os.setuid(65534)\n"
        "taken = socket.socket(socket.AF_UNIX)\n"
        "taken.bind(f'\\0pacenote-experiment-{os.getpid()}'); taken.listen()\n"
        "print(1, flush=True); input()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline()
    texts = other_races(RaceStore(tmp_path))
    other.kill()
    other.communicate()
    assert "an experiment of another user runs at the same time" in texts


def test_races_that_run_are_one_text(tmp_path):
    races = RaceStore(tmp_path)
    for number in range(5):
        races.create(record(f"night-{number}", complete=False))
    (text,) = (text for text in other_races(races) if "night" in text)
    assert text.startswith("races night-")
    assert text.endswith(" and 2 more run at the same time")


def test_a_journal_notes_no_more_changes_than_it_keeps():
    """What no journal keeps would be new before each block, and be written each time."""
    known: list[str] = []
    for block in range(4):
        others = [f"race {block}-{number} runs" for number in range(MAX_CHANGES)]
        new = new_changes(known, [f"cores {block}"], others)
        assert f"cores {block}" in new
        known += new
    assert len(known) < MAX_CHANGES
    full = [f"cores {number}" for number in range(MAX_CHANGES)]
    assert new_changes(full, ["kernel"], ["a race runs"]) == []
    assert new_changes(["kernel"], ["kernel"], ["a race runs", "a race runs"]) == ["a race runs"]
