"""`pacenote experiment list`: the experiments of the home folder, and the bundled recipes."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from pacenote.cli.console import Console
from pacenote.cli.lists.races import age_text
from pacenote.cli.output.tables import Fit, table
from pacenote.errors import PacenoteError
from pacenote.lab.experiment.progress import ExperimentProgress
from pacenote.lab.experiment.recipes import bundled_experiments
from pacenote.model.output_text import json_text
from pacenote.store.experiment_store import ExperimentFolder, ExperimentStore
from pacenote.units import format_seconds

_WIDTH = 100


def list_experiments(options: argparse.Namespace, console: Console) -> str:
    """Returns the experiments of the home folder, newest first."""
    rows = [_row(folder) for folder in ExperimentStore().list()]
    if options.report_format == "json":
        names = ("experiment-id", "created", "races", "time", "state")
        return json_text([dict(zip(names, row, strict=True)) for row in rows])
    if not rows:
        return "No experiments found.\n"
    now = datetime.now(UTC)
    shown = [(row[0], created_age(row[1], now), *row[2:]) for row in rows]
    return table(("ID", "Age", "Races", "Time", "State"), shown, Fit(console.result_width or _WIDTH))


def created_age(created: str, now: datetime) -> str:
    """Returns how long ago something was created; empty if that is not known."""
    try:
        return age_text(datetime.fromisoformat(created), now)
    except (ValueError, TypeError):
        return ""


def _row(folder: ExperimentFolder) -> tuple[str, ...]:
    try:
        plan = folder.plan()
        progress = ExperimentProgress.of(plan, folder.journal())
    except PacenoteError:
        return folder.experiment_id, "", "", "", "unreadable"
    state = "unfinished" if progress.left() else "ended early" if progress.stopped else "complete"
    if state == "complete" and (failed := progress.left_out_variants()):
        state = f"complete, without {', '.join(failed)}"
    return (
        folder.experiment_id,
        plan.created,
        f"{len(progress.ends)} of {len(plan.races)}",
        format_seconds(round(progress.seconds)),
        "running" if folder.is_running() else state,
    )


def list_recipes(options: argparse.Namespace, console: Console) -> str:
    """Returns the bundled experiments, each with the report that it follows."""
    experiments = bundled_experiments()
    if options.report_format == "json":
        return json_text([
            {
                "name": one.name,
                "design": one.design,
                "question": one.question,
                "follows": one.follows,
                "not-reproduced": one.not_reproduced,
            }
            for one in experiments
        ])
    rows = [
        (one.name, one.design, f"{one.question} Follows {one.follows} Not reproduced: {one.not_reproduced}")
        for one in experiments
    ]
    width = console.result_width or _WIDTH
    return table(("Recipe", "Design", "What it finds out"), rows, Fit(width, ((2, 40),), wraps_last=True))
