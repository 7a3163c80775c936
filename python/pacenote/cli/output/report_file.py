"""The file of `--report-file`.

Markdown is appended, as in Rally. A JSON or CSV file with two reports would not be valid, so a second report
goes to a file with a number in its name.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from pacenote.cli.output.named_file import create_parents, opened_named_file
from pacenote.errors import StoreError, UsageError
from pacenote.model.output_text import log_text
from pacenote.system.named_file import NamedFile, PlantedPathError, named_file

_APPENDED = (None, "markdown")
"""Values of `--report-format` of which a file may contain several reports."""


_ELSEWHERE = "choose a file in a folder of yours"


def check_report_size(options: argparse.Namespace) -> None:
    """Raises UsageError if the short report, which is text for a screen, is asked for in a format; with
    `--report-file`, the file has the format.
    """
    if options.report == "short" and options.report_format is not None and options.report_file is None:
        raise UsageError(
            f"--report=short is not available as {options.report_format}",
            hint="omit --report=short or --report-format, or add --report-file=FILE for the format",
        )


def check_report_file(file: Path | None) -> Path | None:
    """Returns the absolute path, because a track's Python code may change the current folder.

    Raises UsageError if the report could not be written after the race. Creates nothing that stays.
    """
    if file is None:
        return None
    file = file.absolute()
    try:
        with named_file(file, creates_folders=True) as named:
            try:
                _check_writable(named)
            finally:
                named.remove_created_folders()
    except PlantedPathError as error:
        hint = _ELSEWHERE
        raise UsageError(f"--report-file {file} cannot be written: {error.strerror}", hint=hint) from error
    except OSError as error:
        raise UsageError(f"--report-file {file} cannot be written: {error.strerror}") from error
    return file


def _check_writable(file: NamedFile) -> None:
    """Raises OSError if a file cannot be written. A pipe is not opened: that would wait for its reader."""
    if file.status is not None and stat.S_ISFIFO(file.status.st_mode):
        if not os.access(file.opened_path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return
    is_new = file.is_new
    os.close(file.open_descriptor("a"))
    if is_new:
        file.remove()


def write_report_file(file: Path, text: str, report_format: str | None) -> Path:
    """Writes a report and returns the file that has it. Raises StoreError."""
    # The file may be a pipe or a terminal, or be printed in a log later.
    text = log_text(text)
    try:
        create_parents(file)
        if report_format in _APPENDED or not _has_report(file):
            with opened_named_file(file, "a") as stream:
                stream.write(text)
            return file
        for other in _numbered(file):
            with contextlib.suppress(FileExistsError), opened_named_file(other, "x") as stream:
                stream.write(text)
                return other
    except PlantedPathError as error:
        raise StoreError(f"cannot write the report to {file}: {error.strerror}", hint=_ELSEWHERE) from error
    except OSError as error:
        raise StoreError(f"cannot write the report to {file}: {error.strerror}") from error
    raise StoreError(f"cannot write the report to {file}: there is no free name")


def _has_report(file: Path) -> bool:
    """Returns whether a regular file is not empty; a terminal or a pipe takes any number of reports, and so
    does standard output that leads to a file.
    """
    with named_file(file) as named:
        return named.status is not None and not named.is_special and named.status.st_size > 0


def _numbered(file: Path) -> Iterator[Path]:
    """Yields `report-2.json`, `report-3.json`, … for `report.json`."""
    return (file.with_name(f"{file.stem}-{number}{file.suffix}") for number in itertools.count(2))
