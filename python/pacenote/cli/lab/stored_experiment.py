"""The experiment of a folder, read from its file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.errors import StoreError
from pacenote.lab.experiment.design import plan_races
from pacenote.lab.experiment.options import OptionCheck
from pacenote.lab.experiment.read_file import read_experiment
from pacenote.model.experiment import Experiment, Options, PlannedRace
from pacenote.store.experiment_store import ExperimentFolder


class NoOptionCheck:
    """Accepts all options: they were checked when the experiment began."""

    def problem(self, name: str, value: object) -> str | None:  # noqa: ARG002  # of the protocol
        """Returns None."""
        return None

    def conflict(self, options: Options) -> str | None:  # noqa: ARG002  # of the protocol
        """Returns None."""
        return None

    def needs_new_engine(self, name: str, value: object) -> bool:  # noqa: ARG002  # of the protocol
        """Returns False."""
        return False


def stored_experiment(folder: ExperimentFolder) -> Experiment:
    """Returns the experiment of a folder without checking the options of its races, which may name files that
    have gone since. Raises StoreError if its races are not those that were planned.
    """
    return _read(folder, NoOptionCheck())


def checked_experiment(folder: ExperimentFolder, console: Console) -> Experiment:
    """Returns the experiment of a folder if its races can run, in the folder in which it was started.

    Raises StoreError, and UsageError for options that `pacenote race` does not accept.
    """
    from pacenote.cli.lab.experiment_check import RaceOptionCheck

    started_in = folder.plan().folder
    try:
        # Its options and `pacenote.toml` are relative to it.
        with contextlib.chdir(started_in):
            return _read(folder, RaceOptionCheck(console))
    except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
        raise StoreError(
            f"the experiment was started in {started_in}, which cannot be used: {error.strerror}",
            hint="paths of its options are relative to it",
        ) from error


def _read(folder: ExperimentFolder, check: OptionCheck) -> Experiment:
    name = folder.experiment_id.rpartition("-")[0]
    experiment = read_experiment(folder.text(), name, str(folder.toml), check)
    plan = folder.plan()
    expected = plan_races(replace(experiment, seed=plan.seed))
    # The order may be drawn otherwise; a ladder of an earlier version lacks the races of its last stage.
    if _raced(plan.races) != _raced(expected):
        raise StoreError(
            f"{folder.plan_json} does not have the races of {folder.toml.name}",
            hint="another version of Pacenote made the plan: use that one, or run the file again",
        )
    return experiment


def _raced(races: Iterable[PlannedRace]) -> frozenset[tuple[int, str]]:
    """Returns the stages and the variants of races."""
    return frozenset((race.stage, race.variant) for race in races)
