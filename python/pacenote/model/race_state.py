"""How far a race is, or how it ended, independent of whether its results may be used."""

from __future__ import annotations

from typing import Literal

from pacenote.model.race_record import RaceRecord

RaceState = Literal["complete", "interrupted", "aborted", "unfinished", "running", "killed", "unreadable"]
"""An `unfinished` race is running or was killed, which the lock of its folder distinguishes; the `race.json`
of an `unreadable` one is damaged.
"""


def race_state(record: RaceRecord) -> RaceState:
    """Returns the state of a race according to its record."""
    if record.complete:
        return "complete"
    if record.interrupted:
        return "interrupted"
    return "aborted" if record.aborted else "unfinished"
