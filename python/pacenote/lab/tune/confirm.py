"""The confirmation of a search: the winner against the default, an ordinary experiment that uses none of the
search's races. Its verdict is the result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from random import Random

from pacenote.errors import StoreError
from pacenote.lab.experiment.design import plan_races
from pacenote.lab.experiment.toml_values import toml_table, toml_value
from pacenote.lab.tune.candidates import candidate_options, settings
from pacenote.model.experiment import Experiment, ExperimentPlan, MachineFacts, Variant
from pacenote.model.tune import TunePlan
from pacenote.store.experiment_store import ExperimentFolder, ExperimentStore, file_digest

FIRST_LOOK = 5
"""Blocks after which the confirmation may end, unless an error rate has a limit: whether that is kept depends
on the number of operations, and the answer to the objective says nothing about it.
"""

DEFAULT_NAME, WINNER_NAME = "default", "winner"
"""The variants of the confirmation."""


def confirmation(plan: TunePlan, levels: Sequence[int], earlier: int = 0) -> Experiment:
    """Returns the experiment that confirms a candidate with these levels; `earlier` is how many confirmations
    of it gave no answer.
    """
    blocks = plan.confirm_blocks
    may_end = blocks > FIRST_LOOK and not any(limit.is_error_rate for limit in plan.constraints)
    again = f" {earlier + 1}" if earlier else ""
    changed = ", ".join(f"{name} {value}" for name, value in settings(plan.knobs, levels).items())
    return Experiment(
        name=f"{plan.tune_id}-confirm",
        question=f"Is {changed} better than the default? (Winner of {plan.tune_id})",
        design="pair",
        blocks=blocks,
        looks=(FIRST_LOOK, blocks) if may_end else (),
        primary=primary_names(plan),
        quality=plan.quality,
        # Fresh seeds: no race of the search, or of an earlier confirmation, has the same data and schedule.
        seed=Random(f"pacenote tune {plan.seed} confirmation{again}").getrandbits(63),
        race=plan.race,
        variants=(
            Variant(DEFAULT_NAME),
            Variant(WINNER_NAME, candidate_options(plan.knobs, levels)),
        ),
    )


def primary_names(plan: TunePlan) -> tuple[str, ...]:
    """Returns the metrics that decide the confirmation: the objective, the limits, and the errors of their
    tasks, because requests that fail are fast.
    """
    names = (plan.objective.metric, *(constraint.metric for constraint in plan.constraints))
    tasks = (name.partition(":")[1:] for name in names)
    return tuple(dict.fromkeys((*names, *("error-rate" + "".join(task) for task in tasks))))


def confirmation_folder(
    store: ExperimentStore, plan: TunePlan, experiment: Experiment, machine: MachineFacts, now: str
) -> ExperimentFolder:
    """Returns the folder of the confirmation, which is created unless it was before. Raises StoreError.

    A folder of the same name may be of an earlier search with the same id, or of an experiment of the user:
    its races are not those of this search. One that this home has not begun may have been copied from others.
    One whose plan cannot be read may have been left by a kill.
    """
    assert experiment.seed is not None  # it follows from that of the search
    text = experiment_text(experiment)
    for folder in store.list():
        is_named_so = folder.experiment_id.rpartition("-")[0] == experiment.name
        if not is_named_so or not store.has_begun(folder):
            continue
        with contextlib.suppress(StoreError):
            known = folder.plan()
            if known.file_digest == file_digest(text) and known.created >= plan.created:
                return folder
    folder = store.create(experiment.name)
    stored = ExperimentPlan(
        experiment_id=folder.experiment_id,
        created=now,
        seed=experiment.seed,
        folder=plan.folder,
        machine=machine,
        file_digest=file_digest(text),
        races=plan_races(experiment),
    )
    store.write(folder, text, stored)
    return folder


def experiment_text(experiment: Experiment) -> str:
    """Returns the file of the confirmation."""
    quality = [str(direction) for direction in experiment.quality]
    lines = [
        f"question = {toml_value(experiment.question)}",
        f"design = {toml_value(experiment.design)}",
        f"blocks = {experiment.blocks}",
        *([f"looks = {toml_value(list(experiment.looks))}"] if experiment.looks else []),
        f"primary = {toml_value(list(experiment.primary))}",
        *([f"quality = {toml_value(quality)}"] if quality else []),
        f"seed = {experiment.seed}",
        *toml_table("race", experiment.race),
    ]
    for variant in experiment.variants:
        lines += toml_table(f"variants.{variant.name}", variant.options)
    return "".join(f"{line}\n" for line in lines)
