"""`pacenote report`: prints the report of a stored race or saturation."""

from __future__ import annotations

import argparse

from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.cli.gates.thresholds import check_thresholds, threshold_exit_code
from pacenote.cli.lab.saturation_output import show_saturation
from pacenote.cli.options import values
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.output.page_file import IN_FOLDER
from pacenote.cli.output.race_findings import race_evidence, race_profiles
from pacenote.cli.output.race_page import write_page
from pacenote.cli.output.report_file import check_report_size
from pacenote.cli.output.report_output import add_report_options, asks_for_profile, is_short, show_report
from pacenote.cli.parser import Parser
from pacenote.errors import UsageError
from pacenote.evidence.recover import missing_files, recover
from pacenote.store.race_store import RaceStore

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}


def add_options(parser: Parser) -> None:
    """Adds the race and Rally's report options."""
    parser.add_argument("race", metavar="RACE", help="id of the race, a unique prefix of it, or 'latest'")
    add_report_options(parser)
    parser.add_flag("--full", help="show all figures; the same as --report=full", harmless=True)
    with parser.group("report"):
        parser.add_argument(
            "--html",
            nargs="?",
            type=values.page_file,
            const=IN_FOLDER,
            metavar="FILE",
            help="write the report as a page to this file, or to report.html in the folder of the race, and "
            "print its path in place of the report",
        )


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints the report of a race, or the result of a saturation, and returns 0 even if it is void, or 3 if
    the race does not keep a threshold.

    Raises StoreError, and UsageError if the result is not available in the given form.
    """
    if options.full:
        options.report = "full"
    check_report_size(options)
    check_thresholds(options)
    folder = RaceStore().folder(options.race)
    is_running = folder.is_in_use()
    record = folder.read()
    saturation = folder.read_saturation()
    if saturation is not None and options.threshold:
        raise UsageError("--threshold is for races, and this is a saturation", hint="it has its limits")
    # The files of a saturation are those of its probes.
    missing = missing_files(folder, record) if saturation is None else ()
    changed = folder.plan_problem(record)
    renamed = [folder.other_name] if folder.other_name else []
    for problem in (*renamed, *missing, *([changed] if changed else []), *recover(folder)):
        console.warning(problem)
    if options.html is not None:
        write_page(record, folder, options.html, console)
    elif saturation is None:
        from pacenote.report.race_evidence import RaceEvidence

        seen = RaceEvidence()
        if is_short(options, console):
            seen = race_evidence(record, folder.path, console)
        elif asks_for_profile(options):
            seen = RaceEvidence(profiles=race_profiles(record, folder.path))
        show_report(record, folder.path, options, console, replace(seen, is_running=is_running))
    else:
        show_saturation(saturation, record, folder.path, options, console)
    return threshold_exit_code(record, options, console)
