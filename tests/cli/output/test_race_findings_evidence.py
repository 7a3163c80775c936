"""What is read about a race beside its record, whatever is missing or broken."""

from __future__ import annotations

import io

import pytest
from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.cli.output.race_findings import race_evidence
from pacenote.model.imported import ImportedResults
from pacenote.model.race_record import RaceRecord
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.report.race_evidence import RaceEvidence
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from support.records import bulk, record


@pytest.fixture(name="race")
def complete_race() -> RaceRecord:
    return record("race-a", tasks=(bulk(),), complete=True)


def read(race: RaceRecord, folder: RaceFolder) -> tuple[RaceEvidence, str]:
    """Returns the evidence of a race, and what is printed meanwhile."""
    err = io.StringIO()
    return race_evidence(race, folder.path, Console(io.StringIO(), err)), err.getvalue()


def test_a_race_without_series_is_diagnosed_from_what_there_is(race: RaceRecord) -> None:
    folder = RaceStore().create(race)
    folder.write_snapshot(RaceSnapshot(Snapshot({"setting.a": "1"})))
    evidence, printed = read(race, folder)
    assert printed == ""
    assert evidence.observed.timeline is None
    assert any("There is no timeline: " in text for text in evidence.observed.missing)
    assert evidence.diagnosis is not None


def test_a_race_that_is_not_complete_is_not_diagnosed(race: RaceRecord) -> None:
    interrupted = replace(race, complete=False, interrupted=True)
    evidence, printed = read(interrupted, RaceStore().create(interrupted))
    assert (evidence.diagnosis, printed) == (None, "")


def test_nothing_is_read_of_an_imported_race_or_of_one_that_could_not_be_stored(race: RaceRecord) -> None:
    folder = RaceStore().create(race)
    imported = replace(race, imported=ImportedResults("rally", "race", "race.json", "0" * 64))
    assert read(imported, folder) == (RaceEvidence(), "")
    folder.race_json.unlink()
    assert read(race, folder) == (RaceEvidence(), "")


def test_files_that_are_not_those_of_a_race_are_named(race: RaceRecord) -> None:
    folder = RaceStore().create(race)
    for file in (folder.series, folder.samples, folder.telemetry):
        file.write_bytes(b"PAR1 not a table")
    evidence, _ = read(race, folder)
    assert any("There is no timeline: " in text for text in evidence.observed.missing)


def test_a_defect_does_not_hide_the_results(race: RaceRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise StopIteration

    monkeypatch.setattr("pacenote.cli.output.race_findings.race_diagnosis", broken)
    evidence, printed = read(race, RaceStore().create(race))
    assert evidence.diagnosis is None
    assert "warning: the race cannot be diagnosed: a defect of Pacenote: StopIteration" in printed
