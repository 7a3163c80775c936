"""What is known of a race whose record cannot be read: the beginning of `race.json` may be left."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from msgspec.structs import replace

from pacenote.errors import StoreError
from pacenote.model.damaged_race import DamagedRace
from pacenote.model.decoding import parse_json
from pacenote.store.race_folder import RaceFolder
from pacenote.system.paths import exists, written_at
from pacenote.system.regular_files import read_stored_file

# Keys of the record itself are indented by one space; those in it, such as tags of users, by more.
_TIME = re.compile(r'^ "@timestamp": (\d{1,15})\b', re.MULTILINE)
_TRACK = re.compile(r'^ "track": ("(?:[^"\\\n]|\\.)*")', re.MULTILINE)


def damaged_race(folder: RaceFolder) -> DamagedRace | None:
    """Returns what is known of a race whose record cannot be read; None if it can, or if it is gone."""
    try:
        folder.read()
    except StoreError as error:
        advice = error.hint if exists(folder.race_json) else ""
    else:
        return None
    try:
        text = read_stored_file(folder.race_json).decode("utf-8", "replace")
    except OSError:
        text = ""
    try:
        file = folder.race_json if exists(folder.race_json) else folder.path
        written = written_at(file.lstat())
    except OSError:
        return None
    known = DamagedRace(folder.path.name, _began(text) or written, _track(text))
    return replace(known, advice=advice) if advice else known


def _began(text: str) -> datetime | None:
    time = _TIME.search(text)
    try:
        return datetime.fromtimestamp(int(time[1]) / 1000, UTC) if time else None
    except (ValueError, OverflowError, OSError):
        return None


def _track(text: str) -> str:
    """Returns the name of the track; empty if the text does not say so."""
    track = _TRACK.search(text)
    try:
        return str(parse_json(track[1])) if track else ""
    except ValueError:
        return ""
