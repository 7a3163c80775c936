"""What the record of a planned race states, by which it is told from that of another race under its id: one
that was copied into the home, or that took the place of a deleted one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from pacenote.model.experiment import PlannedRace
from pacenote.model.race_record import RaceRecord
from pacenote.model.secrets import redact_params
from pacenote.model.user_tags import tag_texts

_CLOCK_STEP = timedelta(minutes=1)
"""How far the clock may have been set back after the journal said that a race begins."""


class PlannedRecord(Struct, frozen=True):
    """What the record of a planned race has to state."""

    seed: int
    """Its seed, which was drawn: others cannot know it unless the user gave it."""

    tags: Mapping[str, str]
    """The tags that name its place in the plan."""

    started: str = ""
    """When the journal says that it began, in UTC (ISO 8601); empty if that is not known."""

    def problem(self, record: RaceRecord, *, is_of_past: bool = False) -> str:
        """Returns why a record is not that of the planned race; empty if it is. One that has counted before,
        `is_of_past`, may be of an earlier version and lack tags.
        """
        if record.imported is not None:
            return "its record is that of another race: it was imported"
        if record.seed != self.seed:
            return f"its record is that of another race: its seed is {record.seed}, not {self.seed}"
        stated = tag_texts(record.user_tags)
        for name, value in tag_texts(redact_params(self.tags)).items():
            if stated.get(name, value if is_of_past else None) != value:
                return f"its record is that of another race: its tag '{name}' is not '{value}'"
        if (began := _moment(self.started)) is not None and record.timestamp < began - _CLOCK_STEP:
            return f"its record is that of another race: it began before {self.started}"
        return ""


def experiment_tags(experiment_id: str, race: PlannedRace) -> dict[str, str]:
    """Returns the tags that name the place of a race in the plan of an experiment."""
    # A race that warms up is part of no block, and not one of those of its variant.
    place = {"variant": race.variant, "block": str(race.block)} if race.block else {"warm-up": race.variant}
    return {"experiment": experiment_id, **place}


def search_tags(tune_id: str, candidate: int, block: int) -> dict[str, str]:
    """Returns the tags that name the place of a race in a search."""
    return {"tune": tune_id, "candidate": str(candidate), **({"block": str(block)} if block else {})}


def _moment(text: str) -> datetime | None:
    """Returns a time of a journal; None if it is not one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
