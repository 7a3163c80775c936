"""The hottest methods of a race whose JVM was recorded: on its page, in its report, or why not."""

from __future__ import annotations

import io

import pytest

from pacenote.cli.console import Console
from pacenote.cli.output.race_findings import race_evidence
from pacenote.cli.output.race_page import page_text
from pacenote.evidence.stored_races import read_evidence
from pacenote.model.race_record import RaceRecord
from pacenote.model.recording import Recording
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_groups import find_group
from pacenote.store.race_store import RaceStore
from support.hostile_evidence import BEGIN_NS, long_names
from support.records import bulk, record, task

START_NS = BEGIN_NS - 30_000_000_000
RACE = record("race-a", tasks=(bulk(),), complete=True, driver={"started_unix_ns": START_NS})
TWO_TASKS = record("race-b", tasks=(bulk(), task()), complete=True, driver={"started_unix_ns": START_NS})

INTERRUPTED = record("race-c", tasks=(bulk(),), complete=False, interrupted=True)


@pytest.fixture(name="folder")
def recorded_race() -> RaceFolder:
    """A complete race with a recording, as async-profiler leaves it."""
    return with_recording(RACE)


def with_recording(race: RaceRecord) -> RaceFolder:
    """Creates the folder of a race that has ended."""
    folder = RaceStore().create(race)
    folder.finish(race)
    (folder.artifacts / "async-profile.jfr.gz").write_bytes(long_names(20, 10))
    return folder


class Listener:
    """Counts what it gets."""

    def __init__(self) -> None:
        self.recordings: list[Recording] = []
        self.problems: list[str] = []

    def add(self, _: str, recording: Recording) -> None:
        self.recordings.append(recording)

    def miss(self, _: str, problem: str) -> None:
        self.problems.append(problem)


def test_the_page_and_the_report_have_the_hottest_methods(folder, run):
    text = page_text(RACE, folder, None, is_running=False)
    assert "<h2>Hottest methods</h2>" in text
    assert "Flame graph: " in text
    assert "--flame-graph=flame.html" in text
    # What a race has read at its end is the same.
    evidence = race_evidence(RACE, folder.path, Console(io.StringIO(), io.StringIO()))
    assert page_text(RACE, folder, evidence, is_running=False) == text
    code, out, err = run("report", "race-a", "--full")
    assert (code, err) == (0, "")
    (line,) = [line for line in out.splitlines() if line.startswith("| Allocation |")]
    assert "100 %" in line
    code, out, _ = run("report", "race-a", "--full", "--report-format=json")
    assert (code, "hottest" in out) == (0, False)


@pytest.mark.parametrize(
    "options", [(), ("--report-format=markdown",), ("--report-format=csv-full", "--full")]
)
def test_a_recording_is_only_read_for_a_report_that_is_to_show_it(folder, run, monkeypatch, options):
    def read(*_: object) -> None:
        pytest.fail("the recording is read")

    monkeypatch.setattr("pacenote.evidence.recorded_figures.read_recordings", read)
    code, out, err = run("report", "race-a", *options)
    assert (code, err, "Allocation" in out) == (0, "", False)


@pytest.mark.parametrize("race", [RACE, INTERRUPTED])
@pytest.mark.parametrize(
    "broken",
    [
        "pacenote.report.recording.hot_methods.node_profile",
        "pacenote.report.recording.hot_methods.ProfileCollector.profiles",
        "pacenote.evidence.recording.RecordingReader",
    ],
)
def test_a_defect_in_what_reads_recordings_costs_only_the_profile(run, monkeypatch, broken, race):
    def fail(*_: object) -> None:
        raise KeyError("stack")

    folder = with_recording(race)
    monkeypatch.setattr(broken, fail)
    text = page_text(race, folder, None, is_running=False)
    assert text.count("The recording is not shown: ") == 1
    assert "KeyError" in text
    code, out, err = run("report", race.race_id, "--full")
    assert (code, err) == (0, "")
    (line,) = [line for line in out.splitlines() if line.startswith("- Recording: ")]
    assert "KeyError" in line
    # The figures of the race are there.
    assert "Median Throughput" in out


def test_a_defect_of_the_diagnosis_does_not_hide_the_page(folder, monkeypatch):
    def fail(*_: object) -> None:
        raise KeyError("rule")

    monkeypatch.setattr("pacenote.cli.output.race_findings.race_diagnosis", fail)
    text = page_text(RACE, folder, None, is_running=False)
    assert "a defect of Pacenote: KeyError" in text
    assert "<h2>Hottest methods</h2>" in text


@pytest.mark.parametrize("race", [RACE, TWO_TASKS])
def test_the_recording_is_read_once_for_the_diagnosis_and_the_page(race):
    folder, listener = with_recording(race), Listener()
    (evidence,) = read_evidence(find_group(RaceStore(), [str(folder.path)]), listener)
    (recording,) = listener.recordings
    assert (listener.problems, evidence.unread) == ([], ())
    assert recording.window_ns is not None
    ends = [each.started_s + each.duration_s for each in race.tasks]
    assert recording.window_ns[1] == pytest.approx(START_NS + max(ends) * 1e9, abs=1e9)


@pytest.mark.parametrize(
    "content", [b"", b"no recording", long_names(5, 5)[:100]], ids=["empty", "other", "cut"]
)
def test_a_recording_that_cannot_be_read_is_one_line(folder, run, content):
    (file,) = folder.artifacts.iterdir()
    file.write_bytes(content)
    text = page_text(RACE, folder, None, is_running=False)
    assert text.count("The recording is not shown: ") == 1
    assert "Flame graph: " not in text
    code, out, err = run("report", "race-a", "--full")
    assert (code, err) == (0, "")
    assert sum(line.startswith("- Recording: ") for line in out.splitlines()) == 1


def test_a_race_that_is_not_complete_has_them_and_one_without_a_recording_has_not():
    folder = with_recording(INTERRUPTED)
    text = page_text(INTERRUPTED, folder, None, is_running=False)
    assert "<h2>Hottest methods</h2>" in text
    for file in folder.artifacts.iterdir():
        file.unlink()
    assert "Hottest methods" not in page_text(INTERRUPTED, folder, None, is_running=False)


def test_a_race_that_is_running_has_none_because_its_recording_is_not_complete():
    folder = RaceStore().create(record("race-d"))
    (folder.artifacts / "async-profile.jfr.gz").write_bytes(long_names(20, 10))
    assert folder.is_in_use()
    assert "Hottest methods" not in page_text(record("race-d"), folder, None, is_running=True)
