"""`pacenote experiment`: many races by a design, unattended, and the answer to one question."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.cli.gates.comparison import parse_gates
from pacenote.cli.gates.experiment import check_gates, exit_code, gated_exit_code, is_gated
from pacenote.cli.gates.requirements import parse_requirements
from pacenote.cli.lab.resumed_plans import add_adopt_option, adopt, check_resumed, is_adopted
from pacenote.cli.options import values
from pacenote.cli.options.quality import add_quality_option
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.output.page_file import IN_FOLDER
from pacenote.cli.output.report_file import check_report_file
from pacenote.cli.parser import EachGiven, Parser, Several, validate_choice
from pacenote.errors import Interrupted, UsageError
from pacenote.model.printable import single_line
from pacenote.model.shell_command import shell_command
from pacenote.store.home import default_home
from pacenote.system.paths import exists

if TYPE_CHECKING:
    from pacenote.lab.experiment.run import RunEnd
    from pacenote.model.experiment import Experiment
    from pacenote.store.experiment_store import ExperimentFolder

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}

_LISTS = ("experiments", "recipes")


def add_options(parser: Parser) -> None:
    """Adds the action, what it is applied to, and the options."""
    parser.add_argument("action", metavar="ACTION", help=f"what to do: {', '.join(ACTIONS)}")
    parser.add_argument(
        "target",
        metavar="WHAT",
        nargs="?",
        default="",
        help="init, run: a file, or the name of a bundled recipe; resume, report: the id of an experiment or "
        "'latest'; list: experiments or recipes",
    )
    _add_run_options(parser)
    parser.add_argument(
        "--report-format",
        choices=("text", "markdown", "json", "junit"),
        metavar="FORMAT",
        help="text, markdown, json or junit (default: text)",
        harmless=True,
    )
    parser.add_argument(
        "--report-file",
        type=values.output_file,
        help="run, resume, report: also write the report to this file: text and markdown are appended, other "
        "formats get a new file (default: none)",
    )
    parser.add_argument(
        "--html",
        nargs="?",
        type=values.page_file,
        const=IN_FOLDER,
        metavar="FILE",
        help="report: write the report as a page to this file, or to report.html in the folder of the "
        "experiment, and print its path in place of the report",
    )
    parser.add_argument(
        "--fail-on",
        metavar="WORD:METRIC",
        type=parse_gates,
        action=Several,
        help="run, resume, report: exit with 3 if the word is said of a metric of a contender, or if it is "
        "void, as in `pacenote compare`: worse:primary (default: never)",
        harmless=True,
    )
    parser.add_argument(
        "--require",
        metavar="NO-WORSE",
        type=parse_requirements,
        action=Several,
        help="run, resume, report: exit with 3 unless it is shown that the metrics of each contender became "
        "worse by less than this, as in `pacenote compare`: no-worse:5%% (default: nothing)",
        harmless=True,
    )
    add_quality_option(parser, "run, report: ")
    parser.add_flag("--quiet", help="show no progress; the answer is still printed", harmless=True)


def _add_run_options(parser: Parser) -> None:
    """Adds the options that change what is raced."""
    parser.add_argument(
        "--baseline",
        default="",
        metavar="OPTIONS",
        help='run: options of the baseline in place of the variants of the file, such as "car=1gheap"',
    )
    parser.add_argument(
        "--contender",
        action=EachGiven,
        default=(),
        metavar="OPTIONS",
        help='run: those of a contender, such as "car=2gheap"; can be given several times',
    )
    parser.add_argument(
        "--track-params",
        type=values.track_params,
        default={},
        metavar="K:V,…",
        help="run: parameters of the track for all races, such as docs:20000, added to those of the file",
    )
    parser.add_argument(
        "--blocks",
        type=values.positive,
        metavar="N",
        help="run: number of blocks, in place of that of the file",
        harmless=True,
    )
    parser.add_flag(
        "--dry-run", help="print the planned races and their hours without running them", harmless=True
    )
    add_adopt_option(parser, "an experiment")
    parser.add_argument(
        "--budget",
        default="",
        metavar="TIME",
        help="run: time of all races, such as 2h (default: as in the file); resume: time from now on",
        harmless=True,
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Does what the action says, and returns the exit code. Raises PacenoteError."""
    action = validate_choice(options.action, "experiment", tuple(ACTIONS))
    for name, (given, actions) in _OPTIONS.items():
        if given(options) and action not in actions:
            of = " and ".join(f"`experiment {each}`" for each in actions)
            raise UsageError(f"{name} is an option of {of}, not of `experiment {action}`")
    if options.configuration_name:
        raise UsageError(
            "--configuration-name cannot be given to `pacenote experiment`: its races read rally.ini"
        )
    if options.dry_run and (options.report_file or options.report_format not in (None, "text")):
        raise UsageError("--dry-run prints the planned races as text: there is no report yet")
    if options.dry_run and options.budget and action == "resume":
        raise UsageError("--dry-run prints all races that are left, whatever the --budget is")
    if action != "init":
        from pacenote.store.race_store import check_home

        # Otherwise it would look like a mistake of the file, or like a home without experiments.
        check_home(default_home())
    options.report_file = check_report_file(options.report_file)
    return ACTIONS[action](options, console)


def _given_track_params(options: argparse.Namespace) -> Mapping[str, object]:
    """Returns what the command line gives: configured parameters are defaults of the races."""
    return options.track_params if _is_given(options, "track-params") else {}


def _is_given(options: argparse.Namespace, name: str) -> bool:
    """Returns whether the command line has an option, not only a configuration file."""
    given = options.given.get(name)
    return given is not None and not given.is_configured


_OPTIONS: Mapping[str, tuple[Callable[[argparse.Namespace], object], tuple[str, ...]]] = {
    "--dry-run": (lambda options: options.dry_run, ("run", "resume")),
    "--budget": (lambda options: options.budget, ("run", "resume")),
    "--adopt": (is_adopted, ("resume",)),
    "--baseline": (lambda options: options.baseline, ("run",)),
    "--contender": (lambda options: options.contender, ("run",)),
    "--track-params": (_given_track_params, ("run",)),
    "--blocks": (lambda options: options.blocks, ("run",)),
    "--report-file": (lambda options: options.report_file, ("run", "resume", "report")),
    "--html": (lambda options: options.html is not None, ("report",)),
    "--quality": (lambda options: _is_given(options, "quality"), ("run", "report")),
    "--fail-on": (lambda options: options.fail_on, ("run", "resume", "report")),
    "--require": (lambda options: options.require, ("run", "resume", "report")),
    "--report-format": (lambda options: options.report_format, ("run", "resume", "report", "list")),
}
"""Options that not every action has: whether one is given, and the actions that have it."""


def _init(options: argparse.Namespace, console: Console) -> int:
    """Writes the file of an experiment with comments: a recipe, or the template of a pair."""
    from pacenote.cli.output.named_file import opened_named_file
    from pacenote.lab.experiment.recipes import find_recipe

    recipe = find_recipe(options.target or "template")
    path = Path(f"{recipe.name if options.target else 'experiment'}.toml")
    try:
        with opened_named_file(path, "x") as file:
            file.write(recipe.text)
    except FileExistsError:
        raise UsageError(f"{path} exists already", hint="move it away, or edit it") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
    console.result_lines(
        f"{path} was written. Edit it, then: {shell_command('pacenote', 'experiment', 'run', str(path))}\n"
    )
    return 0


def _run(options: argparse.Namespace, console: Console) -> int:
    from pacenote.cli.lab.experiment_blocks import with_planned_blocks
    from pacenote.cli.lab.experiment_check import RaceOptionCheck
    from pacenote.cli.lab.experiment_data_paths import check_compared_paths
    from pacenote.cli.lab.experiment_dry_run import budget_warning, show_plan
    from pacenote.cli.lab.experiment_duet import check_duet
    from pacenote.cli.lab.experiment_plan_check import check_plans, test_mode_warning
    from pacenote.lab.experiment.given_options import (
        lines_of_file,
        with_given_options,
        with_given_quality,
    )
    from pacenote.lab.experiment.read_file import read_experiment
    from pacenote.lab.experiment.start import create_experiment
    from pacenote.store.experiment_store import ExperimentStore

    check = RaceOptionCheck(console)
    for text in check.warnings():
        console.warning(text)
    name, file, original = _file(options.target)
    text = with_given_options(original, file, options.blocks, _given_track_params(options), check)
    if options.quality:
        is_default = not _is_given(options, "quality")
        text = with_given_quality(text, [str(each) for each in options.quality], is_default=is_default)
    if options.baseline or options.contender:
        from pacenote.lab.experiment.given_variants import with_given_variants

        text = with_given_variants(text, file, options.baseline, options.contender, check)
    lines = lines_of_file(original, text)
    experiment = read_experiment(text, name, file, check, lines)
    if options.budget:
        experiment = replace(experiment, budget_s=_budget(options.budget))
    check_gates(experiment.design, options)
    check_compared_paths(experiment)
    check_duet(experiment, check)
    gated = [gate.metric for gate in (*(options.fail_on or ()), *(options.require or ()))]
    for warning in (*check_plans(experiment, file, check, gated), *test_mode_warning(experiment, check)):
        console.warning(warning)
    experiment, text = with_planned_blocks(experiment, text, console)
    if options.dry_run:
        return show_plan(experiment, console)
    if file.startswith("recipe ") and exists(Path(f"{name}.toml")):
        own = shell_command("pacenote", "experiment", "run", f"{name}.toml")
        console.warning(f"the bundled recipe runs: `{own}` runs the file here")
    if text_of_budget := budget_warning(experiment):
        console.warning(text_of_budget)
    store = ExperimentStore()
    folder = create_experiment(store, experiment, text)
    return _race(folder, experiment, options, console)


def _resume(options: argparse.Namespace, console: Console) -> int:
    from pacenote.cli.lab.stored_experiment import checked_experiment
    from pacenote.lab.experiment.progress import ExperimentProgress, is_retried
    from pacenote.model.experiment import JournalEntry
    from pacenote.store.experiment_store import ExperimentStore

    store = ExperimentStore()
    folder = store.resumed_folder(options.target or "latest")
    is_new = check_resumed(folder, store, options)
    experiment = checked_experiment(folder, console)
    check_gates(experiment.design, options)
    progress = ExperimentProgress.of(folder.plan(), folder.journal())
    if options.dry_run:
        from pacenote.cli.lab.experiment_progress import left_lines

        if is_retried(experiment, progress):
            progress.apply(JournalEntry(event="retried", at=""))
        title = f"experiment {folder.experiment_id}: {experiment.question or experiment.name}"
        lines = (single_line(title), *left_lines(progress))
        console.result_lines("".join(f"{line}\n" for line in lines))
        return 0
    if is_new:
        adopt(folder, store, console)
    if options.budget:
        # The races that have run do not count: it is the time of another night.
        experiment = replace(experiment, budget_s=progress.seconds + _budget(options.budget))
    return _race(folder, experiment, options, console)


def _report(options: argparse.Namespace, console: Console) -> int:
    from pacenote.cli.lab.experiment_output import show_result
    from pacenote.cli.lab.stored_experiment import stored_experiment
    from pacenote.store.experiment_store import ExperimentStore

    folder = ExperimentStore().folder(options.target or "latest")
    experiment = stored_experiment(folder)
    if _is_given(options, "quality"):
        experiment = replace(experiment, quality=options.quality)
    check_gates(experiment.design, options)
    if options.html is not None:
        from pacenote.cli.lab.experiment_page import write_experiment_page

        result = write_experiment_page(folder, experiment, options.html, console)
    else:
        result = show_result(folder, experiment, options, console)
    return gated_exit_code(result, options, console) if is_gated(options) else 0


def _list(options: argparse.Namespace, console: Console) -> int:
    from pacenote.cli.lists.experiments import list_experiments, list_recipes

    if options.report_format == "junit":
        raise UsageError("--report-format=junit needs the verdicts of an experiment, not a list")
    if options.target in ("", "experiments"):
        console.result(list_experiments(options, console))
    else:
        validate_choice(options.target, "list", _LISTS)
        console.result(list_recipes(options, console))
    return 0


ACTIONS: dict[str, Callable[[argparse.Namespace, Console], int]] = {
    "init": _init,
    "run": _run,
    "resume": _resume,
    "report": _report,
    "list": _list,
}
"""What `pacenote experiment` does, by its first argument."""


def _file(target: str) -> tuple[str, str, str]:
    """Returns the name of an experiment, its file in messages, and the text. Raises UsageError."""
    from pacenote.lab.experiment.recipes import find_recipe

    if not target:
        raise UsageError(
            "experiment run needs a file, or the name of a recipe",
            hint="`pacenote experiment init` writes a file, `pacenote experiment list recipes` lists recipes",
        )
    path = Path(target)
    if path.suffix != ".toml":
        recipe = find_recipe(target)
        return recipe.name, f"recipe {recipe.name}", recipe.text
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{path} cannot be read: {reason}") from error
    return _id_name(path.stem), target, text


def _id_name(stem: str) -> str:
    """Returns the name of a file as the beginning of an id."""
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in stem)
    return kept.strip("._-")[:60] or "experiment"


def _budget(text: str) -> float:
    from pacenote.lab.experiment.read_file import parse_duration

    seconds = parse_duration(text)
    if seconds is None:
        raise UsageError(f"--budget must be a time such as 30m or 2h, not '{text}'")
    return seconds


def _race(
    folder: ExperimentFolder, experiment: Experiment, options: argparse.Namespace, console: Console
) -> int:
    """Runs the races that are left, prints the answer, and returns the exit code."""
    from pacenote.cli.lab.experiment_output import show_result
    from pacenote.race.stop_signals import exit_at_third, interrupting

    with exit_at_third(console.error_at_exit), interrupting():
        try:
            end = run_races(folder, experiment, console)
            paused, interrupted = end.paused, end.interrupted
        except KeyboardInterrupt:
            paused, interrupted = "stopped by the user", True
        result = show_result(folder, experiment, options, console, paused=paused)
    code = gated_exit_code(result, options, console) if is_gated(options) and result.has_races else 0
    return Interrupted.exit_code if interrupted else exit_code(result) or code


def run_races(folder: ExperimentFolder, experiment: Experiment, console: Console) -> RunEnd:
    """Runs the races of an experiment that are left. Raises StoreError."""
    from pacenote.cli.lab.experiment_check import RaceOptionCheck
    from pacenote.cli.lab.experiment_page import add_experiment_page
    from pacenote.cli.lab.experiment_progress import experiment_listener
    from pacenote.lab.experiment.design import all_variants
    from pacenote.lab.experiment.evaluate import Evaluation
    from pacenote.lab.experiment.kept_engine import ChildRaces
    from pacenote.lab.experiment.options import joined
    from pacenote.lab.experiment.run import ExperimentRun, run_experiment
    from pacenote.lab.other_races import announced, other_races
    from pacenote.store.experiment_store import ExperimentStore
    from pacenote.store.race_store import RaceStore

    races = RaceStore(default_home())
    evaluation = Evaluation(experiment, races)
    plan = folder.plan()
    check = RaceOptionCheck(console, Path(plan.folder))
    with folder.locked(), announced(), experiment_listener(console, evaluation.estimate) as listener:
        runner = ChildRaces(
            check.needs_new_engine,
            folder.engine_json,
            listener.race_line,
            listener.warning,
            Path(plan.folder),
        )
        question = experiment.question or experiment.name
        console.progress(f"experiment {folder.experiment_id}: {question} (seed {plan.seed})")
        others = partial(other_races, races)
        root = check.data_root(joined(experiment.race, all_variants(experiment)[0].options))
        run = ExperimentRun(
            experiment, folder, races, runner, listener, evaluation, others=others, data_root=root
        )
        end = run_experiment(run)
        evaluation.store_noise(end.progress, ExperimentStore())
    add_experiment_page(folder, experiment, console)
    return end
