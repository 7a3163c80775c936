"""Printing the result of a saturation, after the search or later."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.errors import StoreError, UsageError

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.race_record import RaceRecord
    from pacenote.model.saturation import SaturationResult

_FORMATS = ("markdown", "json")


def check_saturation_format(options: argparse.Namespace) -> None:
    """Raises UsageError if the result of a saturation cannot be printed in `--report-format`."""
    if options.report_format not in (None, *_FORMATS):
        raise UsageError(f"--report-format must be {' or '.join(_FORMATS)} for the result of saturate")


def show_saturation(
    result: SaturationResult, record: RaceRecord, options: argparse.Namespace, console: Console
) -> None:
    """Prints the result and appends it to `--report-file`. Raises UsageError and StoreError."""
    check_saturation_format(options)
    text = _text(result, record, options)
    console.result(text)
    if options.report_file is not None:
        try:
            with options.report_file.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise StoreError(f"cannot write the report to {options.report_file}: {error.strerror}") from error


def _text(result: SaturationResult, record: RaceRecord, options: argparse.Namespace) -> str:
    if options.report_format == "json":
        from pacenote.cli.tables import json_text

        return json_text(result.to_document())
    from pacenote.report.saturation import render_saturation

    return render_saturation(result, record.verdict)
