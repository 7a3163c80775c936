"""The two most important findings about a race that has just ended."""

from __future__ import annotations

from pathlib import Path

from pacenote.cli.console import Console
from pacenote.cli.program import as_started
from pacenote.errors import PacenoteError
from pacenote.model.race_record import RaceRecord
from pacenote.store.race_folder import RaceFolder


def show_findings(record: RaceRecord, folder: Path, console: Console) -> None:
    """Prints the most important findings of a complete race, a line each, and how to see all."""
    from pacenote.cli.list_rules import all_rules
    from pacenote.cli.recorded_evidence import read_evidence
    from pacenote.diagnose.answers import diagnose
    from pacenote.report.diagnosis import headline_findings
    from pacenote.store.race_groups import find_group
    from pacenote.store.race_store import RaceStore

    if not record.complete or not RaceFolder(folder).race_json.is_file():
        return
    try:
        (evidence,) = read_evidence(find_group(RaceStore(), [str(folder)]))
        found = headline_findings(diagnose(evidence, all_rules(None)))
    except PacenoteError as error:
        console.warning(f"the race cannot be diagnosed: {error.message}")
        return
    for text in found:
        console.progress(text)
    if found:
        console.progress(f"next: {as_started(f'pacenote diagnose {record.race_id}')}")
