"""Compared races whose experiments have not ended. Comparing them after every block, and stopping once a
difference shows, needs the wider intervals of the experiment's looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from pacenote.compare.pairing import EXPERIMENT_TAG
from pacenote.errors import PacenoteError, StoreError
from pacenote.lab.experiment.planning import look_level
from pacenote.lab.experiment.progress import ExperimentProgress
from pacenote.model.comparison import ComparedRace
from pacenote.model.user_tags import tag_texts
from pacenote.store.experiment_store import ExperimentFolder, ExperimentStore


class UnfinishedExperiment(Struct, frozen=True):
    """An experiment that still has races to run, or of which that is not known."""

    note: str
    """What a comparison of its races says."""

    level: Callable[[float], float]
    """Returns the significance level of a comparison of its races, for that of all that is said at any time.
    """


def unfinished_experiments(
    races: Iterable[ComparedRace], store: ExperimentStore
) -> tuple[UnfinishedExperiment, ...]:
    """Returns the stored experiments of races that have not ended."""
    of: dict[str, set[str]] = {}
    for race in races:
        if name := tag_texts(race.record.user_tags).get(EXPERIMENT_TAG):
            of.setdefault(name, set()).add(race.record.race_id)
    return tuple(each for name, own in of.items() for each in _unfinished(name, own, store))


def _unfinished(
    experiment_id: str, race_ids: set[str], store: ExperimentStore
) -> Iterator[UnfinishedExperiment]:
    try:
        folder = store.exact_folder(experiment_id)
    except StoreError:
        return  # The races are of another machine, or tagged by the user.
    if folder.is_search:
        return
    try:
        progress = ExperimentProgress.of(folder.plan(), folder.journal())
    except PacenoteError as error:
        text = f"it is not known whether experiment {experiment_id} has ended: {error.message}"
        yield UnfinishedExperiment(text, float)
        return
    # An experiment of another machine may have the same id.
    is_own = any(end.race_id in race_ids for end in progress.ends.values())
    if is_own and progress.left():
        done, planned = len(progress.blocks_done()), len({race.block for race in progress.plan.races} - {0})
        text = (
            f"experiment {experiment_id} has not ended ({done} of {planned} blocks): intervals and verdicts "
            "allow for its other looks"
        )
        yield UnfinishedExperiment(text, _level(folder, done, planned))


def _level(folder: ExperimentFolder, done: int, planned: int) -> Callable[[float], float]:
    from pacenote.cli.lab.stored_experiment import stored_experiment

    try:
        experiment = stored_experiment(folder)
    except PacenoteError:
        # Without its looks, each block may be one (Bonferroni).
        return lambda alpha: alpha / max(1, planned)
    return look_level(experiment, done)
