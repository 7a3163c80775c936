"""What is known of races whose records cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

from pacenote.model.race_record import RecordedTrack
from pacenote.store.damaged_races import damaged_race
from pacenote.store.race_store import RaceStore
from support.records import BEGAN, record


def test_the_track_and_the_time_are_known_wherever_the_file_is_cut_off_behind_them(tmp_path: Path):
    """Tags of users that are named like them are not taken for them, also if only they are left."""
    name = 'logs "2026" \\ ü'
    tags = {"track": "other", "@timestamp": 1}
    folder = RaceStore(tmp_path).create(record("race", track=RecordedTrack(name), user_tags=tags))
    text = folder.race_json.read_text()
    head = text.index('\n "track"')
    known = text.index("\n", head + 1)
    for end in (head, *range(known, len(text) - 2, 101), len(text) - 2):
        folder.race_json.write_text(text[:end])
        damaged = damaged_race(folder)
        assert damaged is not None
        assert damaged.track == (name if end >= known else "")
        assert damaged.began == BEGAN
    # Then only the file itself says when.
    lines = text[:-2].splitlines(keepends=True)
    folder.race_json.write_text(
        "".join(line for line in lines if not line.startswith((' "track"', ' "@time')))
    )
    os.utime(folder.race_json, (5e8, 5e8))
    damaged = damaged_race(folder)
    assert damaged is not None
    assert (damaged.track, damaged.began.timestamp()) == ("", 5e8)
