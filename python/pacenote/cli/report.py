"""`pacenote report`: prints the report of a stored race or saturation."""

from __future__ import annotations

import argparse

from pacenote.cli.console import Console
from pacenote.cli.parser import Parser
from pacenote.cli.report_file import check_report_size
from pacenote.cli.report_output import add_report_options, show_report
from pacenote.cli.saturation_output import show_saturation
from pacenote.cli.unavailable import UnavailableOption
from pacenote.race.recover import missing_files, recover
from pacenote.store.race_store import RaceStore

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}


def add_options(parser: Parser) -> None:
    """Adds the race and Rally's report options."""
    parser.add_argument("race", metavar="RACE", help="id of the race, a unique prefix of it, or 'latest'")
    add_report_options(parser)
    parser.add_flag("--full", help="show all figures; the same as --report=full")


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints the report of a race, or the result of a saturation, and returns 0 even if it is void.

    Raises StoreError, and UsageError if the result cannot be printed in the given format.
    """
    if options.full:
        options.report = "full"
    check_report_size(options)
    folder = RaceStore().folder(options.race)
    is_running = folder.is_in_use()
    record = folder.read()
    saturation = folder.read_saturation()
    # The files of a saturation are those of its probes.
    missing = missing_files(folder, record) if saturation is None else ()
    changed = folder.plan_problem(record)
    for problem in (*missing, *([changed] if changed else []), *recover(folder)):
        console.warning(problem)
    if saturation is None:
        show_report(record, folder.path, options, console, is_running=is_running)
    else:
        show_saturation(saturation, record, folder.path, options, console)
    return 0
