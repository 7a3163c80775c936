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
from collections.abc import Iterable, Iterator
from pathlib import Path

from pacenote.cli.output.named_file import create_parents, opened_named_file
from pacenote.errors import StoreError, UsageError
from pacenote.system.ownership import planted_path
from pacenote.system.paths import exists, is_file

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
    is_new = not exists(file)
    # What is created behind a link is removed, not the link.
    target = Path(os.path.realpath(file)) if is_new else file
    if problem := planted_path(file):
        raise UsageError(f"--report-file {file} cannot be written: {problem}", hint=_ELSEWHERE)
    created = [folder for folder in target.parents if not exists(folder)]
    try:
        create_parents(target)
        _check_writable(target)
    except OSError as error:
        raise UsageError(f"--report-file {file} cannot be written: {error.strerror}") from error
    finally:
        # What another user has put there meanwhile may lead to a file that was not created here.
        if not planted_path(file):
            _remove_created(([target] if is_new else []), created)
    return file


def _remove_created(files: Iterable[Path], folders: Iterable[Path]) -> None:
    for file in files:
        with contextlib.suppress(OSError):
            file.unlink()
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _check_writable(file: Path) -> None:
    """Raises OSError if a file cannot be written. A pipe is not opened: that would wait for its reader."""
    if file.is_fifo():
        if not os.access(file, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return
    with opened_named_file(file, "a"):
        pass


def write_report_file(file: Path, text: str, report_format: str | None) -> Path:
    """Writes a report and returns the file that has it. Raises StoreError."""
    try:
        # The race has taken long since the path was checked.
        if problem := planted_path(file):
            raise StoreError(f"cannot write the report to {file}: {problem}", hint=_ELSEWHERE)
        create_parents(file)
        if report_format in _APPENDED or not _has_report(file):
            with opened_named_file(file, "a") as stream:
                stream.write(text)
            return file
        for other in _numbered(file):
            with contextlib.suppress(FileExistsError), opened_named_file(other, "x") as stream:
                stream.write(text)
                return other
    except OSError as error:
        raise StoreError(f"cannot write the report to {file}: {error.strerror}") from error
    raise StoreError(f"cannot write the report to {file}: there is no free name")


def _has_report(file: Path) -> bool:
    """Returns whether a regular file is not empty; a terminal or a pipe takes any number of reports."""
    return is_file(file) and file.stat().st_size > 0


def _numbered(file: Path) -> Iterator[Path]:
    """Yields `report-2.json`, `report-3.json`, … for `report.json`."""
    return (file.with_name(f"{file.stem}-{number}{file.suffix}") for number in itertools.count(2))
