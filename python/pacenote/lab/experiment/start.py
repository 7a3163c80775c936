"""Creates an experiment: its folder with its file and its plan."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from pacenote.lab.experiment.design import plan_races
from pacenote.lab.experiment.halves import machine_halves
from pacenote.lab.experiment.machine import read_machine
from pacenote.model.experiment import Experiment, ExperimentPlan
from pacenote.store.experiment_store import ExperimentFolder, ExperimentStore, file_digest

_SEEDS = 1 << 31


def with_seed(experiment: Experiment) -> Experiment:
    """Returns an experiment with a seed, which is drawn unless its file gives one: experiments on one machine
    would otherwise have the same order, and the same disturbance would meet the same variant.
    """
    return experiment if experiment.seed is not None else replace(experiment, seed=secrets.randbelow(_SEEDS))


def create_experiment(store: ExperimentStore, experiment: Experiment, text: str) -> ExperimentFolder:
    """Stores the file and the plan of a new experiment. Raises StoreError, and UsageError if this machine
    cannot be divided for a duet.
    """
    experiment = with_seed(experiment)
    assert experiment.seed is not None  # it was drawn
    halves = machine_halves() if experiment.design == "duet" else ()
    folder = store.create(experiment.name)
    plan = ExperimentPlan(
        experiment_id=folder.experiment_id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seed=experiment.seed,
        folder=str(Path.cwd()),
        machine=read_machine(),
        cool_down_s=experiment.cool_down_s,
        file_digest=file_digest(text),
        halves=halves,
        races=plan_races(experiment),
    )
    store.write(folder, text, plan)
    return folder
