"""`pacenote gc`: the statistics of GC logs, several side by side."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.parser import Parser
from pacenote.errors import EvidenceError
from pacenote.units import format_count

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.gc_log import GcInput, GcLog

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}

_NARROW_NAME = 24
"""Columns to which the names of statistics are shortened on a narrow terminal."""


def add_options(parser: Parser) -> None:
    """Adds the files and the format."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        type=values.path,
        help="a GC log, plain or compressed; the files of a rotated log (gc.log, gc.log.0, …) are one",
    )
    parser.add_argument(
        "--all-jvms",
        action="store_true",
        help="also show JVMs that did not collect, such as those that start an engine (default: only if "
        "none of a log did)",
        harmless=True,
    )
    parser.add_argument(
        "--report-format",
        choices=("markdown", "csv", "json"),
        metavar="FORMAT",
        help="markdown, csv or json with all figures (default: a table on a terminal, otherwise markdown)",
        harmless=True,
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints the statistics of all logs that can be read, and returns 0 if these are all.

    Raises EvidenceError if none can be read.
    """
    from pacenote.evidence.gc_files import group_files, unnamed_files
    from pacenote.evidence.gc_log import GcLogReader

    columns: list[_Column] = []
    inputs: list[GcInput] = []
    errors: list[EvidenceError] = []
    groups = group_files(options.files)
    for path, group in groups.items():
        try:
            reader = GcLogReader(group)
            runs, read = reader.logs(), reader.read_input()
        except EvidenceError as error:
            errors.append(error)
            continue
        columns += [_Column(path, run, log) for run, log in enumerate(runs, 1)]
        inputs.append(read)
        left_out = unnamed_files(path, group)
        if left_out:
            files = format_count(len(left_out), "file")
            listed = ", ".join(file.name for file in left_out)
            console.warning(f"{files} beside {path} not read: {listed}; name all files of a rotated log")
    if columns:
        _show(_selected(columns, options, console), list(groups), inputs, options, console)
    for failure in errors if columns else errors[:-1]:
        console.error(failure)
    if not columns:
        raise errors[-1]
    return errors[-1].exit_code if errors else 0


class _Column(Struct, frozen=True):
    """The log of one run of a JVM."""

    path: Path
    """The path of the log, without the numbers of its files."""

    run: int
    """The number of the run among those of the log, from 1 on."""

    log: GcLog
    """The log."""


def _selected(columns: list[_Column], options: argparse.Namespace, console: Console) -> list[_Column]:
    """Returns the JVMs that are shown: without those that did not collect, if others of the same log did."""
    with_collections = {column.path for column in columns if not column.log.has_no_collection}
    shown = [
        column
        for column in columns
        if options.all_jvms or not column.log.has_no_collection or column.path not in with_collections
    ]
    if len(shown) == len(columns):
        return columns
    jvms = format_count(len(columns) - len(shown), "JVM")
    console.warning(
        f"{jvms} without a collection left out, such as those that start an engine; see --all-jvms"
    )
    return shown


def _names(columns: list[_Column], paths: list[Path]) -> list[str]:
    """Returns a name for each column: the file's, or the path if several have it, and the run of the JVM,
    or its container, if several are shown of the log.
    """
    names = []
    for column in columns:
        is_unique = sum(other.name == column.path.name for other in paths) == 1
        name = column.path.name if is_unique else str(column.path)
        of_log = [other for other in columns if other.path == column.path]
        containers = [other.log.container for other in of_log]
        if len(of_log) == 1:
            names.append(name)
        elif column.log.container is not None and containers.count(column.log.container) == 1:
            names.append(f"{name} ({column.log.container})")
        else:
            names.append(f"{name} (run {column.run})")
    return names


def _show(
    columns: list[_Column],
    paths: list[Path],
    inputs: list[GcInput],
    options: argparse.Namespace,
    console: Console,
) -> None:
    names, logs = _names(columns, paths), [column.log for column in columns]
    if options.report_format == "json":
        from pacenote.model.codec import encode
        from pacenote.model.output_text import json_text

        named = [{"name": name, **encode(log)} for name, log in zip(names, logs, strict=True)]
        console.result(json_text({"logs": named, "inputs": encode(inputs)}))
        return
    from pacenote.report.gc_log import build_gc_report
    from pacenote.report.render.gc_log import gc_cells, gc_headers, render_gc_csv, render_gc_markdown

    problems = [problem for each in inputs for problem in each.problems]
    report = build_gc_report(names, logs, problems)
    if options.report_format == "csv":
        console.result(render_gc_csv(report))
        for problem in problems:
            console.warning(problem)
    elif options.report_format == "markdown" or not console.shows_results_on_terminal:
        console.result(render_gc_markdown(report))
    else:
        from pacenote.cli.output.tables import Fit, table

        fit = Fit(console.result_width, ((0, _NARROW_NAME),))
        console.result(table(gc_headers(report), list(gc_cells(report)), fit))
        console.result_lines("".join(f"{note}\n" for note in report.notes))
