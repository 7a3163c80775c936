"""Printing the result of a search: as text, as Markdown, or as JSON."""

from __future__ import annotations

import argparse

from pacenote.cli.console import Console
from pacenote.cli.lab.experiment_output import report_markdown, report_text
from pacenote.lab.tune.evaluate import tune_result
from pacenote.lab.tune.progress import TuneProgress
from pacenote.model.output_text import json_text
from pacenote.model.tune import TuneAnswer
from pacenote.report.tune import build_tune_report
from pacenote.store.race_store import RaceStore
from pacenote.store.tune_store import TuneFolder


def show_result(
    folder: TuneFolder, options: argparse.Namespace, console: Console, *, paused: str = ""
) -> TuneAnswer:
    """Prints what a search has found, and returns the answer; `paused` is why it does not go on now.

    Raises StoreError.
    """
    state = TuneProgress.of(folder.plan(), folder.journal())
    result = tune_result(state, RaceStore(), paused, running=folder.is_running())
    if options.report_format == "json":
        console.result_without_secrets(json_text(result.to_document()))
        return result.answer
    report = build_tune_report(result)
    if options.report_format == "markdown":
        console.result_without_secrets(report_markdown(report))
    else:
        console.result_lines(report_text(report, console.result_width))
    return result.answer
