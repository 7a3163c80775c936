"""Proposes candidates: the first ones spread over the knobs, the others by Optuna's TPE from all results so
far.

Optuna keeps nothing: for every suggestion it is told again what the journal says, and it begins from the
seed of the plan, so that the same journal has the same suggestions. Source: J. Bergstra, R. Bardenet, Y.
Bengio and B. Kégl, "Algorithms for hyper-parameter optimization", NIPS 2011.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING, Any

from pacenote.lab.tune.candidates import combinations, default_levels
from pacenote.model.tune import Candidate, Knob
from pacenote.stats.successive_racing import CandidateMeans

if TYPE_CHECKING:
    from pacenote.lab.tune.progress import TuneProgress

_TRIES = 200
"""Attempts to draw a candidate that has not been raced."""


def drawn_candidates(state: TuneProgress, count: int) -> tuple[Candidate, ...]:
    """Returns the first candidates: the levels of each knob occur equally often, in a drawn order."""
    knobs = state.plan.knobs
    draw = Random(f"pacenote tune {state.plan.seed} first candidates")
    columns = []
    for knob in knobs:
        levels = list(range(len(knob.levels)))
        column: list[int] = []
        while len(column) < count:
            column += draw.sample(levels, len(levels))
        columns.append(draw.sample(column[:count], count))
    known = {default_levels(knobs)}
    drawn: list[tuple[int, ...]] = []
    for row in range(count):
        spread = tuple(column[row] for column in columns)
        new = spread if spread not in known else _drawn(knobs, known, draw)
        if new is not None:
            known.add(new)
            drawn.append(new)
    return tuple(Candidate(number, levels, "drawn") for number, levels in enumerate(drawn, 1))


def suggested_candidates(state: TuneProgress, count: int) -> tuple[Candidate, ...]:
    """Returns candidates that the optimiser expects to be good; none that has been raced."""
    knobs = state.plan.knobs
    known = {candidate.levels for candidate in state.candidates.values()}
    first = max(state.candidates) + 1
    draw = Random(f"pacenote tune {state.plan.seed} candidate {first}")
    proposals = _asked(state, draw.getrandbits(32))
    suggested: list[Candidate] = []
    for number in range(first, first + count):
        new = (levels for levels in itertools.islice(proposals, _TRIES) if levels not in known)
        levels = next(new, None) or _drawn(knobs, known, draw)
        if levels is None:
            break
        known.add(levels)
        suggested.append(Candidate(number, levels, "suggested"))
    return tuple(suggested)


def _asked(state: TuneProgress, seed: int) -> Iterator[tuple[int, ...]]:
    """Yields what the optimiser suggests."""
    # Optuna takes a fifth of a second to import, and is needed only here.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(
            seed=seed, multivariate=True, constant_liar=True, n_startup_trials=4
        )
        study = optuna.create_study(direction="maximize", sampler=sampler)
        space = {knob.name: _distribution(knob) for knob in state.plan.knobs}
        for number, value in _told(state, state.means()):
            levels = dict(zip(space, state.candidates[number].levels, strict=True))
            study.add_trial(optuna.trial.create_trial(params=levels, distributions=space, value=value))
    while True:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = study.ask(space)
        yield tuple(trial.params[name] for name in space)


def _distribution(knob: Knob) -> Any:
    import optuna

    count = len(knob.levels)
    if knob.is_ordered and knob.default is not None:
        return optuna.distributions.IntDistribution(0, count - 1)
    return optuna.distributions.CategoricalDistribution(range(count))


def _told(state: TuneProgress, reached: CandidateMeans) -> Iterator[tuple[int, float]]:
    """Yields what each candidate reached. One that failed or breaks a limit counts as the worst one."""
    worst = min(reached.means.values(), default=0.0)
    for number in state.candidates:
        drop = state.dropped.get(number)
        if drop is not None and drop.p is None:
            yield number, worst
        elif number in reached.means:
            yield number, reached.means[number]


def _drawn(knobs: tuple[Knob, ...], known: set[tuple[int, ...]], draw: Random) -> tuple[int, ...] | None:
    """Returns a random candidate that is not known, or None if there is none."""
    if len(known) >= combinations(knobs):
        return None
    while True:
        levels = tuple(draw.randrange(len(knob.levels)) for knob in knobs)
        if levels not in known:
            return levels
