"""The part of a race that lists show is that of the whole record, for which a damaged document is refused."""

import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from importers.samples import osb_document, race_document
from pacenote.errors import PacenoteError
from pacenote.importers.documents import races_in_document
from pacenote.importers.records import ImportedFile, race_records
from pacenote.model.headline import headline
from pacenote.model.listed_record import listed_record
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_state import race_state
from pacenote.model.saturation_answer import RecordedSaturation
from pacenote.store.json_file import parse_json
from pacenote.store.race_store import is_race_id
from report.screen import races
from support.records import bulk, paced, record, task

EARLIER = Path(__file__).parents[1] / "store" / "earlier" / "race.json"
FILE = ImportedFile("/tmp/race.json", "ab" * 32, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
WRONG = (None, True, "x", 1.5, -1, 2**63, 2**64, [], {}, [None], {"unknown": 1}, [{"unknown": 1}])
"""Values that most fields cannot have."""


def imported(document: dict) -> RaceRecord:
    (race,) = race_records(races_in_document(document)[0], FILE, {}, is_race_id)
    return race.record


RECORDS = {
    "complete": record(),
    "searches": record(tasks=(task(), paced("slow"), bulk(throughput=None))),
    "unreported": replace(record(), unreported=("index-append", "term")),
    "unfinished": replace(record(tasks=()), complete=False),
    "interrupted": replace(record(), complete=False, interrupted=True),
    "aborted": replace(record(), complete=False, aborted="the disk is full"),
    "saturation": replace(record(), saturation=RecordedSaturation("term", "at least 5 ops/s")),
    "bare schedule": record(challenge=None, user_tags={"run": 4, "disks": ["a"], "password": "x"}),
    "suspect": races.suspect_race(),
    "void": races.void_race(),
    "interrupted start": races.interrupted_start(),
    "imported": imported(race_document()),
    "imported from OpenSearch Benchmark": imported(osb_document()),
}


def text(document: object) -> bytes:
    return json.dumps(document).encode()


def shown(race: RaceRecord) -> tuple[object, ...]:
    """Returns what lists show of a race."""
    cluster = race.cluster
    return (
        *(race.race_id, race.timestamp, race.track.name, race.track.revision, race.challenge, race.car),
        *(cluster.distribution, cluster.version, cluster.build_hash, race.user_tags, race.verdict.state),
        *(race_state(race), headline(race)),
    )


def fully_read(data: bytes) -> tuple[object, ...] | None:
    try:
        return shown(RaceRecord.from_document(parse_json(data)))
    except (PacenoteError, ValueError):
        return None


@pytest.mark.parametrize("name", RECORDS)
def test_what_is_shown_is_that_of_the_whole_record(name):
    data = text(RECORDS[name].to_document())
    listed = listed_record(data)
    assert listed is not None
    assert shown(listed) == fully_read(data)


def places(value: object) -> Iterator[tuple[object, object]]:
    """Yields all objects and lists in a document, with each of their keys."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


def test_a_damaged_document_is_never_shown_as_another_one():
    chance = random.Random(1)
    stored = [replace(RECORDS["suspect"], tasks=RECORDS["suspect"].tasks[:1]), *list(RECORDS.values())[6:8]]
    listed = refused = 0
    for race in stored:
        document = race.to_document()
        data, count = text(document), len(list(places(document)))
        for number in chance.sample(range(count), 120):
            damaged = json.loads(data)
            owner, key = next(itertools.islice(places(damaged), number, None))
            if isinstance(owner, dict) and chance.random() < 0.2:
                del owner[key]
            else:
                owner[key] = chance.choice(WRONG)
            damaged_data = text(damaged)
            found = listed_record(damaged_data)
            listed += found is not None
            refused += found is None
            if found is not None:
                assert shown(found) == fully_read(damaged_data), (key, owner)
    assert listed > 30
    assert refused > 120


@pytest.mark.parametrize("value", WRONG, ids=str)
def test_a_damaged_key_of_a_race_is_never_shown_as_another_one(value):
    document = replace(record(), tasks=()).to_document()
    for key in RECORDS["complete"].to_document():
        data = text(document | {key: value})
        found = listed_record(data)
        assert found is None or shown(found) == fully_read(data), key


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000),
        text(record().to_document())[:-1],
        text(record().to_document() | {"seed": float("nan")}),
        text(record().to_document() | {"telemetry": {"n": 1}}).replace(b'"n": 1', b'"n": 1e999'),
        text(record().to_document() | {"format": 3}),
        text(record().to_document() | {"race-timestamp": "yesterday"}),
        text({key: value for key, value in record().to_document().items() if key != "race-id"}),
    ],
)
def test_other_data_are_refused(data):
    assert listed_record(data) is None


def test_a_race_of_an_earlier_version_is_left_to_the_whole_reading():
    data = EARLIER.read_bytes()
    assert fully_read(data) is not None
    assert listed_record(data) is None
