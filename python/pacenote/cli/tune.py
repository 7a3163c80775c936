"""`pacenote tune`: searches for better settings, and confirms what it finds."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pacenote.cli import race
from pacenote.cli.console import Console
from pacenote.cli.lab.resumed_plans import add_adopt_option
from pacenote.cli.options import values
from pacenote.cli.options.quality import add_quality_option
from pacenote.cli.output.page_file import IN_FOLDER
from pacenote.cli.parser import EachGiven, Parser, validate_choice
from pacenote.errors import Interrupted, UsageError, VoidRace
from pacenote.store.home import default_home
from pacenote.system.paths import is_file
from pacenote.units import format_count

if TYPE_CHECKING:
    from pacenote.lab.tune.run import TuneEnd
    from pacenote.model.tune import TunePlan
    from pacenote.store.experiment_store import ExperimentStore
    from pacenote.store.tune_store import TuneFolder

UNAVAILABLE_OPTIONS = race.UNAVAILABLE_OPTIONS

_FORMATS = ("text", "markdown", "json")


def add_options(parser: Parser) -> None:
    """Adds the options of the search, and those of `race`."""
    with parser.group("search"):
        parser.add_argument(
            "action",
            metavar="ACTION",
            nargs="?",
            default="run",
            help=f"what to do: {', '.join(ACTIONS)} (default: run)",
        )
        parser.add_argument(
            "target",
            metavar="ID",
            nargs="?",
            default="",
            help="resume, report: the id of a search (default: latest)",
        )
        parser.add_argument(
            "--objective",
            default="",
            metavar="METRIC",
            help="metric that is to become better, such as throughput:index-append or p99:term",
            harmless=True,
        )
        parser.add_argument(
            "--constraint",
            action=EachGiven,
            default=(),
            metavar="LIMIT",
            help='limit that a winner must keep, such as "p99:term<50ms"; can be repeated (default: none)',
            harmless=True,
        )
        add_quality_option(parser)
        parser.add_argument(
            "--knobs", default="", metavar="FILE", help="what may be changed (default: the bundled knobs)"
        )
        parser.add_argument(
            "--budget",
            default="",
            metavar="TIME",
            help="time of all races, such as 2h, with the confirmation; resume: time from now on",
            harmless=True,
        )
        parser.add_argument(
            "--html",
            nargs="?",
            type=values.page_file,
            const=IN_FOLDER,
            metavar="FILE",
            help="report: write the report as a page to this file, or to report.html in the folder of the "
            "search, and print its path in place of the report",
        )
        add_adopt_option(parser, "a search")
        parser.add_flag("--change-durability", help="also use knobs that may lose documents in a crash")
    race.add_options(parser, writes_page=False)
    # Searches and their confirmations have data and orders of their own, unless they are to be repeated.
    parser.set_defaults(seed=None)


def run(options: argparse.Namespace, console: Console) -> int:
    """Does what the action says, and returns the exit code. Raises PacenoteError."""
    from pacenote.cli.lab.tune_options import check_action

    action = validate_choice(options.action, "tune", tuple(ACTIONS))
    if options.configuration_name:
        raise UsageError("--configuration-name cannot be given to `pacenote tune`: its races read rally.ini")
    check_action(action, options, _parser(console))
    if options.report_format is not None:
        validate_choice(options.report_format, "--report-format", _FORMATS)
    return ACTIONS[action](options, console)


def _run(options: argparse.Namespace, console: Console) -> int:
    from pacenote.cli.lab.tune_options import race_options
    from pacenote.cli.lab.tune_plan import new_plan, plan_lines
    from pacenote.store.experiment_store import ExperimentStore
    from pacenote.store.tune_store import create_tune, write_tune

    planned = new_plan(options, race_options(options, _parser(console), console), console)
    if options.dry_run:
        console.result_lines("".join(f"{line}\n" for line in plan_lines(planned)))
        return 0
    for text in planned.left_out:
        console.progress(f"left out: {text}")
    store = ExperimentStore()
    folder = create_tune(store)
    write_tune(folder, planned.plan(folder.tune_id))
    return _search(folder, options, console)


def _resume(options: argparse.Namespace, console: Console) -> int:
    from pacenote.cli.lab.resumed_plans import adopt, check_resumed
    from pacenote.cli.lab.tune_plan import given_budget
    from pacenote.store.experiment_store import LATEST, ExperimentStore
    from pacenote.store.tune_store import find_tune

    store = ExperimentStore()
    folder = find_tune(store, options.target or LATEST, is_resumed=True)
    is_new = check_resumed(folder.files, store, options)
    budget = given_budget(options.budget) if options.budget else None
    if budget is not None and any(event.event == "chosen" for event in folder.journal()):
        raise UsageError(f"the search {folder.tune_id} has its winner: only a new search takes a budget")
    if is_new:
        adopt(folder.files, store, console)
        _adopt_confirmations(folder, store)
    return _search(folder, options, console, is_resumed=True, budget_s=budget)


def _adopt_confirmations(folder: TuneFolder, store: ExperimentStore) -> None:
    """Adopts the confirmations of a search that is adopted. Raises StoreError."""
    if store.begun_problem():
        return
    own = {event.experiment_id for event in folder.journal() if event.event == "confirming"}
    for experiment in store.list():
        is_confirmation = experiment.experiment_id.rpartition("-")[0] == f"{folder.tune_id}-confirm"
        if is_confirmation and experiment.experiment_id in own and is_file(experiment.plan_json):
            store.adopt(experiment)


def _report(options: argparse.Namespace, console: Console) -> int:
    from pacenote.cli.lab.tune_output import show_result

    folder = _folder(options)
    if options.html is not None:
        from pacenote.cli.lab.tune_page import write_tune_page

        write_tune_page(folder, options.html, console)
    else:
        show_result(folder, options, console)
    return 0


def _knobs(_options: argparse.Namespace, console: Console) -> int:
    from pacenote.lab.tune.knob_file import BUNDLED

    console.result(BUNDLED.read_text("utf-8"))
    return 0


def _list(options: argparse.Namespace, console: Console) -> int:
    from pacenote.cli.lists.searches import list_searches

    console.result(list_searches(options, console))
    return 0


ACTIONS: dict[str, Callable[[argparse.Namespace, Console], int]] = {
    "run": _run,
    "resume": _resume,
    "report": _report,
    "list": _list,
    "knobs": _knobs,
}
"""What `pacenote tune` does, by its first argument: `knobs` prints the bundled knob file."""


def _parser(console: Console) -> Parser:
    parser = Parser("tune", "", console, UNAVAILABLE_OPTIONS)
    add_options(parser)
    return parser


def _folder(options: argparse.Namespace) -> TuneFolder:
    from pacenote.store.experiment_store import LATEST, ExperimentStore
    from pacenote.store.tune_store import find_tune

    return find_tune(ExperimentStore(), options.target or LATEST)


def _search(
    folder: TuneFolder,
    options: argparse.Namespace,
    console: Console,
    *,
    is_resumed: bool = False,
    budget_s: float | None = None,
) -> int:
    """Runs what is left, prints the answer, and returns the exit code."""
    from pacenote.cli.lab.tune_output import show_result
    from pacenote.cli.lab.tune_page import add_tune_page
    from pacenote.race.stop_signals import exit_at_third, interrupting

    with exit_at_third(console.error_at_exit), interrupting():
        try:
            end = _run_races(folder, console, is_resumed=is_resumed, budget_s=budget_s)
            paused, interrupted = end.paused, end.interrupted
        except KeyboardInterrupt:
            paused, interrupted = "stopped by the user", True
        add_tune_page(folder, console)
        answer = show_result(folder, options, console, paused=paused)
    if interrupted:
        return Interrupted.exit_code
    return VoidRace.exit_code if answer == "void" else 0


def _run_races(folder: TuneFolder, console: Console, *, is_resumed: bool, budget_s: float | None) -> TuneEnd:
    from pacenote.cli.experiment import run_races as run_experiment_races
    from pacenote.cli.lab.tune_progress import TuneLines
    from pacenote.lab.other_races import announced, other_races
    from pacenote.lab.race_child import run_races
    from pacenote.lab.tune.run import TuneRun, run_tune
    from pacenote.store.race_store import RaceStore

    with folder.locked(), announced():
        plan: TunePlan = folder.plan()
        knobs = format_count(len(plan.knobs), "knob")
        console.progress(f"search {folder.tune_id}: {plan.objective.metric}, {knobs}")
        races = RaceStore(default_home())
        return run_tune(
            TuneRun(
                folder,
                races,
                run_races,
                lambda confirmation, experiment: run_experiment_races(confirmation, experiment, console),
                TuneLines(console),
                others=partial(other_races, races),
                is_resumed=is_resumed,
                budget_s=budget_s,
            )
        )
