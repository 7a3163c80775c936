"""Whether an experiment or a search is resumed: one that this home has begun, or that the user adopts."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from pacenote.cli.parser import Parser
from pacenote.errors import StoreError, UsageError
from pacenote.model.shell_command import shell_command

if TYPE_CHECKING:
    from pacenote.cli.console import Console
    from pacenote.store.experiment_store import ExperimentFolder, ExperimentStore

ADOPT = "adopt"
"""The option that resumes what this home has not begun."""


def add_adopt_option(parser: Parser, what: str) -> None:
    """Adds the option; `what` is what can be adopted."""
    parser.add_flag(
        f"--{ADOPT}",
        help=f"resume: go on with {what} that was copied here, or that an earlier version began, after you "
        "have checked its options; it needs the id",
    )


def is_adopted(options: argparse.Namespace) -> bool:
    """Returns whether the command line has the option: a configuration file may not adopt all there is."""
    given = options.given.get(ADOPT)
    return bool(options.adopt) and given is not None and not given.is_configured


def check_resumed(folder: ExperimentFolder, store: ExperimentStore, options: argparse.Namespace) -> bool:
    """Returns whether the user adopts an experiment or a search that this home has not begun.

    Raises StoreError if neither is so, and UsageError for an adoption of the latest one, which may be any.
    """
    adopted = is_adopted(options)
    if adopted and options.target in ("", "latest"):
        raise UsageError(f"--{ADOPT} needs the id of what is resumed", hint=_checks(folder))
    if store.has_begun(folder):
        return False
    if not adopted:
        name = f"{folder.kind} '{folder.experiment_id}'"
        text = (
            f"{name} was copied to {folder.path}, or an earlier version of Pacenote began it: this home does "
            "not know it, and what it names is run"
        )
        if problem := store.begun_problem(folder):
            text = f"whether this home began {name}, which runs what it names, is not known: {problem}"
        raise StoreError(text, hint=_checks(folder))
    return True


def adopt(folder: ExperimentFolder, store: ExperimentStore, console: Console) -> None:
    """Has what is resumed count as begun by this home. Raises StoreError."""
    if problem := store.begun_problem(folder):
        console.warning(f"it has to be adopted each time: {problem}")
    else:
        store.adopt(folder)


def _checks(folder: ExperimentFolder) -> str:
    """Returns what is to be checked before a folder is adopted, and the command that does so."""
    files = (
        "the options in its experiment.toml, `folder` in its plan.json, and its engine.json, if it has one: "
        "that engine is stopped"
    )
    command = "experiment"
    if folder.is_search:
        files = f"`race`, `knobs` and `folder` in its tune.json; if it has a confirmation, {files}"
        command = "tune"
    resume = shell_command("pacenote", command, "resume", folder.experiment_id, f"--{ADOPT}")
    return f"check {files}; if you trust them: {resume}"
