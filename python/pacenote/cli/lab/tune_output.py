"""Printing the result of a search: as text, as Markdown, or as JSON."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from pacenote.cli.console import Console
from pacenote.cli.lab.experiment_output import report_markdown, report_text
from pacenote.cli.lab.tune_page import check_first
from pacenote.lab.tune.evaluate import tune_result
from pacenote.lab.tune.progress import TuneProgress
from pacenote.model.output_text import json_text
from pacenote.model.tune import TuneAnswer
from pacenote.report.experiment import ExperimentReport, TextTable
from pacenote.report.tune import build_tune_report
from pacenote.store.race_store import RaceStore
from pacenote.store.tune_store import TuneFolder


def show_result(
    folder: TuneFolder, options: argparse.Namespace, console: Console, *, paused: str = ""
) -> TuneAnswer:
    """Prints what a search has found, and returns the answer; `paused` is why it does not go on now.

    Raises StoreError.
    """
    plan = folder.plan()
    state = TuneProgress.of(plan, folder.journal())
    result = tune_result(state, RaceStore(), paused, running=folder.is_running())
    if options.report_format == "json":
        console.result(json_text(console.redacted_value(result.to_document())))
        return result.answer
    if result.options and (check := check_first(folder, plan)):
        console.warning(check)
    report = _public(build_tune_report(result), console.redacted)
    if options.report_format == "markdown":
        console.result(report_markdown(report))
    else:
        console.result_lines(report_text(report, console.result_width))
    return result.answer


def _public(report: ExperimentReport, redacted: Callable[[str], str]) -> ExperimentReport:
    """Returns a report whose texts, each on its own, have no secrets."""

    def public(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(redacted, texts))

    return ExperimentReport(
        title=redacted(report.title),
        answers=public(report.answers),
        tables=tuple(
            TextTable(redacted(table.title), public(table.headers), tuple(map(public, table.rows)))
            for table in report.tables
        ),
        notes=public(report.notes),
        next=public(report.next),
        limits=public(report.limits),
    )
