"""`pacenote jfr`: what Flight Recorder recordings say, as tables, flame graphs and files for viewers."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.options import values
from pacenote.cli.options.unavailable import UnavailableOption
from pacenote.cli.output.report_file import check_report_file, write_report_file
from pacenote.cli.parser import Parser, Several
from pacenote.units import LONGEST_S

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.cli.recordings import Moment
    from pacenote.model.recording import Recording
    from pacenote.report.recording.build import RecordingFilter, RecordingReport

UNAVAILABLE_OPTIONS: dict[str, UnavailableOption] = {}

_EVENTS = (
    *("allocation", "allocation-in-new-tlab", "allocation-outside-tlab", "allocation-sample"),
    *("cpu", "cpu-time", "wall", "native", "lock", "park", "wait", "file-io", "socket-io"),
)
"""The names of `report.recording.events`, which --help need not import."""

_ROWS = 12

_FIRST, _END = datetime(1970, 1, 1, tzinfo=UTC), datetime(2262, 1, 1, tzinfo=UTC)
"""Between these times, nanoseconds since 1970 are numbers of 64 bits."""


def add_options(parser: Parser) -> None:
    """Adds the recordings, the selection of events, and the outputs."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        type=values.path,
        help="recording of a JVM, also one that gzip has compressed; several are shown as one",
    )
    parser.add_argument(
        "--race",
        default="",
        metavar="RACE",
        help="read the recording of this race instead: its id, a prefix of it, or 'latest'",
    )
    parser.add_argument(
        "--task",
        default="",
        help="only events in the measured part of this task of the race (default: all)",
        harmless=True,
    )
    parser.add_argument(
        "--node", default="", metavar="NAME", help="node of the race, if it has recordings of several"
    )
    parser.add_argument(
        "--baseline",
        type=values.paths,
        default=(),
        metavar="FILE,…",
        help="recordings to compare with, in tables and in the colours of the flame graph (default: none)",
    )
    parser.add_argument(
        "--baseline-race",
        default="",
        metavar="RACE",
        help="compare with the recording of this race, cut to --task as well (default: none)",
    )
    _add_selection(parser)
    with parser.group("report"):
        _add_outputs(parser)


def _add_selection(parser: Parser) -> None:
    parser.add_argument(
        "--event",
        choices=_EVENTS,
        metavar="EVENT",
        help=f"kind of events: {', '.join(_EVENTS)} (default: cpu for graphs and stacks; tables of all but "
        "native and wait)",
        harmless=True,
    )
    parser.add_argument(
        "--thread",
        type=values.escaped_list,
        action=Several,
        default=(),
        metavar="NAME,…",
        help="only threads whose names contain one of these, such as bulk (default: all)",
        harmless=True,
    )
    parser.add_argument(
        "--class",
        dest="class_name",
        default="",
        metavar="CLASS",
        help="only allocations of this class, or waits for its locks, such as byte[] (default: all)",
        harmless=True,
    )
    for name, text in (("--from", "only events since this time"), ("--to", "only events before it")):
        parser.add_argument(
            name,
            dest=f"window_{name[2:]}",
            type=_moment,
            metavar="TIME",
            help=f"{text}: seconds since the start of the recording, or a time in UTC such as "
            "2025-01-31T23:59:59 (default: all)",
            harmless=True,
        )


def _add_outputs(parser: Parser) -> None:
    for name, text in (
        ("--flame-graph", "write the stacks as a flame graph, one HTML page, to this file"),
        ("--folded", "write the stacks as folded text"),
        ("--speedscope", "write the stacks in speedscope's format"),
    ):
        parser.add_argument(
            name,
            type=values.output_file,
            metavar="FILE",
            help=f"{text}; - is standard output (default: none)",
        )
    parser.add_flag("--by-thread", help="show the stacks of each thread apart", harmless=True)
    parser.add_argument(
        "--limit",
        type=values.count,
        default=_ROWS,
        help=f"maximum number of rows of a table in Markdown; 0 for all (default: {_ROWS})",
        harmless=True,
    )
    parser.add_argument(
        "--report-format",
        choices=("markdown", "csv", "json"),
        metavar="FORMAT",
        help="print the tables as markdown, csv or json (default: markdown, or none if stacks are written)",
        harmless=True,
    )
    parser.add_argument(
        "--report-file",
        type=values.output_file,
        help="also write the tables to this file: markdown is appended, other formats get a new file "
        "(default: none)",
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Prints tables, or writes stacks, and returns 0. Raises EvidenceError, StoreError and UsageError."""
    from pacenote.cli import recordings
    from pacenote.cli.output import stack_files
    from pacenote.report.recording.build import RecordingFilter

    options.report_file = check_report_file(options.report_file)
    recordings.check_options(options)
    files, other = recordings.chosen_files(options)
    outputs = stack_files.outputs(options)
    stack_files.check_outputs(outputs, (*files.paths, *(other.paths if other else ())))
    recording = recordings.read(files, options)
    baseline = recordings.read(other, options) if other else None
    chosen = RecordingFilter(
        (options.event,) if options.event else (), options.thread, options.class_name, options.task
    )
    if outputs:
        stack_files.write_stacks(outputs, stack_files.Sources(recording, baseline, chosen), options, console)
    if not outputs or options.report_format is not None or options.report_file is not None:
        _show_tables(recording, baseline, chosen, options, console)
    return 0


def _moment(text: str) -> Moment:
    """Parses seconds, or a time in UTC. Raises ArgumentTypeError, so that the message names the option."""
    try:
        seconds = float(text)
    except ValueError:
        pass
    else:
        if not 0.0 <= seconds <= LONGEST_S:
            limits = f"at most {LONGEST_S:,}" if seconds > 0 else "at least 0"
            raise argparse.ArgumentTypeError(f"must be seconds of {limits}, or a time, not '{text}'")
        return seconds
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be seconds, or a time such as 2025-01-31T23:59:59, not '{text}'"
        ) from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if not _FIRST <= moment < _END:
        raise argparse.ArgumentTypeError(
            f"must be a time from {_FIRST.year} to {_END.year - 1}, not '{text}'"
        )
    return moment


def _show_tables(
    recording: Recording,
    baseline: Recording | None,
    chosen: RecordingFilter,
    options: argparse.Namespace,
    console: Console,
) -> None:
    """Prints the tables, and writes them to `--report-file`. Raises StoreError."""
    from pacenote.report.recording.build import build_recording_report

    report = build_recording_report(recording, baseline, chosen)
    console.result(_text(report, options, console.result_width))
    if options.report_file is not None:
        text = _text(report, options, None)
        written = write_report_file(options.report_file, text, options.report_format)
        if written != options.report_file:
            console.progress(f"the report is in {written}, because {options.report_file.name} has one")


def _text(report: RecordingReport, options: argparse.Namespace, width: int | None) -> str:
    from pacenote.report.render import recording as render

    if options.report_format == "csv":
        return render.render_recording_csv(report)
    if options.report_format == "json":
        return render.render_recording_json(report)
    return render.render_recording(report, options.limit, width)
