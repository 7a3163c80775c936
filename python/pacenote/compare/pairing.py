"""Which races of two groups belong together: those of one block of an experiment."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from pacenote.model.comparison import ComparedRace, ComparisonDesign, RaceKey, RunOrder
from pacenote.model.experiment import REPEATS_TAG
from pacenote.model.user_tags import tag_texts
from pacenote.stats.interleaving import run_order
from pacenote.stats.student import MIN_BLOCKS

EXPERIMENT_TAG, VARIANT_TAG, BLOCK_TAG = "experiment", "variant", "block"
"""User tags of a race that is part of a block."""

HALF_TAG = "half"
"""User tag of a race that ran beside the other one of its block."""

_NUMBERED = re.compile(r"(?P<experiment>.+)-(?P<number>\d{3,9})(?:\.\d+)?")
"""The id of a race of an experiment: its number in the plan, and which attempt it is if not the first."""

_FAILED = ("killed", "interrupted", "aborted")
"""States of races that an experiment repeats."""

_NOT_EXCLUDED = "so that a drift of the machine is not excluded"


class ReplacedRace(Struct, frozen=True):
    """A race that is not compared, because its experiment repeated it."""

    race: ComparedRace
    """The race."""

    by: ComparedRace
    """The race that counts instead."""


class PairedRaces(Struct, frozen=True):
    """Two groups of races in the order in which they are compared."""

    design: ComparisonDesign
    """How they belong together."""

    baseline: tuple[ComparedRace, ...]
    """The races of the baseline."""

    contender: tuple[ComparedRace, ...]
    """The races of the contender; if paired, each belongs to the race of the baseline at its position."""

    alone: tuple[ComparedRace, ...] = ()
    """Races without a partner in their block. If the others are paired, these are not compared."""

    repeated: tuple[ReplacedRace, ...] = ()
    """Races that are not compared, because their experiment repeated them, or the whole block."""

    lags: tuple[float, ...] = ()
    """For each pair, the number of races of its block by which the contender came after the baseline;
    negative if it came before, and 0 if the order is unknown.
    """

    @property
    def all(self) -> tuple[ComparedRace, ...]:
        """The races of both groups."""
        return (*self.baseline, *self.contender)

    def part(self, pairs: Sequence[int]) -> PairedRaces:
        """Returns some of the pairs."""
        baseline, contender = ([side[pair] for pair in pairs] for side in (self.baseline, self.contender))
        lags = tuple(self.lags[pair] for pair in pairs)
        return replace(self, baseline=tuple(baseline), contender=tuple(contender), lags=lags)

    @property
    def order(self) -> RunOrder:
        """The order in which the groups ran."""
        old, new = ([race.began for race in side] for side in (self.baseline, self.contender))
        if None in old or None in new:
            return "mixed"
        return run_order([time for time in old if time], [time for time in new if time])

    @property
    def order_problem(self) -> str:
        """Why a drift of the machine may have caused a difference, or may hide one, as a clause; empty if the
        order of the races excludes that, and with one race of each side, which has no verdict.
        """
        if self.design == "unpaired" and self.order != "mixed":
            sides = ("contender", "baseline")
            later, earlier = sides if self.order == "baseline first" else sides[::-1]
            few = "" if self.is_apart else ", except for a few races"
            return f"the {later} ran after the {earlier}{few}, {_NOT_EXCLUDED}"
        if self.design != "paired":
            return ""
        if min(self.lags) > 0 or max(self.lags) < 0:
            side = "baseline" if self.lags[0] > 0 else "contender"
            if is_duet(self.all):
                return (
                    f"the {side} had the first half of the machine in every block, so that a difference "
                    "between the halves is not excluded"
                )
            return f"the {side} ran first in every block, {_NOT_EXCLUDED}"
        return "" if all(self.lags) else f"the order within blocks is unknown, {_NOT_EXCLUDED}"

    @property
    def is_apart(self) -> bool:
        """Whether all races of a group ran before those of the other."""
        old, new = ([race.record.timestamp for race in side] for side in (self.baseline, self.contender))
        return max(old) < min(new) or max(new) < min(old)


def block_of(race: ComparedRace) -> str:
    """Returns the block of a race as `EXPERIMENT/BLOCK`, or empty text if it has no such tags."""
    tags = tag_texts(race.record.user_tags)
    if EXPERIMENT_TAG not in tags or BLOCK_TAG not in tags:
        return ""
    return f"{tags[EXPERIMENT_TAG]}/{tags[BLOCK_TAG]}"


def pair_races(baseline: Sequence[ComparedRace], contender: Sequence[ComparedRace]) -> PairedRaces:
    """Returns the races of both groups in the order in which they are compared.

    They are paired if no race is left over, or if at least `MIN_BLOCKS` pairs and most of the races have a
    partner in their block; not if they share ids.
    """
    if len(baseline) + len(contender) > 2 and share_ids((*baseline, *contender)):
        return PairedRaces("unpaired", _by_time(baseline), _by_time(contender))
    repeated = (*_repeated(baseline), *_repeated(contender))
    out = {one.race.key for one in repeated}
    old, new = ([race for race in side if race.key not in out] for side in (baseline, contender))
    if len(old) == len(new) == 1:
        return PairedRaces("one race each", tuple(old), tuple(new), (), repeated)
    pairs = _last_attempts(_pairs(old, new))
    paired = {race.key for pair in pairs for race in pair}
    planned = [{_planned(pair[at]): pair[at] for pair in pairs if _planned(pair[at])} for at in (0, 1)]
    left = [
        (race, own.get(_planned(race)))
        for side, own in zip((old, new), planned, strict=True)
        for race in side
        if race.key not in paired
    ]
    alone = tuple(race for race, by in left if by is None)
    if not pairs or (alone and (len(pairs) < MIN_BLOCKS or len(paired) <= len(alone))):
        # Without blocks, the races are not expected to have partners.
        named = alone if any(map(block_of, (*old, *new))) else ()
        return PairedRaces("unpaired", _by_time(old), _by_time(new), named, repeated)
    places = _places([race for pair in pairs for race in pair])
    return PairedRaces(
        "paired",
        tuple(one for one, _ in pairs),
        tuple(other for _, other in pairs),
        alone,
        (*repeated, *(ReplacedRace(race, by) for race, by in left if by is not None)),
        tuple(places[other.key] - places[one.key] for one, other in pairs),
    )


def share_ids(races: Sequence[ComparedRace]) -> bool:
    """Returns whether several races have the same id: they are of experiments of two machines that have the
    same id, too, so that their blocks are not told apart.
    """
    return len({race.record.race_id for race in races}) < len(races)


def _repeated(side: Sequence[ComparedRace]) -> tuple[ReplacedRace, ...]:
    """Returns the races of a side that did not finish, or were disturbed, although another one of the variant
    and block did finish, or repeated them.
    """
    complete = [race for race in side if race.state == "complete" and block_of(race)]
    finished: dict[tuple[str, str], list[ComparedRace]] = {}
    repeating: dict[str, list[ComparedRace]] = {}
    for race in complete:
        finished.setdefault(_variant_and_block(race), []).append(race)
        if repeated := tag_texts(race.record.user_tags).get(REPEATS_TAG):
            repeating.setdefault(repeated, []).append(race)
    pairs = []
    for race in side:
        others = finished.get(_variant_and_block(race), []) if race.state in _FAILED else []
        again = (one for one in repeating.get(race.record.race_id, ()) if _repeats(one, race))
        by = next((one for one in (*others, *again) if _may_replace(one, race)), None)
        if by is not None:
            pairs.append(ReplacedRace(race, by))
    return tuple(pairs)


def _repeats(race: ComparedRace, disturbed: ComparedRace) -> bool:
    """Returns whether a race with the tag for it does repeat another one. Everyone can give a race this tag:
    an experiment repeats a race of its plan, later.
    """
    planned, variant = _planned(race), _variant_and_block(race)
    is_same = planned is not None and (planned, variant) == (
        _planned(disturbed),
        _variant_and_block(disturbed),
    )
    return is_same and race.record.timestamp > disturbed.record.timestamp


def _may_replace(race: ComparedRace, other: ComparedRace) -> bool:
    """Returns whether a race can take the place of another one: one that was imported takes that of no other
    race, because a file of another tool may have any id and any tags.
    """
    return race.record.imported is None or other.record.imported is not None


def _planned(race: ComparedRace) -> tuple[str, int] | None:
    """Returns the experiment of a race and its number in the plan, or None if it is of no experiment."""
    match = _NUMBERED.fullmatch(race.record.race_id)
    tags = tag_texts(race.record.user_tags)
    if not match or VARIANT_TAG not in tags or match["experiment"] != tags.get(EXPERIMENT_TAG):
        return None
    return match["experiment"], int(match["number"])


def _variant_and_block(race: ComparedRace) -> tuple[str, str]:
    return tag_texts(race.record.user_tags).get(VARIANT_TAG, ""), block_of(race)


def _pairs(
    baseline: Sequence[ComparedRace], contender: Sequence[ComparedRace]
) -> list[tuple[ComparedRace, ComparedRace]]:
    """Returns the pairs of each block, those races first that are nearest in time, in the order of time."""
    old, new = _by_block(baseline), _by_block(contender)
    pairs = []
    for block, ones in old.items():
        others = new.get(block, [])
        gaps = sorted(
            (abs((other.record.timestamp - one.record.timestamp).total_seconds()), at, its)
            for at, one in enumerate(ones)
            for its, other in enumerate(others)
        )
        taken: tuple[set[int], set[int]] = (set(), set())
        for _, at, its in gaps:
            if at not in taken[0] and its not in taken[1]:
                taken[0].add(at)
                taken[1].add(its)
                pairs.append((ones[at], others[its]))
    return sorted(pairs, key=lambda pair: _time(pair[0]))


def _last_attempts(
    pairs: Sequence[tuple[ComparedRace, ComparedRace]],
) -> list[tuple[ComparedRace, ComparedRace]]:
    """Returns the pairs, which are in the order of time, without those that their experiment repeated. One
    with an imported race takes the place of no other pair.
    """
    imported_first = sorted(pairs, key=lambda pair: all(race.record.imported is None for race in pair))
    last = {_numbers(pair): pair for pair in imported_first}
    return [pair for pair in pairs if last[_numbers(pair)] is pair]


def _numbers(pair: tuple[ComparedRace, ComparedRace]) -> tuple[object, object]:
    """Returns what the attempts of a pair share: the numbers of the races in their plan, if they have one."""
    old, new = (_planned(race) or race.key for race in pair)
    return old, new


def _by_block(races: Sequence[ComparedRace]) -> dict[str, list[ComparedRace]]:
    """Returns the races that have a block by their blocks, both in the order of time."""
    blocks: dict[str, list[ComparedRace]] = {}
    for race in _by_time(races):
        if block := block_of(race):
            blocks.setdefault(block, []).append(race)
    return blocks


def _places(races: Sequence[ComparedRace]) -> dict[RaceKey, float]:
    """Returns the place of each race among those of its block.

    How long races last, and pauses between them, do not count: a fit in units of time would take a slower
    variant for a longer drift.
    """
    by_key: dict[RaceKey, float] = {}
    for block in _by_block(races).values():
        places = [_place(race) for race in block]
        if None not in places:
            by_key |= {race.key: place or 0.0 for race, place in zip(block, places, strict=True)}
        else:
            times = [race.began for race in block]
            known = sorted({time for time in times if time is not None}) if None not in times else []
            for race, time in zip(block, times, strict=True):
                by_key[race.key] = float(known.index(time)) if known and time else 0.0
    return by_key


def is_duet(races: Sequence[ComparedRace]) -> bool:
    """Returns whether the races of each block ran at the same time, each on a half of the machine."""
    return all(HALF_TAG in tag_texts(race.record.user_tags) for race in races)


def _place(race: ComparedRace) -> float | None:
    """Returns the place that the plan of an experiment gives a race, from any one on, or the half of the
    machine that it had while the other race of its block ran on the other one; None if neither is known.
    """
    if race.place is not None:
        return float(race.place)
    half = tag_texts(race.record.user_tags).get(HALF_TAG, "")
    if half in ("1", "2"):
        return float(half)
    planned = _planned(race)
    return None if planned is None else float(planned[1])


def _by_time(races: Sequence[ComparedRace]) -> tuple[ComparedRace, ...]:
    return tuple(sorted(races, key=_time))


def _time(race: ComparedRace) -> tuple[datetime, str]:
    return race.record.timestamp, race.record.race_id
