"""Report options, and printing a report according to them."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs
from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.cli.gates.thresholds import add_threshold_option
from pacenote.cli.options import values
from pacenote.cli.output import report_file
from pacenote.cli.parser import Parser
from pacenote.cli.program import program
from pacenote.units import format_count

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.race_record import RaceRecord
    from pacenote.model.race_state import RaceState
    from pacenote.report.race_evidence import RaceEvidence
    from pacenote.report.recording.hot_methods import NodeProfile
    from pacenote.report.rows import Report
    from pacenote.report.screen.build import RaceLocation
    from pacenote.store.race_folder import ReachedStep

FORMATS = ("markdown", "csv", "csv-full", "json", "junit")

_FOUR_COLUMNS = "csv"
"""The format that has no place for the verdict."""


def add_report_options(parser: Parser) -> None:
    """Adds Rally's report options, and those that select what is shown."""
    parser.add_argument(
        "--report",
        choices=("short", "full"),
        metavar="SIZE",
        help="short, one line per task, or full, all figures (default: short on a terminal, otherwise full)",
        harmless=True,
    )
    parser.add_argument(
        "--report-format",
        choices=FORMATS,
        metavar="FORMAT",
        help="markdown, csv as Rally's, csv-full, json, or junit of thresholds (default: a table on a "
        "terminal, otherwise markdown)",
        harmless=True,
    )
    parser.add_argument(
        "--report-numbers-align",
        choices=("right", "center", "left", "decimal"),
        default="decimal",
        help="how values are aligned: right, center, left or decimal (default: decimal)",
        harmless=True,
    )
    parser.add_argument(
        "--report-file",
        type=values.output_file,
        help="also write the full report to this file: markdown is appended, other formats get a new file "
        "(default: none)",
    )
    parser.add_argument(
        "--show-in-report",
        choices=("available", "all-percentiles", "all"),
        default="available",
        metavar="ROWS",
        help="rows without a value: available (none of them), all-percentiles or all (default: available)",
        harmless=True,
    )
    add_threshold_option(parser)
    parser.add_flag(
        "--show-processing-time", help="show the processing time of tasks in the full report", harmless=True
    )


def check_report_file(options: argparse.Namespace) -> None:
    """Raises UsageError before a race if its report could not be written after it."""
    options.report_file = report_file.check_report_file(options.report_file)


def show_report(
    record: RaceRecord,
    folder: Path,
    options: argparse.Namespace,
    console: Console,
    evidence: RaceEvidence | None = None,
) -> None:
    """Prints the report of the race in `folder`, and writes it to `--report-file`. `evidence` is what the
    last screen shows beside the record. Raises StoreError.
    """
    is_running = evidence is not None and evidence.is_running
    record, state, reached = as_reported(record, folder, is_running=is_running)
    profiles = evidence.profiles if evidence else ()
    shown = partial(_build, record, options, _progress(state, reached), profiles)
    if is_short(options, console):
        from pacenote.report.render.screen import render_screen
        from pacenote.report.screen.build import build_screen

        screen = build_screen(record, race_location(folder, state), evidence)
        render_screen(screen, console.rich_results())
    else:
        _show_full(shown(), record, options, console)
    if options.report_file is not None:
        write_report(_plain(shown(), record, options), options, console)


def as_reported(
    record: RaceRecord, folder: Path, *, is_running: bool
) -> tuple[RaceRecord, RaceState, ReachedStep | None]:
    """Returns the record of the race in `folder` as reports show it, its state, and how far it is. The record
    of a race that is not complete says so.
    """
    from pacenote.store.race_folder import RaceFolder

    state = _state(record, is_running=is_running)
    if state == "complete":
        return record, state, None
    reached = RaceFolder(folder).reached(record)
    return _as_incomplete(record, state, reached), state, reached


def write_report(text: str, options: argparse.Namespace, console: Console) -> None:
    """Writes a report to `--report-file`, and states if the file has another name. Raises StoreError."""
    written = report_file.write_report_file(options.report_file, text, options.report_format)
    if written != options.report_file:
        console.progress(f"the report is in {written}, because {options.report_file.name} has one")


def is_short(options: argparse.Namespace, console: Console) -> bool:
    """Returns whether the report is the last screen: on a terminal, unless an option asks for the table."""
    if options.report is not None:
        return bool(options.report == "short")
    asked = options.report_format is not None or options.show_in_report != "available"
    return console.shows_results_on_terminal and not asked


def shows_profile(options: argparse.Namespace) -> bool:
    """Returns whether the full report shows the hottest methods: as a table, not as data."""
    return options.report_format in (None, "markdown")


def asks_for_profile(options: argparse.Namespace) -> bool:
    """Returns whether the options ask for the hottest methods, for which recordings have to be read: they may
    be large, and a report that is piped is the full one by default.
    """
    return options.report == "full" and shows_profile(options)


def _state(record: RaceRecord, *, is_running: bool) -> RaceState:
    """Returns the state of a race as the list of races has it."""
    from pacenote.model.race_state import race_state

    state = race_state(record)
    if state != "unfinished":
        return state
    return "running" if is_running else "killed"


def _as_incomplete(record: RaceRecord, state: RaceState, reached: ReachedStep | None) -> RaceRecord:
    """Returns the record of a race that is not complete, which says how far it is, or what is missing."""
    from pacenote.model.finding import INTERRUPTED, NOT_FINISHED, aborted, name_tasks

    step, missing = "", ""
    if reached is not None:
        step = f"step {reached.step} of {reached.steps}"
        step += f" ({name_tasks(reached.tasks)})" if reached.tasks else ""
        if reached.not_run:
            count = format_count(len(reached.not_run), "task was", "tasks were")
            missing = f"; {count} not run: {name_tasks(reached.not_run)}"
    where = f" in {step}" if step else ""
    texts = {INTERRUPTED.text: f"interrupted{where}{missing}"}
    if record.aborted:
        texts[aborted(record.aborted).text] = f"aborted{where}: {record.aborted}{missing}"
    texts[NOT_FINISHED.text] = (
        f"the race is still running{where}"
        if state == "running"
        else f"the process of the race ended without finishing it{where}{missing}"
    )
    findings = (
        one if one.tasks else structs.replace(one, text=texts.get(one.text, one.text))
        for one in record.verdict.findings
    )
    return structs.replace(record, verdict=structs.replace(record.verdict, findings=tuple(findings)))


def _progress(state: RaceState, reached: ReachedStep | None) -> str:
    """Returns how far a running race is, or an empty text for any other race."""
    if state != "running":
        return ""
    return f"running (step {reached.step} of {reached.steps})" if reached else "running"


def race_location(folder: Path, state: RaceState) -> RaceLocation:
    """Returns where the race in `folder` is stored, as shown to the user."""
    from pacenote.report.screen.build import RaceLocation
    from pacenote.store.race_store import RaceStore

    short_ids = RaceStore(folder.parents[1]).short_ids((folder.name,))
    return RaceLocation(_below_home(folder), short_ids[folder.name], state, program())


def _below_home(folder: Path) -> str:
    """Returns the path of a folder, which begins with `~` if it is in the user's home."""
    try:
        return str(Path("~") / folder.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(folder)


def _show_full(report: Report, record: RaceRecord, options: argparse.Namespace, console: Console) -> None:
    if options.report_format is None and console.shows_results_on_terminal:
        from pacenote.report.render.terminal import render_terminal

        render_terminal(report, console.rich_results(), options.report_numbers_align)
        return
    console.result(_plain(report, record, options))
    if options.report_format == _FOUR_COLUMNS and record.verdict.state != "valid":
        console.warning(f"the race is {record.verdict.state}: {'; '.join(record.verdict.reasons)}")


def _build(
    record: RaceRecord, options: argparse.Namespace, progress: str, profiles: tuple[NodeProfile, ...]
) -> Report:
    from pacenote.report.summary import build_report

    report = build_report(record, options.show_in_report, show_processing_time=options.show_processing_time)
    if not profiles or not shows_profile(options):
        return replace(report, progress=progress)
    from pacenote.report.profile import profile_notes, short_profile

    return replace(
        report,
        progress=progress,
        notes=(*report.notes, *profile_notes(profiles)),
        hottest=short_profile(profiles),
    )


def _plain(report: Report, record: RaceRecord, options: argparse.Namespace) -> str:
    if options.report_format == _FOUR_COLUMNS:
        from pacenote.report.render.csv import render_csv

        return render_csv(report)
    if options.report_format == "csv-full":
        from pacenote.report.render.csv import render_full_csv

        return render_full_csv(report, record.race_id)
    if options.report_format == "junit":
        from pacenote.compare.thresholds import judge_thresholds, parse_threshold
        from pacenote.report.render.thresholds_junit import render_thresholds_junit

        results = judge_thresholds(record, list(map(parse_threshold, options.threshold)))
        return render_thresholds_junit(record.race_id, results)
    if options.report_format == "json":
        from pacenote.report.render.json import render_json

        return render_json(report)
    from pacenote.report.render.markdown import render_markdown

    return render_markdown(report, options.report_numbers_align)
