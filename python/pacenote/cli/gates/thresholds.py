"""`--threshold` of `pacenote race` and `pacenote report`: limits of one race that make the command fail."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.parser import EachGiven, Parser
from pacenote.errors import UsageError, VoidRace

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.race_record import RaceRecord


def add_threshold_option(parser: Parser) -> None:
    """Adds the option."""
    parser.add_argument(
        "--threshold",
        action=EachGiven,
        default=(),
        metavar="LIMIT",
        help='exit with 3 unless intervals are within it: "p99:term<100ms", "errors<0.1%%", "recall>0.9"; '
        "can be repeated (default: none)",
        harmless=True,
    )


def check_thresholds(options: argparse.Namespace) -> None:
    """Raises UsageError for a threshold of another form, and for JUnit without one."""
    from pacenote.compare.thresholds import HINT, parse_threshold

    for text in options.threshold:
        parse_threshold(text)
    if options.report_format == "junit" and not options.threshold:
        raise UsageError("--report-format=junit needs a --threshold", hint=HINT)


def threshold_exit_code(record: RaceRecord, options: argparse.Namespace, console: Console) -> int:
    """Says which thresholds a race does not keep, and returns 3 if there is one, and otherwise 0."""
    if not options.threshold:
        return 0
    from pacenote.compare.thresholds import judge_thresholds, parse_threshold

    failed = [
        one for one in judge_thresholds(record, list(map(parse_threshold, options.threshold))) if one.problem
    ]
    for result in failed:
        of = f" of {result.task}" if result.task and not result.threshold.task else ""
        value = f"{result.value}: " if result.value else ""
        console.warning(f"--threshold={result.threshold.text}{of}: {value}{result.problem}")
    return VoidRace.exit_code if failed else 0
