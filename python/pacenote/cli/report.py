"""`pacenote report`: prints the report of a stored race."""

from __future__ import annotations

import argparse

from pacenote.cli.console import Console
from pacenote.cli.parser import Parser
from pacenote.cli.report_output import add_report_options, show_report
from pacenote.race.recover import recover
from pacenote.store.race_store import RaceStore

UNAVAILABLE_OPTIONS: dict[str, str] = {}


def add_options(parser: Parser) -> None:
    """Adds the race and Rally's report options."""
    parser.add_argument("race", metavar="RACE", help="id of the race, a unique prefix of it, or 'latest'")
    add_report_options(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints the report and returns 0, even if the race is void. Raises StoreError."""
    folder = RaceStore().folder(options.race)
    record = folder.read()
    for problem in recover(folder):
        console.warning(problem)
    show_report(record, options, console)
    return 0
