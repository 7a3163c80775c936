"""Report options, and printing a report according to them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pacenote.cli import values
from pacenote.cli.console import Console
from pacenote.cli.parser import Parser
from pacenote.errors import StoreError, UsageError

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.race_record import RaceRecord
    from pacenote.report.rows import Report

FORMATS = ("markdown", "csv", "json")


def add_report_options(parser: Parser) -> None:
    """Adds Rally's report options."""
    parser.add_argument(
        "--report-format",
        choices=FORMATS,
        help=f"format of the report: {', '.join(FORMATS)} (default: a table on a terminal, otherwise "
        "markdown)",
    )
    parser.add_argument(
        "--report-numbers-align",
        choices=("right", "center", "left", "decimal"),
        default="decimal",
        help="how values are aligned: right, center, left or decimal (default: decimal)",
    )
    parser.add_argument(
        "--report-file", type=values.path, help="also append the report to this file (default: none)"
    )
    parser.add_argument(
        "--show-in-report",
        choices=("available", "all-percentiles", "all"),
        default="available",
        metavar="ROWS",
        help="rows without a value: available (none of them), all-percentiles or all (default: available)",
    )


def check_report_file(options: argparse.Namespace) -> None:
    """Raises UsageError before a race if its report could not be written after it."""
    if options.report_file is None:
        return
    # A track's Python code may change the current folder.
    options.report_file = options.report_file.absolute()
    try:
        with options.report_file.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise UsageError(
            f"--report-file {options.report_file} cannot be written: {error.strerror}"
        ) from error


def show_report(record: RaceRecord, options: argparse.Namespace, console: Console) -> None:
    """Prints the report and appends it to `--report-file`. Raises StoreError."""
    from pacenote.report.summary import build_report

    report = build_report(record, options.show_in_report)
    if options.report_format is None and console.shows_results_on_terminal:
        from pacenote.report.render.terminal import render_terminal

        render_terminal(report, console.rich_results(), options.report_numbers_align)
    else:
        console.result(_plain(report, options))
    if options.report_file is not None:
        try:
            with options.report_file.open("a", encoding="utf-8") as file:
                file.write(_plain(report, options))
        except OSError as error:
            raise StoreError(f"cannot write the report to {options.report_file}: {error.strerror}") from error


def _plain(report: Report, options: argparse.Namespace) -> str:
    if options.report_format == "csv":
        from pacenote.report.render.csv import render_csv

        return render_csv(report)
    if options.report_format == "json":
        from pacenote.report.render.json import render_json

        return render_json(report)
    from pacenote.report.render.markdown import render_markdown

    return render_markdown(report, options.report_numbers_align)
