"""What comes next in a search, from nothing but its journal, so that a search that was killed goes on as if
it had not been; pure.

The default races first, alone: this warms up the machine and shows how long a race takes. As many candidates
as the budget carries then race in blocks; after each block, those that are shown to be weaker drop out, and
others that the optimiser suggests take their places. The time of the confirmation is reserved from the
beginning: the search ends before the block that would need it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from statistics import fmean, median

from msgspec import Struct

from pacenote.lab.tune.candidates import combinations, default_levels, settings
from pacenote.lab.tune.progress import MAX_FAILURES, TuneProgress
from pacenote.lab.tune.suggest import drawn_candidates, suggested_candidates
from pacenote.model.tune import DEFAULT, Candidate, Constraint, Drop
from pacenote.stats.absolute_effect import OperationCount
from pacenote.stats.one_sided import Bounds, error_rate_bounds, mean_bounds
from pacenote.stats.successive_racing import MIN_BLOCKS, weaker_candidates
from pacenote.units import format_count, format_seconds

WARM_UPS = 2
"""Races of the default before the first block. The first one may install the engine and generate the data;
the second one shows how long a race takes.
"""

MAX_CANDIDATES = 12
"""Largest number of candidates that race at the same time, the default included."""

FEWEST_CANDIDATES = 3
"""Smallest number of candidates that a budget must carry, unless the knobs have fewer combinations."""

NEWCOMER_BLOCKS = MIN_BLOCKS + 1
"""Blocks that the budget must carry for a candidate that joins."""

MAX_BLOCKS = 50
"""Blocks after which the search ends, whatever is left of the budget."""

NEARLY_EQUAL = 0.01
"""Share of the objective by which candidates may differ so that the one with fewer changes wins."""

SEEDS = 4
"""Seeds of the search, which its blocks take in turn: a generated corpus is kept on the disk for each of
them. The confirmation has other ones.
"""

_RESERVE = 1.2
"""How much longer the races of the confirmation may take than those of the search."""


class Suggest(Struct, frozen=True):
    """New candidates race from now on."""

    candidates: tuple[Candidate, ...]
    """The candidates."""


class Race(Struct, frozen=True):
    """A candidate races."""

    candidate: int
    """Its number."""

    block: int
    """The block; 0 for the race before the first block."""

    seed: int
    """The seed of the block."""


class EndBlock(Struct, frozen=True):
    """A block is complete."""

    block: int
    """The block."""

    dropped: tuple[Drop, ...]
    """The candidates that drop out."""


class Choose(Struct, frozen=True):
    """The search is over."""

    candidate: int
    """The winner."""

    reason: str
    """Why it is over."""


class Confirm(Struct, frozen=True):
    """The winner races against the default."""

    candidate: int
    """The winner."""


class Stop(Struct, frozen=True):
    """The search cannot go on."""

    reason: str
    """Why."""


Step = Suggest | Race | EndBlock | Choose | Confirm | Stop | None
"""What comes next; None if nothing does."""


def next_step(state: TuneProgress) -> Step:
    """Returns what comes next."""
    if state.stopped:
        return None
    if state.chosen is not None:
        return None if state.chosen.candidate == DEFAULT else Confirm(state.chosen.candidate)
    if state.lost_races() >= MAX_FAILURES:
        return Stop(_default_failure(state))
    if not state.candidates:
        default = Candidate(DEFAULT, default_levels(state.plan.knobs), "default")
        return Suggest((default,))
    if sum(end.objective is not None for end in state.ends) < WARM_UPS:
        return Race(DEFAULT, 0, block_seed(state, 0))
    if len(state.candidates) == 1:
        return _first_candidates(state)
    return _in_block(state)


def reserved_seconds(state: TuneProgress) -> float:
    """Returns the seconds that the confirmation will take: as if the slower one of the default and the best
    candidate so far raced alone.
    """
    means = state.means().means
    best = max(
        (candidate for candidate in means if candidate in state.active),
        key=lambda candidate: means[candidate],
        default=DEFAULT,
    )
    seconds_per_race = max(state.seconds_of(DEFAULT), state.seconds_of(best))
    return state.plan.confirm_blocks * (_RESERVE * 2 * seconds_per_race + _preparation_seconds(state))


def _preparation_seconds(state: TuneProgress) -> float:
    """Returns how much longer the first race with a new seed takes, because it may generate data: each block
    of the confirmation has a seed of its own.
    """
    delays = []
    for block in range(1, SEEDS):
        first, *others = [end.seconds for end in state.ends if end.block == block] or [0.0]
        delays += [first - median(others)] if others else []
    return max(0.0, median(delays)) if delays else 0.0


def best_candidate(state: TuneProgress) -> int:
    """Returns the candidate with the best lower bound of the objective among those that still race, have been
    in enough blocks, and keep the limits as far as their medians show; among nearly equal ones, that with the
    fewest changes.
    """
    reached = state.means()
    most = max((reached.blocks.get(candidate, 0) for candidate in state.active), default=0)
    enough = [
        candidate
        for candidate in state.active
        if reached.blocks.get(candidate, 0) >= min(MIN_BLOCKS, max(1, most))
    ]
    kept = [candidate for candidate in enough if not broken_limits(state, candidate)]
    bounds = {candidate: reached.lower_bound(candidate) for candidate in kept}
    best = max(bounds.values(), default=0.0)
    near = [candidate for candidate in kept if bounds[candidate] > best - NEARLY_EQUAL]
    return min(
        near,
        key=lambda candidate: (_changes(state, candidate), -bounds[candidate], candidate),
        default=DEFAULT,
    )


def _changes(state: TuneProgress, candidate: int) -> int:
    return len(settings(state.plan.knobs, state.candidates[candidate].levels))


def broken_limits(state: TuneProgress, candidate: int) -> tuple[Constraint, ...]:
    """Returns the limits beyond which the median of a candidate's races is."""
    return tuple(
        limit
        for at, limit in enumerate(state.plan.constraints)
        if (values := state.limit_values(candidate, at)) and limit.is_broken_by(median(values))
    )


def limit_bounds(limit: Constraint, values: Sequence[float], operations: Sequence[int]) -> Bounds:
    """Returns the bounds of the one-sided 95 % intervals of the mean of a metric with a limit, from at least
    two races: the geometric mean if all values are above 0 and it is not an error rate.

    `operations` has the number of measured operations of each race. An error rate of an unknown number of
    them may have any value.
    """
    if not limit.is_error_rate:
        return mean_bounds(values, in_histograms=limit.is_time)
    if len(operations) != len(values) or min(operations) <= 0:
        return 0.0, 100.0
    races = [
        OperationCount(min(round(max(value, 0.0) / 100 * count), count), count)
        for value, count in zip(values, operations, strict=True)
    ]
    low, high = error_rate_bounds(races)
    return 100 * low, 100 * high


def block_seed(state: TuneProgress, block: int) -> int:
    """Returns the seed of the races of a block."""
    return Random(f"pacenote tune {state.plan.seed} block {block % SEEDS}").getrandbits(63)


def _left(state: TuneProgress) -> float:
    """Returns the seconds that the search may still take."""
    return state.budget_s - state.seconds - reserved_seconds(state)


def needed_seconds(state: TuneProgress) -> float:
    """Returns the seconds that a search needs at least from now on whose budget was too small; 0 for any
    other.
    """
    if not state.stopped or state.lost_races() >= MAX_FAILURES:
        return 0.0
    return _fewest_races(state) * state.seconds_of(DEFAULT)


def _fewest_races(state: TuneProgress) -> int:
    """Returns how many races the fewest candidates and the confirmation need."""
    candidates = min(FEWEST_CANDIDATES, combinations(state.plan.knobs))
    return candidates * NEWCOMER_BLOCKS + math.ceil(_RESERVE * 2 * state.plan.confirm_blocks)


def _first_candidates(state: TuneProgress) -> Step:
    race_s = max(state.seconds_of(DEFAULT), 1e-9)
    possible = combinations(state.plan.knobs)
    carried = int(_left(state) / race_s / NEWCOMER_BLOCKS)
    count = min(MAX_CANDIDATES, possible, carried)
    if count < min(FEWEST_CANDIDATES, possible):
        races = _fewest_races(state)
        whole = format_seconds(math.ceil(state.seconds + races * race_s))
        return Stop(
            f"the budget of {format_seconds(state.budget_s)} is too small: "
            f"{format_seconds(round(state.seconds, 1))} are used, a race takes "
            f"{format_seconds(round(race_s, 1))} here, and a search with its confirmation needs at least "
            f"{format_count(races, 'more race')}, {whole} in all"
        )
    return Suggest(drawn_candidates(state, count - 1))


def _in_block(state: TuneProgress) -> Step:
    block = state.judged + 1
    begun = any(end.block == block for end in state.ends)
    if not begun:
        if (over := _over(state)) is not None:
            return over
        if state.suggested_after < state.judged and (count := _newcomers(state)) > 0:
            candidates = suggested_candidates(state, count)
            if candidates:
                return Suggest(candidates)
    order = sorted(
        state.active,
        key=lambda candidate: Random(f"{state.plan.seed} block {block} candidate {candidate}").random(),
    )
    for candidate in order:
        if not state.has_raced(candidate, block):
            return Race(candidate, block, block_seed(state, block))
    return EndBlock(block, _dropped(state))


def _over(state: TuneProgress) -> Choose | None:
    """Returns the end of the search if no further block begins."""
    block = math.fsum(state.seconds_of(candidate) for candidate in state.active)
    if block > _left(state):
        return Choose(best_candidate(state), "the rest of the budget belongs to the confirmation")
    if state.judged >= MAX_BLOCKS:
        return Choose(best_candidate(state), f"{MAX_BLOCKS} blocks have been raced")
    is_exhausted = len(state.candidates) >= combinations(state.plan.knobs)
    if len(state.active) == 1 and (is_exhausted or _newcomers(state) <= 0):
        return Choose(DEFAULT, "all other candidates dropped out")
    if is_exhausted and len(state.active) == 2 and state.judged >= MIN_BLOCKS:
        return Choose(best_candidate(state), "one candidate is left")
    return None


def _newcomers(state: TuneProgress) -> int:
    """Returns how many candidates may join."""
    first = sum(candidate.origin != "suggested" for candidate in state.candidates.values())
    seconds_per_race = fmean([state.seconds_of(candidate) for candidate in state.active])
    carried = int(_left(state) / max(seconds_per_race, 1e-9) / NEWCOMER_BLOCKS)
    unknown = combinations(state.plan.knobs) - len(state.candidates)
    return min(min(first, carried) - len(state.active), unknown)


def _dropped(state: TuneProgress) -> tuple[Drop, ...]:
    """Returns the candidates that drop out after a block: the default never does."""
    drops: dict[int, Drop] = {}
    for candidate in state.active:
        if reason := _unfit(state, candidate):
            drops[candidate] = Drop(candidate, reason)
    # What breaks a limit, or perhaps does, is not what the others must be as good as.
    rest = [
        candidate
        for candidate in state.active
        if candidate not in drops and not broken_limits(state, candidate)
    ]
    for candidate, p in weaker_candidates(state.means(), rest).items():
        drops[candidate] = Drop(candidate, "weaker than the best one", p)
    drops.pop(DEFAULT, None)
    return tuple(drops.values())


def _unfit(state: TuneProgress, candidate: int) -> str:
    """Returns why a candidate must not race any more; empty if it may."""
    # Where the default was lost too, the machine is to blame.
    elsewhere = {end.block for end in state.ends if end.candidate == DEFAULT and end.objective is None}
    races_of_candidate = [
        end for end in state.ends if end.candidate == candidate and end.block not in elsewhere
    ]
    last = races_of_candidate[-MAX_FAILURES:]
    if len(last) == MAX_FAILURES and all(end.outcome == "failed" for end in last):
        return last[-1].text or "its races failed"
    void = [end for end in races_of_candidate if end.objective is None]
    if len(void) >= MAX_FAILURES:
        count = format_count(len(void), "race")
        does_not_count = all(end.outcome == "raced" and end.text for end in void)
        return f"{count} did not count: {void[-1].text}" if does_not_count else f"{count} failed or void"
    for at, limit in enumerate(state.plan.constraints):
        values = state.limit_values(candidate, at)
        if len(values) < MIN_BLOCKS:
            continue
        low, high = limit_bounds(limit, values, state.limit_operations(candidate, at))
        if limit.is_broken_by(low if limit.relation == "<" else high):
            return f"it breaks the limit {limit}: {median(values):g}"
    return ""


def _default_failure(state: TuneProgress) -> str:
    last = [end for end in state.ends if end.candidate == DEFAULT][-1]
    if last.outcome == "failed":
        return f"the default cannot be raced: {last.text}"
    return last.text or f"the races of the default are void, for example {last.race_id}"
