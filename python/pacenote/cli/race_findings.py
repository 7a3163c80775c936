"""The diagnosis of a race that has just ended, and its two most important findings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pacenote.cli.console import Console
from pacenote.cli.program import as_started
from pacenote.errors import PacenoteError
from pacenote.model.race_record import RaceRecord
from pacenote.store.race_folder import RaceFolder

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.model.diagnosis import Diagnosis


def race_diagnosis(folder: Path) -> Diagnosis:
    """Returns the diagnosis of a stored race by the bundled rules. Raises PacenoteError."""
    from pacenote.cli.list_rules import all_rules
    from pacenote.cli.recorded_evidence import read_evidence
    from pacenote.diagnose.answers import diagnose
    from pacenote.store.race_groups import find_group
    from pacenote.store.race_store import RaceStore

    (evidence,) = read_evidence(find_group(RaceStore(), [str(folder)]))
    return diagnose(evidence, all_rules(None))


def show_findings(record: RaceRecord, folder: Path, console: Console) -> Diagnosis | None:
    """Prints the most important findings of a complete race, a line each, and how to see all. Returns the
    diagnosis, or None if there is none.
    """
    from pacenote.report.diagnosis import headline_findings

    if not record.complete or not RaceFolder(folder).race_json.is_file():
        return None
    try:
        diagnosis = race_diagnosis(folder)
    except PacenoteError as error:
        console.warning(f"the race cannot be diagnosed: {error.message}")
        return None
    found = headline_findings(diagnosis)
    for text in found:
        console.progress(text)
    if found:
        console.progress(f"next: {as_started(f'pacenote diagnose {record.race_id}')}")
    return diagnosis
