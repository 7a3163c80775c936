"""Printing the result of an experiment: as text, as Markdown, as JSON, or as JUnit XML."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.gates.experiment import result_junit
from pacenote.cli.output.report_file import write_report_file
from pacenote.cli.output.tables import Fit, table
from pacenote.cli.program import as_started
from pacenote.model.output_text import json_text

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.experiment import Experiment
    from pacenote.model.experiment_result import ExperimentResult
    from pacenote.report.experiment import ExperimentReport
    from pacenote.store.experiment_store import ExperimentFolder


def show_result(
    folder: ExperimentFolder,
    experiment: Experiment,
    options: argparse.Namespace,
    console: Console,
    *,
    paused: str = "",
) -> ExperimentResult:
    """Prints what an experiment has found, and returns it; `paused` is why it does not go on now.

    Raises StoreError.
    """
    from pacenote.lab.experiment.evaluate import Evaluation
    from pacenote.lab.experiment.progress import ExperimentProgress
    from pacenote.report.experiment import build_experiment_report
    from pacenote.store.race_store import RaceStore

    progress = ExperimentProgress.of(folder.plan(), folder.journal())
    running = folder.is_running()
    result = Evaluation(experiment, RaceStore()).result(progress, paused=paused, running=running)
    report = build_experiment_report(result)
    if options.report_format == "json":
        text = json_text(result.to_document())
    elif options.report_format == "junit":
        text = result_junit(result, options)
    else:
        text = report_markdown(report) if options.report_format == "markdown" else report_text(report, None)
    if options.report_format in (None, "text"):
        console.result_lines(report_text(report, console.result_width))
    else:
        console.result(text)
    if options.report_file is not None:
        appended = None if options.report_format == "text" else options.report_format
        written = write_report_file(options.report_file, text, appended)
        if written != options.report_file:
            console.progress(f"the report is in {written}, because {options.report_file.name} has one")
    return result


def report_text(report: ExperimentReport, width: int | None) -> str:
    """Returns a report as text; `width` are the columns of the terminal, None for any number."""
    parts = [report.title, "", *report.answers]
    for shown in report.tables:
        fit = Fit(width, tuple((column, 10) for column in range(len(shown.headers))))
        parts += ["", f"{shown.title}:", table(shown.headers, shown.rows, fit).rstrip("\n")]
    parts += ["", "What limits it:", *(f"- {limit}" for limit in report.limits)] if report.limits else []
    parts += ["", *(f"- {note}" for note in report.notes)]
    parts += [as_started(f"next: {line}") for line in report.next]
    return "".join(f"{line}\n" for line in parts)


def report_markdown(report: ExperimentReport) -> str:
    """Returns a report as Markdown."""
    from pacenote.report.render.markdown import escape, pipe_table

    parts = [f"# {escape(report.title)}", "", *(f"{escape(line.strip())}  " for line in report.answers)]
    for shown in report.tables:
        parts += ["", f"## {escape(shown.title)}", "", pipe_table(shown.headers, shown.rows, "right")]
    if report.limits:
        parts += [
            "",
            "## What limits it",
            "",
            *(f"- {escape(limit)}" for limit in report.limits),
            "",
            "## Notes",
        ]
    parts += ["", *(f"- {escape(line)}" for line in report.notes)]
    parts += ["", "## Next", "", *(f"- {escape(line)}" for line in report.next)] if report.next else []
    return "".join(f"{line}\n" for line in parts)
