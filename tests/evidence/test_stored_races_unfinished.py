"""Races that cannot be diagnosed say so in one line, and damaged files of others are named."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from importers.samples import PUBLISHED
from pacenote.errors import StoreError
from pacenote.evidence.stored_races import read_evidence, unfinished_races
from pacenote.model.comparison import ComparedRace
from pacenote.model.imported import ImportedResults, ImportedValue
from pacenote.model.race_record import RaceRecord
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.store.race_groups import FoundGroup
from pacenote.store.race_store import RaceStore
from support.records import bulk, record, task

ONCE = task("force-merge", operation_type="force-merge", clients=1, throughput=None)
ONCE = replace(ONCE, accounting=replace(ONCE.accounting, operations=1))

FILES = ("telemetry.parquet", "snapshot.json", "artifacts/gc.log", "artifacts/race.jfr")


def unfinished(**changes: object) -> RaceRecord:
    return record("race-a", complete=False, **changes)


@pytest.mark.parametrize(
    ("race", "state", "message"),
    [
        (
            unfinished(tasks=()),
            "running",
            "race race-a is running, and none of its measured tasks has finished",
        ),
        (unfinished(tasks=(ONCE,)), "killed", "race race-a was killed before a measured task had finished"),
        (
            unfinished(tasks=(), aborted="the engine died"),
            "aborted",
            "race race-a was aborted before a measured task had finished: the engine died",
        ),
        (
            unfinished(tasks=(), interrupted=True),
            "interrupted",
            "race race-a was interrupted before a measured task had finished",
        ),
        (
            record("race-a", tasks=(ONCE,)),
            "complete",
            "race race-a has no task to diagnose: each ran once, or nothing of it was measured",
        ),
    ],
)
def test_a_race_without_a_measured_task_says_why(race: RaceRecord, state: str, message: str) -> None:
    with pytest.raises(StoreError) as raised:
        list(unfinished_races([ComparedRace(race, state=state)]))  # type: ignore[arg-type]
    assert (raised.value.message, bool(raised.value.hint)) == (message, True)


def test_a_race_that_has_not_ended_is_diagnosed_as_far_as_it_came() -> None:
    race = ComparedRace(unfinished(tasks=(bulk(),)), state="killed")
    assert list(unfinished_races([race, ComparedRace(record("race-b"))])) == [
        "race race-a was killed: only the tasks that had finished are diagnosed"
    ]


def test_an_imported_race_without_tasks_says_so() -> None:
    values = (ImportedValue("Store size", "", 7.76, "GB"),)
    imported = ImportedResults("rally", "report", "page.txt", "0" * 64, values=values)
    with pytest.raises(StoreError, match="was imported, and its file has figures of no task"):
        list(unfinished_races([ComparedRace(record("race-a", imported=imported, tasks=()))]))


def test_the_command_prints_one_line_instead_of_rules(run) -> None:
    RaceStore().create(unfinished(tasks=()))
    code, out, err = run("diagnose", "race-a")
    assert (code, out) == (64, "")
    assert err.splitlines() == [
        "error: race race-a is running, and none of its measured tasks has finished",
        "hint: diagnose it when it has ended",
    ]


def test_an_empty_folder_and_a_damaged_record_are_one_line_each(run, tmp_path) -> None:
    (tmp_path / "empty").mkdir()
    code, out, err = run("diagnose", tmp_path / "empty")
    assert (code, out, len(err.splitlines())) == (64, "", 1)
    assert "no race.json in" in err
    folder = RaceStore().create(record("race-a"))
    folder.race_json.write_text(folder.race_json.read_text()[:2000])
    code, out, err = run("diagnose", "race-a")
    assert (code, out, len(err.splitlines())) == (64, "", 2)
    assert f"{folder.race_json} is not readable JSON" in err


@pytest.mark.parametrize("content", [b"", b"PAR1, {, or FLR, but damaged"])
def test_damaged_files_are_named_once_before_what_is_found(run, content: bytes) -> None:
    folder = RaceStore().create(record("race-a", driver={"started_unix_ns": 10**18}))
    folder.write_snapshot(RaceSnapshot(Snapshot({"cpu.online": "0-1"})))
    folder.artifacts.mkdir(exist_ok=True)
    for name in FILES:
        (folder.path / name).write_bytes(content)
    code, out, err = run("diagnose", "race-a")
    assert (code, err) == (0, "")
    section = out.partition("## Damaged files")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if str(folder.path) in line]
    assert len(lines) == len(FILES)
    assert all(any(f"{folder.path / name}" in line for line in lines) for name in FILES)


@pytest.mark.parametrize(("state", "is_named"), [("killed", True), ("running", False)])
def test_files_that_a_running_race_still_writes_are_not_damaged(state: str, is_named: bool) -> None:
    race = unfinished(tasks=(bulk(),))
    folder = RaceStore().create(race)
    folder.samples.write_bytes(b"PAR1, without an end")
    compared = ComparedRace(race, state=state)  # type: ignore[arg-type]
    (evidence,) = read_evidence(FoundGroup((compared,), {compared.key: folder.path}, ()))
    assert any("samples.parquet" in text for text in evidence.unread) == is_named


def test_files_that_are_missing_are_not_damaged(run) -> None:
    RaceStore().create(record("race-a"))
    code, out, _ = run("diagnose", "race-a")
    assert (code, "Damaged files" in out) == (0, False)


def test_an_imported_race_is_diagnosed_without_files(run, tmp_path) -> None:
    path = tmp_path / "published.txt"
    path.write_text(PUBLISHED, "utf-8")
    run("import", path)
    code, out, err = run("diagnose", "2716fc79")
    assert (code, err) == (0, "")
    assert "## Validity\n\n### the race is void\n" in out
    assert "Damaged files" not in out
