"""Finds the stored races of a track that may form a trend: those like the newest one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from pacenote.errors import StoreError
from pacenote.model.comparison import ComparedRace, RaceKey
from pacenote.model.damaged_race import DamagedRace
from pacenote.model.messages import list_with_rest
from pacenote.model.race_time import is_in_future, parse_timestamp
from pacenote.store.damaged_races import damaged_race
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_groups import FoundGroup, read_compared_race
from pacenote.store.race_index import RaceFilter, RaceSummary
from pacenote.store.race_store import RaceStore
from pacenote.units import format_count

EXPERIMENT_TAG = "experiment"
"""User tag of races whose order is part of the design of an experiment."""

_ALL = 1 << 31
_NAMED = 3
"""Maximum number of races, and of tracks, that a sentence names."""


def find_track_races(store: RaceStore, criteria: RaceFilter, like: str = "") -> FoundGroup:
    """Returns the races that match and have the track, the challenge, the cars and the kind of engine of the
    race with the id `like` or, without one, of the newest one that may be used: at most `limit` that may be,
    and the others among these.

    Only what the index has is compared, so that few races of a large store are read. Raises StoreError if no
    race matches, or if `like` is not among them or cannot be read.
    """
    matching = store.list(replace(criteria, limit=_ALL))
    damaged = [race for race in store.list(RaceFilter(limit=_ALL)) if race.state == "unreadable"]
    readable = [race for race in matching if race.state != "unreadable"]
    # They would be the newest ones, which a trend judges, for ever.
    future = {race.race_id: race for race in readable if race.race_id != like and _is_of_future(race)}
    readable = [race for race in readable if race.race_id not in future]
    if not readable:
        raise _no_races(store, damaged)
    with_experiments = EXPERIMENT_TAG in criteria.user_tags
    usable = [race for race in readable if is_usable(race, with_experiments=with_experiments)]
    model = _race_like(readable, like) if like else (usable or readable)[0]
    same = [race for race in readable if _is_like(race, model)]
    wanted, older = _newest(same, criteria.limit, with_experiments=with_experiments)
    others = [] if like else [race for race in readable if not _is_like(race, model)]
    races, folders, left_out = dict[RaceKey, ComparedRace](), dict[RaceKey, Path](), list[str]()
    renamed: list[str] = []
    for summary in wanted:
        folder = RaceFolder(store.races / summary.race_id)
        try:
            race = read_compared_race(folder)
        except StoreError as error:
            left_out.append(error.message)
            continue
        races[race.key], folders[race.key] = race, folder.path
        renamed += [folder.other_name] if folder.other_name else []
    more = len(left_out) - _NAMED
    left_out[_NAMED:] = [f"{format_count(more, 'more race')} cannot be read"] if more > 0 else []
    newest = f"the newest {criteria.limit}"
    texts = (*left_out, *_texts(damaged, others, older, newest), *_of_future(list(future)))
    bad = tuple(_damaged(store, damaged, criteria))
    return FoundGroup(tuple(races.values()), folders, texts, bad, tuple(renamed[:_NAMED]))


def _damaged(store: RaceStore, damaged: Sequence[RaceSummary], criteria: RaceFilter) -> Iterator[DamagedRace]:
    """Yields the unreadable races that may match: their tracks and times may be known, but not their tags."""
    for summary in damaged:
        race = damaged_race(RaceFolder(store.races / summary.race_id))
        if race is None or (criteria.track and race.track not in ("", criteria.track)):
            continue
        day = race.began.date()
        if (criteria.from_date is None or criteria.from_date <= day) and (
            criteria.to_date is None or day <= criteria.to_date
        ):
            yield race


def _race_like(races: Iterable[RaceSummary], race_id: str) -> RaceSummary:
    for race in races:
        if race.race_id == race_id:
            return race
    raise StoreError(f"race '{race_id}' does not exist or cannot be read")


def is_usable(race: RaceSummary, *, with_experiments: bool = False) -> bool:
    """Returns whether a race can be a part of a trend: it is complete, not void, and of no experiment unless
    such races are wanted.
    """
    is_of_experiment = EXPERIMENT_TAG in race.user_tags and not with_experiments
    return race.state == "complete" and race.verdict != "void" and not is_of_experiment


def _kind(race: RaceSummary) -> tuple[str, ...]:
    return race.track, race.challenge, race.car, race.distribution


def _is_like(race: RaceSummary, model: RaceSummary) -> bool:
    """Returns whether a race has the track, the challenge, the cars and the kind of engine of another one.
    One that did not finish may not know all of them.
    """
    pairs = zip(_kind(race), _kind(model), strict=True)
    return all(known == wanted or (not known and race.state != "complete") for known, wanted in pairs)


def _newest(
    races: Sequence[RaceSummary], limit: int, *, with_experiments: bool
) -> tuple[list[RaceSummary], int]:
    """Returns the newest races, until `limit` of them may be used, and the number of older ones."""
    newest, usable = list[RaceSummary](), 0
    for race in races:
        if usable == limit:
            break
        newest.append(race)
        usable += is_usable(race, with_experiments=with_experiments)
    return newest, len(races) - len(newest)


def _texts(
    damaged: Sequence[RaceSummary], others: Iterable[RaceSummary], older: int, newest: str
) -> Iterator[str]:
    if damaged:
        names = list_with_rest([race.race_id for race in damaged], _NAMED)
        yield f"{format_count(len(damaged), 'race')} cannot be read: {names}"
    counts = Counter(_kind_text(race) for race in others)
    if counts:
        listed = [f"{name} ({count})" for name, count in counts.most_common()]
        total = format_count(sum(counts.values()), "race is", "races are")
        yield f"{total} of another track, challenge, car or engine: {list_with_rest(listed, _NAMED)}"
    if older:
        yield f"{format_count(older, 'race is', 'races are')} older than {newest}"


def _of_future(race_ids: Sequence[str]) -> Iterator[str]:
    if race_ids:
        count = format_count(len(race_ids), "race says", "races say")
        yield f"{count} to have begun in the future: {list_with_rest(race_ids, _NAMED)}"


def _is_of_future(race: RaceSummary) -> bool:
    return is_in_future(parse_timestamp(race.timestamp))


def _kind_text(race: RaceSummary) -> str:
    names = " / ".join(name for name in (race.track, race.challenge) if name)
    return ", ".join(name for name in (names, race.car, race.distribution) if name)


def _no_races(store: RaceStore, damaged: Sequence[RaceSummary]) -> StoreError:
    if damaged:
        names = list_with_rest([race.race_id for race in damaged], _NAMED)
        return StoreError(
            f"no race in {store.races} matches; not readable: {names}",
            hint="`pacenote list races` shows what there is",
        )
    return StoreError(f"no race in {store.races} matches", hint="`pacenote list races` shows what there is")
