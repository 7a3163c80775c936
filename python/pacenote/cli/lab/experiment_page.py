"""The result of an experiment as an HTML page: reads its races, and writes the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.output.page_file import add_page_file, write_page_file
from pacenote.model.shell_command import NAME, shell_command, shell_words
from pacenote.store.own_folder import check_page_folder
from pacenote.version import pacenote_version

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.experiment import Experiment, Options
    from pacenote.model.experiment_result import ExperimentResult
    from pacenote.report.page.experiment.build import ExperimentPageSources
    from pacenote.store.experiment_store import ExperimentFolder


def write_experiment_page(
    folder: ExperimentFolder, experiment: Experiment, file: str, console: Console
) -> ExperimentResult:
    """Writes the page of an experiment to a file, or to its folder, prints the path, and returns what the
    page shows. Raises StoreError.
    """
    if not file:
        check_page_folder(folder.path)
    sources = experiment_sources(folder, experiment)
    path = Path(file) if file else folder.page
    if file:
        write_page_file(path, _text(sources))
    else:
        folder.write_page(_text(sources))
    console.result_lines(f"{path}\n")
    return sources.result


def add_experiment_page(folder: ExperimentFolder, experiment: Experiment, console: Console) -> None:
    """Writes the page of an experiment whose races have run to its folder; a failure is a warning."""

    def write() -> Path:
        folder.write_page(_text(experiment_sources(folder, experiment)))
        return folder.page

    add_page_file(write, "experiment", console)


def _text(sources: ExperimentPageSources) -> str:
    from pacenote.report.page.experiment.build import build_experiment_page
    from pacenote.report.render.page import render_small_page

    return render_small_page(build_experiment_page(sources))


def experiment_sources(folder: ExperimentFolder, experiment: Experiment) -> ExperimentPageSources:
    """Returns what the page of an experiment shows. Raises StoreError."""
    from pacenote.lab.experiment.ended_races import ended_races
    from pacenote.lab.experiment.evaluate import Evaluation
    from pacenote.lab.experiment.progress import ExperimentProgress
    from pacenote.report.page.experiment.build import ExperimentPageSources
    from pacenote.store.race_store import RaceStore

    plan = folder.plan()
    progress = ExperimentProgress.of(plan, folder.journal())
    evaluation = Evaluation(experiment, RaceStore())
    result = evaluation.result(progress, running=folder.is_running())
    return ExperimentPageSources(
        result,
        ended_races(evaluation, progress),
        settings=tuple(_settings(experiment)),
        common=option_text(experiment.race),
        commands=(
            (
                shell_command(NAME, "experiment", "run", str(folder.toml)),
                f"run it again, in the folder {plan.folder}{_check_first(folder, experiment)}",
            ),
            (shell_command(NAME, "experiment", "report", folder.experiment_id), "its report"),
        ),
        version=pacenote_version() or "",
    )


def _check_first(folder: ExperimentFolder, experiment: Experiment) -> str:
    """Returns what is to be checked of an experiment before it is run again; empty for one of this home."""
    from pacenote.cli.options.race_trust import unchecked_plan, unchecked_text
    from pacenote.lab.experiment.design import all_variants
    from pacenote.store.experiment_store import ExperimentStore

    options = (experiment.race, *(variant.options for variant in all_variants(experiment)))
    home = folder.path.absolute().parents[1]
    if ExperimentStore(home).has_begun(folder):
        return ""
    text = unchecked_text(f"experiment {folder.experiment_id}", unchecked_plan(options, home))
    return f"; check first: {text}" if text else ""


def _settings(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yields what each variant, or each level of a factor, sets."""
    if len(experiment.variants) > 1:
        for variant in experiment.variants:
            yield variant.name, option_text(variant.options)
    for factor in experiment.factors:
        for level in factor.levels:
            yield f"{factor.name} {level.name}", option_text(level.options)


def option_text(options: Options) -> str:
    """Returns options as a shell reads them as arguments of a race, without secrets."""
    from pacenote.lab.experiment.public_options import public_arguments

    return " ".join(shell_words(public_arguments(options)))
