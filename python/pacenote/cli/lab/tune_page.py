"""The result of a search as an HTML page: reads its journal and its confirmation, and writes the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.output.page_file import add_page_file, write_page_file
from pacenote.model.shell_command import NAME, shell_words
from pacenote.store.own_folder import check_page_folder
from pacenote.version import pacenote_version

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.experiment_result import ExperimentRace
    from pacenote.model.tune import TunePlan
    from pacenote.report.page.tune.build import TunePageSources
    from pacenote.store.tune_store import TuneFolder


def write_tune_page(folder: TuneFolder, file: str, console: Console) -> None:
    """Writes the page of a search to a file, or to its folder, and prints the path. Raises StoreError."""
    if not file:
        check_page_folder(folder.path)
    text = _text(folder)
    path = Path(file) if file else folder.files.page
    if file:
        write_page_file(path, text)
    else:
        folder.files.write_page(text)
    console.result_lines(f"{path}\n")


def add_tune_page(folder: TuneFolder, console: Console) -> None:
    """Writes the page of a search that has ended to its folder; a failure is a warning."""

    def write() -> Path:
        folder.files.write_page(_text(folder))
        return folder.files.page

    add_page_file(write, "search", console)


def _text(folder: TuneFolder) -> str:
    from pacenote.report.page.tune.build import build_tune_page
    from pacenote.report.render.page import render_small_page

    return render_small_page(build_tune_page(tune_sources(folder)))


def tune_sources(folder: TuneFolder) -> TunePageSources:
    """Returns what the page of a search shows. Raises StoreError."""
    from pacenote.lab.tune.evaluate import tune_result
    from pacenote.lab.tune.progress import TuneProgress
    from pacenote.report.page.tune.build import TunePageSources
    from pacenote.report.page.tune.history import tune_history
    from pacenote.store.race_store import RaceStore

    plan, journal = folder.plan(), folder.journal()
    state = TuneProgress.of(plan, journal)
    purpose = f"search again, in the folder {plan.folder}, with the same knobs"
    return TunePageSources(
        tune_result(state, RaceStore(), running=folder.is_running()),
        tune_history(journal),
        plan.knobs,
        _confirmation(state.confirmation),
        ((" ".join(command_words(plan)), "; ".join(filter(None, (purpose, check_first(folder, plan))))),),
        pacenote_version() or "",
    )


def check_first(folder: TuneFolder, plan: TunePlan) -> str:
    """Returns what is to be checked before options of a search are used; empty for one of this home."""
    from pacenote.cli.options.race_trust import unchecked_plan, unchecked_text
    from pacenote.lab.tune.candidates import knob_options
    from pacenote.store.experiment_store import ExperimentStore

    changes = (knob_options(knob, value) for knob in plan.knobs for value in knob.values)
    home = folder.path.absolute().parents[1]
    if ExperimentStore(home).has_begun(folder.files):
        return ""
    text = unchecked_text(f"search {folder.tune_id}", unchecked_plan((plan.race, *changes), home))
    return f"check first: {text}" if text else ""


def command_words(plan: TunePlan) -> Iterator[str]:
    """Yields the command of a search, without secrets."""
    from pacenote.cli.lab.experiment_page import option_text

    yield f"{NAME} tune"
    given = [f"--objective={plan.objective.metric}"]
    given += [f"--constraint={limit.metric}{limit.relation}{limit.limit:g}" for limit in plan.constraints]
    given += [f"--budget={plan.budget_s / 60:g}m", f"--seed={plan.seed}"]
    yield from shell_words(given)
    if plan.race:
        yield option_text(plan.race)


def _confirmation(experiment_id: str) -> tuple[ExperimentRace, ...]:
    """Returns the races of the confirmation with this id; none if it has not begun or was deleted."""
    from pacenote.cli.lab.experiment_page import experiment_sources
    from pacenote.cli.lab.stored_experiment import stored_experiment
    from pacenote.errors import StoreError
    from pacenote.store.experiment_store import ExperimentStore

    if not experiment_id:
        return ()
    try:
        folder = ExperimentStore().folder(experiment_id)
        return experiment_sources(folder, stored_experiment(folder)).races
    except StoreError:
        return ()
