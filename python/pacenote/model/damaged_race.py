"""Stored races whose record cannot be read."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct


class DamagedRace(Struct, frozen=True):
    """A race whose record cannot be read, with what is known of it."""

    name: str
    """The name of its folder."""

    began: datetime
    """When it began or, if its file does not say so, when the file was written last."""

    track: str = ""
    """The name of its track; empty if its file does not say so."""

    advice: str = "repair or delete the folder"
    """What to do, such as to use another version of Pacenote."""
