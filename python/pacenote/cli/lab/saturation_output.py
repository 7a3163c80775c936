"""Printing the result of a saturation, after the search or later."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.output.report_output import race_location, write_report
from pacenote.errors import UsageError

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.race_record import RaceRecord
    from pacenote.model.saturation import SaturationResult

_FORMATS = ("markdown", "json")


def check_saturation_format(options: argparse.Namespace) -> None:
    """Raises UsageError if the result of a saturation cannot be printed in `--report-format`."""
    if options.report_format not in (None, *_FORMATS):
        raise UsageError(
            f"--report-format must be {' or '.join(_FORMATS)} for the result of saturate",
            hint="--report-format=json has all figures",
        )


def show_saturation(
    result: SaturationResult, record: RaceRecord, folder: Path, options: argparse.Namespace, console: Console
) -> None:
    """Prints the result of the race in `folder`, and writes it to `--report-file`.

    Raises UsageError and StoreError.
    """
    check_saturation_format(options)
    text = _text(result, record, options)
    if options.report_format is None and console.shows_results_on_terminal:
        from pacenote.model.race_state import race_state
        from pacenote.report.render.saturation import print_saturation
        from pacenote.report.saturation import build_saturation_report
        from pacenote.report.screen.build import saturation_commands, stored_race

        report = build_saturation_report(result, record.verdict, rounded=True)
        location = race_location(folder, race_state(record))
        stored, commands = stored_race(record, location), saturation_commands(location)
        print_saturation(report, stored, commands, console.rich_results())
    else:
        console.result(text)
    if options.report_file is not None:
        write_report(text, options, console)


def _text(result: SaturationResult, record: RaceRecord, options: argparse.Namespace) -> str:
    if options.report_format == "json":
        from pacenote.model.output_text import json_text

        return json_text(result.to_document())
    from pacenote.report.render.saturation import render_saturation
    from pacenote.report.saturation import build_saturation_report

    return render_saturation(build_saturation_report(result, record.verdict))
