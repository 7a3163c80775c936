"""`pacenote list races`: a table that fits a terminal, or everything as JSON in Rally's form."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pacenote.cli.console import Console
from pacenote.cli.metrics_store.listing import STORE, ListedRace, merged_races, stored_races
from pacenote.cli.output.tables import Fit, table
from pacenote.errors import StoreError
from pacenote.figures.rally_results import stored_document
from pacenote.model.output_text import json_text
from pacenote.model.race_time import FUTURE, is_in_future, parse_timestamp
from pacenote.model.user_tags import tag_texts
from pacenote.store.race_index import RaceFilter, RaceSummary
from pacenote.store.race_store import RaceStore, check_home

_HEADERS = ("ID", "Age", "Track", "Engine", "Car", "Tags", "Result", "State")
_SHORTENED = ((5, 12), (4, 16), (2, 18), (6, 34), (2, 12), (6, 16), (3, 12))
"""Columns to shorten if a line is too long, in this order, to a width: tags, car, track, result, engine."""

_DROPPED = (5, 1, 4)
"""Columns to drop before others lose more than their ends, in this order: tags, age, car."""

_WIDTH = 120
"""Width of the table where there is no terminal."""

_AGES = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def list_races(options: argparse.Namespace, console: Console) -> str:
    """Returns the races that match the options, newest first. Raises StoreError."""
    store = RaceStore()
    check_home(store.home)
    criteria = RaceFilter(
        limit=options.limit,
        track=options.track,
        challenge=options.challenge,
        benchmark_name=options.benchmark_name,
        from_date=options.from_date,
        to_date=options.to_date,
        user_tags=options.user_tags,
    )
    races = [ListedRace(race) for race in store.list(criteria)]
    stored = stored_races(options, criteria, console)
    if stored is not None:
        races = merged_races([race.summary for race in races], stored, options.limit)
    if options.format == "json":
        return json_text({"races": [_document(race, store) for race in races]})
    if not races:
        return "No races found.\n"
    ids = store.short_ids(race.summary.race_id for race in races)
    return race_table(races, ids, datetime.now(UTC), console.result_width or _WIDTH)


def race_table(
    races: Sequence[ListedRace],
    ids: Mapping[str, str],
    now: datetime,
    width: int,
) -> str:
    """Returns one line per race, of at most `width` columns; `ids` are the short ids of the races."""
    rows = [_cells(race.summary, ids[race.summary.race_id], now) for race in races]
    headers: tuple[str, ...] = _HEADERS
    if any(race.place for race in races):
        headers = (*_HEADERS, "Where")
        rows = [[*cells, race.place] for race, cells in zip(races, rows, strict=True)]
    return table(headers, rows, Fit(width, _SHORTENED, _DROPPED))


def _cells(race: RaceSummary, short_id: str, now: datetime) -> list[str]:
    track = " / ".join(name for name in (race.track, race.challenge) if name)
    state = race.verdict if race.state == "complete" else race.state
    return [
        *(short_id, _age(race.timestamp, now), track, f"{race.distribution} {race.version}".strip()),
        *(race.car, _tags(race.user_tags), race.headline, state),
    ]


def _tags(given: Mapping[str, object]) -> str:
    """Returns user tags; of a race of an experiment, first what it is: `2g block 3 of heap-1`."""
    tags = dict(tag_texts(given))
    own = ""
    if {"experiment", "variant", "block"} <= tags.keys():
        own = f"{tags.pop('variant')} block {tags.pop('block')} of {tags.pop('experiment')}"
    elif {"experiment", "warm-up"} <= tags.keys():
        own = f"{tags.pop('warm-up')} warm-up of {tags.pop('experiment')}"
    return ", ".join(filter(None, (own, *(f"{name}={value}" for name, value in tags.items()))))


def _age(timestamp: str, now: datetime) -> str:
    if not timestamp:
        return ""
    return age_text(parse_timestamp(timestamp), now)


def age_text(began: datetime, now: datetime) -> str:
    """Returns how long ago something began, or that this lies in the future; empty for a moment ago."""
    if is_in_future(began, now):
        return FUTURE
    seconds = int((now - began).total_seconds())
    return next((f"{seconds // length} {unit}" for length, unit in _AGES if seconds >= length), "")


def _document(race: ListedRace, store: RaceStore) -> dict[str, Any]:
    """Returns the record of a race as in Rally's list, with the state of the race, and where it is if there
    is a metrics store.
    """
    document: dict[str, Any] = {"race-id": race.summary.race_id}
    if race.place == STORE:
        document = dict(race.document or document)
    else:
        with contextlib.suppress(StoreError):
            document = stored_document(store.exact_folder(race.summary.race_id).read())
    places = {"stored-in": race.place.split(", ")} if race.place else {}
    return document | {"state": race.summary.state} | places
