"""What else races on this machine at the same time."""

import os
import subprocess
import sys

import pytest

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
    text = f"another experiment runs at the same time (process {other.pid})"
    assert text in other_races(RaceStore(tmp_path))
    other.kill()
    other.communicate()
    assert text not in other_races(RaceStore(tmp_path))


def test_a_race_that_runs_is_seen_but_not_the_experiment_itself(tmp_path):
    races = RaceStore(tmp_path)
    folder = races.create(record("night", complete=False))
    with announced():
        found = other_races(races)
    assert "race night runs at the same time" in found
    assert not any(str(os.getpid()) in text for text in found)
    folder.finish(record("night"))
    assert "race night runs at the same time" not in other_races(races)
