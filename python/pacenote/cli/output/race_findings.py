"""What is known of a race beside its record: what was observed over time, and its diagnosis."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.cli.program import program
from pacenote.errors import PacenoteError
from pacenote.model.messages import DEFECT
from pacenote.model.printable import single_line
from pacenote.model.race_record import RaceRecord
from pacenote.model.shell_command import shell_command
from pacenote.store.race_folder import RaceFolder
from pacenote.system.paths import is_file

if TYPE_CHECKING:  # Not needed for --help.
    from pacenote.evidence.recorded_figures import RecordingListener
    from pacenote.model.diagnosis import Diagnosis
    from pacenote.report.race_evidence import RaceEvidence
    from pacenote.report.recording.hot_methods import NodeProfile, ProfileCollector


def race_diagnosis(folder: Path, listener: RecordingListener | None = None) -> Diagnosis:
    """Returns the diagnosis of a stored race by the bundled rules; `listener` also gets the recordings.
    Raises PacenoteError.
    """
    from pacenote.cli.lists.rules import all_rules
    from pacenote.diagnose.answers import diagnose
    from pacenote.evidence.stored_races import read_evidence
    from pacenote.store.race_groups import find_group
    from pacenote.store.race_store import RaceStore

    (evidence,) = read_evidence(find_group(RaceStore(), [str(folder)]), listener)
    return diagnose(evidence, all_rules(None))


def race_evidence(record: RaceRecord, folder: Path, console: Console) -> RaceEvidence:
    """Returns what was observed of the race in `folder` and, if it is complete, its diagnosis. What cannot be
    read is missing; a race that cannot be diagnosed, and a defect, are warnings.
    """
    from pacenote.evidence.race_observations import race_observations
    from pacenote.report.page.race.machine import WANTED
    from pacenote.report.race_evidence import RaceEvidence
    from pacenote.report.recording.hot_methods import ProfileCollector

    evidence, race, collector = RaceEvidence(), RaceFolder(folder), ProfileCollector()
    if record.imported is not None or not is_file(race.race_json):
        return evidence
    try:
        evidence = replace(evidence, observed=race_observations(record, race, WANTED))
        if record.complete:
            evidence = replace(evidence, diagnosis=race_diagnosis(folder, collector))
    except PacenoteError as error:
        console.warning(f"the race cannot be diagnosed: {error.message}")
    except Exception as error:  # The race has been measured: its results are shown in any case.
        console.warning(f"the race cannot be diagnosed: {defect(error)}")
    return replace(evidence, profiles=race_profiles(record, folder, collector))


def race_profiles(
    record: RaceRecord, folder: Path, collector: ProfileCollector | None = None
) -> tuple[NodeProfile, ...]:
    """Returns what the recordings of a race show of its methods; nothing while it is running, when they are
    not complete. They are read, unless `collector` got them already. A defect is a problem of the profile.
    """
    from pacenote.store.node_files import RECORDINGS, node_files

    race = RaceFolder(folder)
    if record.imported is not None or not node_files(race.artifacts, RECORDINGS) or race.is_in_use():
        return ()  # Few races have recordings: what reads them is slow to import.
    try:
        return _recorded_profiles(record, folder, collector)
    except Exception as error:  # The race has been measured: its results are shown in any case.
        from pacenote.report.recording.hot_methods import NodeProfile

        return (NodeProfile("", problem=single_line(defect(error))),)


def _recorded_profiles(
    record: RaceRecord, folder: Path, collector: ProfileCollector | None
) -> tuple[NodeProfile, ...]:
    if collector is None or collector.is_empty:
        from pacenote.evidence.recorded_figures import read_recordings
        from pacenote.report.recording.hot_methods import ProfileCollector

        collector = ProfileCollector()
        read_recordings(record, folder, collector)
    return collector.profiles()


def defect(error: Exception) -> str:
    """Returns what is said of an exception that is a defect of the program."""
    return f"{DEFECT}: {type(error).__name__}: {error}"


def show_findings(record: RaceRecord, diagnosis: Diagnosis | None, console: Console) -> None:
    """Prints the most important findings, a line each, and how to see all; nothing without any."""
    from pacenote.report.diagnosis import headline_findings

    texts = headline_findings(diagnosis) if diagnosis else ()
    for text in texts:
        console.progress(text)
    if texts:
        console.progress(f"next: {program()} {shell_command('diagnose', record.race_id)}")
