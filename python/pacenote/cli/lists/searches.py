"""`pacenote tune list`: the searches of the home folder."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from pacenote.cli.console import Console
from pacenote.cli.lists.experiments import created_age
from pacenote.cli.output.tables import Fit, table
from pacenote.errors import PacenoteError
from pacenote.lab.tune.progress import TuneProgress
from pacenote.model.output_text import json_text
from pacenote.model.tune import DEFAULT
from pacenote.store.experiment_store import ExperimentStore
from pacenote.store.tune_store import TuneFolder, list_tunes
from pacenote.units import format_seconds

_WIDTH = 100


def list_searches(options: argparse.Namespace, console: Console) -> str:
    """Returns the searches of the home folder, newest first."""
    rows = [_row(folder) for folder in list_tunes(ExperimentStore())]
    if options.report_format == "json":
        names = ("tune-id", "created", "objective", "races", "time", "state")
        return json_text([dict(zip(names, row, strict=True)) for row in rows])
    if not rows:
        return "No searches found.\n"
    now = datetime.now(UTC)
    shown = [(row[0], created_age(row[1], now), *row[2:]) for row in rows]
    headers = ("ID", "Age", "Objective", "Races", "Time", "State")
    return table(headers, shown, Fit(console.result_width or _WIDTH))


def _row(folder: TuneFolder) -> tuple[str, ...]:
    try:
        plan = folder.plan()
        state = TuneProgress.of(plan, folder.journal())
    except PacenoteError:
        return folder.tune_id, "", "", "", "", "unreadable"
    return (
        folder.tune_id,
        plan.created,
        plan.objective.metric,
        str(len(state.ends)),
        format_seconds(round(state.seconds)),
        "running" if folder.is_running() else _state_text(state),
    )


def _state_text(state: TuneProgress) -> str:
    """Returns how far a search is that does not run."""
    if state.stopped:
        return "stopped"
    if state.chosen is None:
        return "unfinished"
    if state.chosen.candidate == DEFAULT:
        return "complete"
    return f"its confirmation is {state.confirmation}" if state.confirmation else "unfinished"
