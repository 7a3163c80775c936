"""What lists show of a metrics store beside what this machine has."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from pacenote.cli.console import Console
from pacenote.cli.options.metrics_store import store_client
from pacenote.errors import StoreError
from pacenote.model.race_time import valid_timestamp
from pacenote.store.race_index import RaceFilter, RaceSummary

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.metrics_store.client import StoreClient
    from pacenote.store.annotations import Annotation

HERE = "here"
"""How lists mark what is only on this machine."""

STORE = "store"
"""How lists mark what is only in the metrics store."""

BOTH = "here, store"
"""How lists mark what is on this machine and in the metrics store."""

_LISTED_HERE = "only what is on this machine is listed"

_T = TypeVar("_T")


class ListedRace(Struct, frozen=True):
    """A race in a list."""

    summary: RaceSummary
    """What the list shows of it."""

    place: str = ""
    """Where it is; empty if there is no metrics store."""

    document: Mapping[str, Any] | None = None
    """Its document in the metrics store, or None if it is not there."""


def stored_races(
    options: argparse.Namespace, criteria: RaceFilter, console: Console
) -> list[ListedRace] | None:
    """Returns the races that match in the metrics store, or None if there is none or it does not answer,
    which is a warning.
    """
    documents = _answer(options, console, lambda client: _documents(client, options, criteria))
    if documents is None:
        return None
    return [ListedRace(_summary(one["race-id"], one), STORE, one) for one in documents]


def merged_races(own: Sequence[RaceSummary], stored: Sequence[ListedRace], limit: int) -> list[ListedRace]:
    """Returns races of this machine and of the store, newest first, each with where it is. What this machine
    has of a race is shown, because its folder has all of it. Races with the same id that began at different
    times are different races.
    """
    only_stored = {(race.summary.race_id, race.summary.timestamp): race for race in stored}
    races = []
    for race in own:
        key = race.race_id, race.timestamp
        in_store = key in only_stored and _may_be_same(race, only_stored[key].summary)
        if in_store:
            del only_stored[key]
        races.append(ListedRace(race, BOTH if in_store else HERE))
    races += only_stored.values()
    races.sort(key=_time, reverse=True)
    return races[:limit]


def _time(race: ListedRace) -> str:
    """Returns what races are sorted by. A race of this machine that cannot be read has no time, and comes
    first, as without a store. Others may have written a race of the store: without a time, it is the last
    one, so that it hides no other race.
    """
    return race.summary.timestamp or ("" if race.place == STORE else "9")


def _may_be_same(own: RaceSummary, stored: RaceSummary) -> bool:
    """Returns whether races with the same id that began in the same second may be the same race: what is
    known of both does not differ.
    """
    facts = ((race.track, race.challenge, race.version, race.revision) for race in (own, stored))
    return all(not here or not there or here == there for here, there in zip(*facts, strict=True))


def merged_annotations(
    own: Sequence[Annotation],
    options: argparse.Namespace,
    console: Console,
    without_store: str = _LISTED_HERE,
) -> list[tuple[Annotation, str]]:
    """Returns annotations of this machine and of the store, newest first, each with where it is; empty texts
    if there is no store, or if it does not answer, of which a warning begins with `without_store`.
    """
    fetched = _answer(options, console, lambda client: _annotations(client, console), without_store)
    if fetched is None:
        return [(one, "") for one in own]
    stored = {one.annotation_id: one for one in fetched if one.environment == options.configured_environment}
    here = {one.annotation_id for one in own}
    merged = [(one, BOTH if one.annotation_id in stored else HERE) for one in own]
    merged += [(one, STORE) for key, one in stored.items() if key not in here]
    return sorted(merged, key=lambda entry: entry[0].order, reverse=True)


def _answer(
    options: argparse.Namespace,
    console: Console,
    ask: Callable[[StoreClient], _T],
    without_store: str = _LISTED_HERE,
) -> _T | None:
    """Returns what the store answers, or None without one; that it does not answer is a warning."""
    client = store_client(options)
    if client is None:
        return None
    try:
        return ask(client)
    except StoreError as error:
        hint = f"; {error.hint}" if error.hint else ""
        console.warning(f"{without_store}: {error.message}{hint}")
        return None
    finally:
        client.close()


def _documents(
    client: StoreClient, options: argparse.Namespace, criteria: RaceFilter
) -> list[dict[str, Any]]:
    from pacenote.metrics_store.store import MetricsStore, StoreQuery

    query = StoreQuery(
        environment=options.configured_environment,
        limit=criteria.limit,
        track=criteria.track,
        challenge=criteria.challenge,
        benchmark_name=criteria.benchmark_name,
        from_date=criteria.from_date,
        to_date=criteria.to_date,
        user_tags=criteria.user_tags,
    )
    return MetricsStore(client).races(query)


def _annotations(client: StoreClient, console: Console) -> list[Annotation]:
    from pacenote.metrics_store.store_annotations import StoreAnnotations

    return StoreAnnotations(client).list(console.warning)


def _summary(race_id: str, document: Mapping[str, Any]) -> RaceSummary:
    """Returns what a list shows of a race that Rally or Pacenote has stored."""
    from pacenote.model.engine import engine_of_version

    cluster = document.get("cluster")
    facts: Mapping[str, Any] = cluster if isinstance(cluster, dict) else {}
    tags, car = document.get("user-tags"), document.get("car")
    version = _text(facts.get("distribution-version"))
    return RaceSummary(
        race_id=race_id,
        timestamp=valid_timestamp(_text(document.get("race-timestamp"))),
        track=_text(document.get("track")),
        track_revision=_text(document.get("track-revision")),
        challenge=_text(document.get("challenge")),
        car="+".join(filter(None, map(_text, car))) if isinstance(car, list) else _text(car),
        distribution=(engine_of_version(version) or "") if version else "",
        version=version,
        revision=_text(facts.get("revision")),
        user_tags=tags if isinstance(tags, dict) else {},
        verdict="",
        state="complete",
        headline="",
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
