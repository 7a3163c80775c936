"""Makes the record of an imported race."""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from pacenote.importers.found_race import FoundRace, RaceFacts
from pacenote.importers.names import public_name
from pacenote.model.engine import engine_of_version
from pacenote.model.imported import UNSTATED_TIME, ImportedResults, ImportedValue
from pacenote.model.printable import encodable_value
from pacenote.model.race_ids import is_among, is_taken_for_another
from pacenote.model.race_record import Environment, RaceRecord, RecordedCluster, RecordedTrack
from pacenote.model.recorded_options import RecordedOptions
from pacenote.model.secrets import redact_params, redact_urls
from pacenote.verdict.imported_rules import imported_verdict

_FACTS = {
    UNSTATED_TIME: "timestamp",
    "track": "track",
    "challenge": "challenge",
    "car": "car",
    "engine version": "version",
    "version of the tool": "tool_version",
}
"""What a report says is not known → the field of `RaceFacts`."""


class ImportedFile(Struct, frozen=True):
    """A file with races."""

    path: str
    """Its path."""

    sha256: str
    """SHA-256 of its content, as hexadecimal digits."""

    imported_at: datetime
    """When it is imported: the time of races whose time the file does not state."""


class NewRace(Struct, frozen=True):
    """An imported race that is not stored yet."""

    record: RaceRecord
    """Its record."""

    side: Literal["", "baseline", "contender"]
    """Which race of a comparison it is; empty for any other file."""

    replaced_id: str = ""
    """The id that the file states, if the race has another one; otherwise empty."""


def race_records(
    races: tuple[FoundRace, ...],
    file: ImportedFile,
    user_tags: Mapping[str, object],
    is_race_id: Callable[[str], bool],
    stored: Sequence[str] = (),
) -> tuple[NewRace, ...]:
    """Returns the records of the races in a file, with additional tags.

    A race keeps its id if that is unique in the file and `is_race_id` accepts it; other ids follow from the
    content of the file, so that the same file gives the same ids. `stored` are the sorted ids of stored
    races, for none of which an id may be taken.
    """
    named = Counter(race.facts.race_id for race in races)
    beside = sorted(filter(None, named))
    records = []
    for number, race in enumerate(races):
        given = race.facts.race_id
        derived = _derived_id(file.sha256, number)
        keeps = given is not None and is_race_id(given) and named[given] == 1
        if given is not None and keeps and not is_among(given, stored):
            alike = is_taken_for_another(given, stored) or is_taken_for_another(given, beside)
            # The file may have been imported when there was such an id.
            keeps = not alike and not is_among(derived, stored)
        race_id = given if given is not None and keeps else derived
        replaced = "" if keeps else _name(given)
        records.append(NewRace(_record(race, race_id, file, user_tags), race.side, replaced))
    return tuple(records)


def _derived_id(sha256: str, number: int) -> str:
    digest = hashlib.sha256(f"{sha256} {number}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16]))


def _record(race: FoundRace, race_id: str, file: ImportedFile, user_tags: Mapping[str, object]) -> RaceRecord:
    facts = race.facts
    tags = {**facts.user_tags, **({"cluster": race.cluster} if race.cluster else {}), **user_tags}
    imported = ImportedResults(
        tool=facts.tool,
        form=race.form,
        file=redact_urls(encodable_value(file.path)),
        sha256=file.sha256,
        tool_version=_name(facts.tool_version) or None,
        side=race.side,
        unstated=_unstated(facts),
        contradictions=tuple(map(_name, race.contradictions)),
        averaged_runs=facts.averaged_runs,
        values=tuple(map(_public, race.values)),
    )
    record = RaceRecord(
        race_id=race_id,
        timestamp=facts.timestamp or file.imported_at,
        track=RecordedTrack(
            _name(facts.track), _name(facts.track_revision) or None, encodable_value(dict(facts.track_params))
        ),
        challenge=_name(facts.challenge) or None,
        pipeline=_name(facts.pipeline),
        car=tuple(map(_name, facts.car)),
        car_params=encodable_value(dict(facts.car_params)),
        user_tags=encodable_value(dict(tags)),
        cluster=RecordedCluster(
            distribution=engine_of_version(facts.version) if facts.version else None,
            version=_name(facts.version) or None,
            flavor=_name(facts.flavor) or None,
            build_hash=_name(facts.build_hash) or None,
        ),
        environment=Environment(name=_name(facts.environment)),
        options=RecordedOptions(
            plugin_params=redact_params(encodable_value(dict(facts.plugin_params))),
            team_revision=_name(facts.team_revision) or None,
        ),
        imported=imported,
        complete=True,
    )
    return replace(record, verdict=imported_verdict(record, imported))


def _unstated(facts: RaceFacts) -> tuple[str, ...]:
    return tuple(name for name, field in _FACTS.items() if not getattr(facts, field))


def _name(text: str | None) -> str:
    """Returns a name from a file that may not state it."""
    return public_name(text or "")


def _public(value: ImportedValue) -> ImportedValue:
    return replace(value, metric=_name(value.metric), task=_name(value.task), unit=_name(value.unit))
