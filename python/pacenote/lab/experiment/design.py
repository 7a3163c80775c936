"""The races of an experiment in their order, drawn from its seed; pure.

Every design races in blocks. A block contains each configuration once, in an order that is drawn, and that
another block has in reverse (`stats.order`), so that a machine that becomes steadily slower or faster affects
all of them alike. The races of a block share a seed, and so their data and schedule. Those of a duet run at
the same time; the order is then that of the halves of the machine.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from pacenote.lab.experiment.options import joined
from pacenote.model.experiment import BEST, Experiment, Options, PlannedRace, Variant
from pacenote.stats.order import block_orders
from pacenote.stats.screening import screening_design

_SEED_BITS = 63


def all_variants(experiment: Experiment) -> tuple[Variant, ...]:
    """Returns every configuration of an experiment with the options by which it differs.

    A step of a ladder has the options of all steps before it; which of them are adopted is only known later.
    """
    if experiment.design == "ladder":
        cumulative = itertools.accumulate(experiment.variants, _added)
        return tuple(cumulative)
    if experiment.design == "screening":
        return screening_cells(experiment)
    if experiment.factors:
        return cells(experiment)
    return experiment.variants or (Variant("races"),)


def cells(experiment: Experiment) -> tuple[Variant, ...]:
    """Returns the combinations of the levels of all factors; the last factor changes fastest."""
    levels = (factor.levels for factor in experiment.factors)
    return tuple(_combined(combination) for combination in itertools.product(*levels))


def screening_cells(experiment: Experiment) -> tuple[Variant, ...]:
    """Returns the combinations of a two-level fractional factorial of resolution IV.

    The effect of each factor can then be told from those of all others and of all pairs of factors.
    """
    factors = experiment.factors
    design = screening_design([factor.name for factor in factors])
    return tuple(
        _combined([factor.levels[high] for factor, high in zip(factors, run, strict=True)])
        for run in design.runs
    )


def plan_races(experiment: Experiment) -> tuple[PlannedRace, ...]:
    """Returns all races of an experiment in their order. The same experiment always has the same plan."""
    draw = random.Random(f"pacenote experiment {experiment.seed}")  # not for secrets
    return tuple(replace(race, number=number) for number, race in enumerate(_ordered(experiment, draw), 1))


def race_options(experiment: Experiment, race: PlannedRace, adopted: Iterable[int]) -> Options:
    """Returns the options of a planned race. `adopted` are the steps of a ladder that were adopted before."""
    if experiment.design != "ladder":
        return joined(experiment.race, _variant(experiment, race.variant).options)
    kept = {step for step in adopted if step < race.stage}
    steps = [experiment.variants[0], *(experiment.variants[step] for step in sorted(kept))]
    if race.variant == steps[0].name:
        del steps[1:]
    elif race.variant != BEST:
        steps.append(experiment.variants[race.stage])
    return joined(experiment.race, *(step.options for step in steps))


def race_names(experiment: Experiment) -> tuple[str, ...]:
    """Returns the names of the variants of planned races."""
    variants = all_variants(experiment)
    if experiment.design == "ladder":
        return (BEST, *(variant.name for variant in variants[1:]))
    return tuple(variant.name for variant in variants)


def _ordered(experiment: Experiment, draw: random.Random) -> Iterator[PlannedRace]:
    """Yields the races in their order, without their numbers."""
    names = race_names(experiment)
    first_seed = draw.getrandbits(_SEED_BITS)
    yield from (PlannedRace(0, 0, names[0], first_seed) for _ in range(experiment.warm_up))
    stages: list[Sequence[str]] = [names]
    if experiment.design == "ladder":
        # What was kept because it was good looks better than it is: it is raced against the start again.
        stages = [*((BEST, name) for name in names[1:]), (experiment.variants[0].name, BEST)]
    block = 0
    for stage, compared in enumerate(stages, 1):
        for order in block_orders(compared, experiment.blocks, draw.getrandbits(_SEED_BITS)):
            seed = draw.getrandbits(_SEED_BITS)
            block += 1
            for place, name in enumerate(order, 1):
                half = place if experiment.design == "duet" else 0
                yield PlannedRace(0, block, name, seed, stage, half)


def _variant(experiment: Experiment, name: str) -> Variant:
    """Returns one configuration. The options of many others are not joined for it."""
    if experiment.design == "screening" or not experiment.factors:
        (variant,) = (variant for variant in all_variants(experiment) if variant.name == name)
        return variant
    combinations = itertools.product(*(factor.levels for factor in experiment.factors))
    (levels,) = (combination for combination in combinations if _cell_name(combination) == name)
    return _combined(levels)


def _added(before: Variant, step: Variant) -> Variant:
    return Variant(step.name, joined(before.options, step.options), step.line)


def _combined(levels: Sequence[Variant]) -> Variant:
    """Returns one configuration with the options of these levels; its name joins theirs."""
    return Variant(_cell_name(levels), joined(*(level.options for level in levels)), levels[-1].line)


def _cell_name(levels: Sequence[Variant]) -> str:
    return "+".join(level.name for level in levels)
