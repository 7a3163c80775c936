"""Race folders are written atomically, and are readable even if the race was killed or the disk was full."""

import contextlib
import errno
import json
import math
import os
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import StoreError
from pacenote.model.document_checks import DocumentCheck
from pacenote.model.snapshot import RaceSnapshot, Snapshot
from pacenote.model.system_metrics import SystemMetrics
from pacenote.model.task_observations import KEY as OBSERVATIONS
from pacenote.race.record import recorded_plan
from pacenote.store import atomic_files, race_folder
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from support.records import bulk, paced, record, task


@pytest.fixture
def store(tmp_path):
    return RaceStore(tmp_path / "home")


def unfinished(**changes):
    return record(tasks=(), complete=False, **changes)


def test_a_killed_race_is_readable_up_to_its_last_task(store):
    folder = store.create(unfinished())
    folder.append(bulk())
    folder.append(paced())
    with folder.journal.open("ab") as file:
        file.write(json.dumps(task().to_document()).encode()[:100])
    race = store.load("race-1")
    assert race.tasks == (bulk(), paced())
    assert not race.complete
    assert race.verdict.state == "void"
    assert "the race has not finished" in race.verdict.reasons


def test_results_of_a_killed_race_are_in_the_order_of_the_plan(store):
    folder = store.create(unfinished())
    folder.append(task("second", index=1))
    folder.append(task("first", index=0))
    assert [result.task for result in store.load("race-1").tasks] == ["first", "second"]


def test_an_incomplete_line_of_the_journal_is_stated_unless_the_race_is_writing_it(store, tmp_path):
    folder = store.create(unfinished())
    folder.append(bulk())
    with folder.journal.open("ab") as file:
        file.write(b'{"task": "te')
    lost = "the incomplete last line of tasks.jsonl left out: results are lost"
    assert lost not in folder.read().verdict.reasons
    # Nothing uses a copy.
    killed = RaceFolder(shutil.copytree(folder.path, tmp_path / "killed"))
    assert lost in killed.read().verdict.reasons
    with killed.journal.open("ab") as file:
        file.write(b'\n{"task"')
    assert f"1 damaged line and {lost}" in killed.read().verdict.reasons


def test_a_task_in_both_record_and_journal_is_counted_once(store):
    folder = store.create(unfinished())
    folder.append(bulk())
    folder.append(paced())
    folder.write(record(tasks=(bulk(),), complete=False, interrupted=True))
    race = store.load("race-1")
    assert race.tasks == (bulk(), paced())
    assert race.interrupted


@pytest.mark.parametrize("line", [b"{nonsense", b"\xff", b"[" * 100_000, b"[]", b'{"task": "index"}', b"NaN"])
def test_a_damaged_line_of_the_journal_does_not_hide_the_others(store, line):
    folder = store.create(unfinished())
    folder.append(bulk())
    with folder.journal.open("ab") as file:
        file.write(line + b"\n")
    folder.append(paced())
    race = store.load("race-1")
    assert race.tasks == (bulk(), paced())
    assert race.verdict.state == "void"
    assert "1 damaged line of tasks.jsonl left out: results are lost" in race.verdict.reasons


def test_a_journal_of_damaged_lines_is_not_read_to_its_end(store):
    folder = store.create(record(complete=False, tasks=()))
    folder.append(bulk())
    with folder.journal.open("ab") as file:
        file.write(b"[]\n" * 1_000)
    folder.append(task("after"))
    unfinished = folder.read()
    assert [result.task for result in unfinished.tasks] == [bulk().task]
    lost = "1,000 damaged lines and all after them of tasks.jsonl left out: results are lost"
    assert lost in unfinished.verdict.reasons


@pytest.mark.parametrize("create", [os.mkfifo, os.mkdir])
def test_a_journal_that_is_not_a_file_does_not_hide_the_record(store, create):
    folder = store.create(unfinished())
    folder.write(record(tasks=(bulk(),), complete=False))
    folder.journal.unlink()
    create(folder.journal)
    race = store.load("race-1")
    assert (race.tasks, race.verdict.state) == ((bulk(),), "void")
    assert [reason for reason in race.verdict.reasons if "tasks.jsonl" in reason] == [
        f"cannot read {folder.journal}: it is not a regular file, so results are missing"
    ]


def test_a_damaged_journal_is_kept_if_the_end_of_its_race_is_recorded_from_it(store):
    folder = store.create(unfinished())
    folder.append(bulk())
    with folder.journal.open("ab") as file:
        file.write(b"{nonsense\n")
    for _ in range(2):
        race = store.load("race-1")
        folder.finish(replace(race, aborted="killed"), keep_damaged_journal=True)
        race = store.load("race-1")
        assert (race.tasks, race.aborted) == ((bulk(),), "killed")
        assert "1 damaged line of tasks.jsonl left out: results are lost" in race.verdict.reasons
    folder.journal.write_text("")
    folder.finish(race, keep_damaged_journal=True)
    assert not folder.journal.exists()


def test_the_journal_of_a_complete_race_is_ignored(store):
    folder = store.create(unfinished())
    folder.write(record())
    folder.journal.write_bytes(b"{nonsense\n")
    assert store.load("race-1") == record()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "is not readable JSON"),
        (b"\xff\xfe\x00", "is not readable JSON"),
        (b"[" * 100_000, "is not readable JSON"),
        (b'{"format": NaN}', "is not readable JSON: NaN is not a finite number"),
        (b'{"format": -1e999}', "is not readable JSON: -1e999 is not a finite number"),
        (b"[]", "a race must be a JSON object"),
        (b"{}", "it is not a race of Pacenote"),
        (b'{"format": 99}', "race has format 99"),
    ],
)
def test_the_error_about_a_damaged_record_names_the_file(store, content, message):
    store.create(unfinished()).race_json.write_bytes(content)
    with pytest.raises(StoreError, match=message) as caught:
        store.load("race-1")
    assert "race.json" in caught.value.message


def test_a_folder_without_a_record_is_an_error(tmp_path):
    with pytest.raises(StoreError, match=r"no race\.json in"):
        RaceFolder(tmp_path).read()


def test_stored_results_survive_a_full_disk(store, monkeypatch):
    folder = store.create(unfinished())
    folder.append(bulk())

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(atomic_files.os, "fsync", full)
        with pytest.raises(StoreError, match="the disk is full"):
            folder.append(paced())
        with pytest.raises(StoreError, match="the disk is full") as caught:
            folder.finish(record())
    assert caught.value.hint == "free some space or set PACENOTE_HOME"
    assert store.load("race-1").tasks == (bulk(),)
    folder.append(task())
    assert store.load("race-1").tasks == (bulk(), task())
    assert [path.name for path in folder.path.iterdir() if path.suffix == ".tmp"] == []


def test_a_huge_record_is_an_error(store):
    folder = store.create(unfinished())
    os.truncate(folder.race_json, 1 << 30)
    with pytest.raises(StoreError, match=r"cannot read .*race\.json: it is larger than 64\.0 MiB"):
        folder.read()


def test_a_record_that_would_be_too_large_to_be_read_is_stored_without_what_the_cluster_reports(
    store, monkeypatch
):
    monkeypatch.setattr(race_folder, "MAX_FILE_BYTES", 64 << 10)
    complete = record(
        tasks=(task(), bulk()), telemetry={"node": "n" * (64 << 10), OBSERVATIONS: {"term": {}}}
    )
    folder = store.create(unfinished())
    folder.finish(complete)
    assert folder.race_json.stat().st_size <= 64 << 10
    stored = store.load("race-1")
    assert stored.tasks == complete.tasks
    assert stored.telemetry == {OBSERVATIONS: {"term": {}}}
    (problem,) = stored.telemetry_errors
    assert problem.startswith("what the cluster reports is left out: with it, the record exceeds 64")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("telemetry", {"node": 10**400, OBSERVATIONS: {"term": {}}}),
        ("system", SystemMetrics(store_size=2**70)),
        ("telemetry", {"node": 10**5000, OBSERVATIONS: {"term": {}}}),
        ("telemetry", {"node": math.inf, OBSERVATIONS: {"term": {}}}),
        ("cluster", {"heap_max_bytes": 10**4000}),
        ("documents", (DocumentCheck("a", 5, 2**64), DocumentCheck("b", 5, 5))),
    ],
)
def test_a_record_with_numbers_that_cannot_be_read_is_stored_without_them(store, name, value):
    complete = record(tasks=(task(), bulk()), telemetry={OBSERVATIONS: {"term": {}}})
    reported = replace(complete.cluster, nodes=(value,)) if name == "cluster" else value
    folder = store.create(unfinished())
    folder.finish(replace(complete, **{name: reported}))
    stored = store.load("race-1")
    assert stored.tasks == complete.tasks
    assert stored.cluster.nodes == ()
    assert stored.telemetry == {OBSERVATIONS: {"term": {}}}
    (problem,) = stored.telemetry_errors
    assert problem.startswith("what the cluster reports is left out: with it, the record cannot be ")
    assert stored.system == (SystemMetrics() if name == "system" else complete.system)
    if name == "documents":
        assert [check.counted for check in stored.documents] == [None, 5]


def test_a_record_that_the_cluster_did_not_spoil_keeps_what_it_reports(store):
    impossible = record(tasks=(replace(task(), clients=2**70),), telemetry={"node": "n"})
    folder = store.create(unfinished())
    folder.finish(impossible)
    assert json.loads(folder.race_json.read_text())["telemetry"] == {"node": "n"}


def test_a_deeply_nested_record_is_an_error(store):
    folder = store.create(unfinished())
    for depth in range(100, 2000, 100):
        document = record().to_document() | {"telemetry": "nested"}
        text = json.dumps(document).replace('"nested"', '{"a": ' + "[" * depth + "]" * depth + "}")
        folder.race_json.write_text(text)
        with contextlib.suppress(StoreError):
            folder.read()
    with pytest.raises(StoreError, match=r"race\.json is not readable JSON"):
        folder.read()


def test_records_are_not_written_through_links(store, tmp_path):
    folder = store.create(unfinished())
    target = tmp_path / "target"
    target.write_bytes(b"content")
    (folder.path / f".race.json.{os.getpid()}.tmp").symlink_to(target)
    folder.race_json.unlink()
    folder.race_json.symlink_to(target)
    folder.write(record())
    assert folder.read() == record()
    assert target.read_bytes() == b"content"


def test_a_few_of_many_losses_are_named(store):
    folder = store.create(unfinished())
    (folder.path / "recovery.json").write_text(json.dumps({"losses": ["a row is lost"] * 450_000}))
    losses = folder.losses()
    assert losses[:-1] == (f"{folder.path}: a row is lost",) * 20
    assert losses[-1] == f"{folder.path}: 449,980 others, listed in recovery.json"


def test_files_of_a_race_are_not_read_through_links(store, tmp_path):
    folder = store.create(unfinished())
    folder.append(task())
    folder.write_snapshot(RaceSnapshot(Snapshot({"setting.a": "1"})))
    (folder.path / "recovery.json").write_text('{"losses": ["some rows are lost"]}')
    assert folder.read().tasks == (task(),)
    assert folder.losses() == (f"{folder.path}: some rows are lost",)
    for name in ("tasks.jsonl", "recovery.json", "snapshot.json"):
        (folder.path / name).rename(tmp_path / name)
        (folder.path / name).symlink_to(tmp_path / name)
    assert folder.read().tasks == ()
    assert "tasks.jsonl: it is a symbolic link" in str(folder.read().verdict)
    assert folder.losses() == (f"{folder.path}/recovery.json is not readable; it says what the race lost",)
    with pytest.raises(StoreError, match=r"snapshot\.json: it is a symbolic link"):
        folder.read_snapshot()
    folder.race_json.rename(tmp_path / "race.json")
    folder.race_json.symlink_to(tmp_path / "race.json")
    with pytest.raises(StoreError, match=r"race\.json"):
        folder.read()


def test_links_to_probes_are_not_followed(store, tmp_path):
    folder = store.create(unfinished())
    (tmp_path / "outside" / "001").mkdir(parents=True)
    folder.probes.symlink_to(tmp_path / "outside")
    assert folder.driver_folders() == (folder.path,)
    folder.probes.unlink()
    folder.probes.mkdir()
    (folder.probes / "001").symlink_to(tmp_path / "outside" / "001")
    (folder.probes / "002").mkdir()
    assert folder.driver_folders() == (folder.path, folder.probes / "002")


def test_text_that_cannot_be_encoded_is_stored_with_a_replacement(store):
    folder = store.create(unfinished(user_tags={"a": "x\udc80"}))
    assert store.load("race-1").user_tags == {"a": "x\ufffd"}
    folder.append(replace(bulk(), unit="doc\udc80"))
    folder.finish(record(user_tags={"a": "x\udc80"}))
    assert store.load("race-1").user_tags == {"a": "x\ufffd"}


def test_a_journal_that_cannot_be_removed_does_no_harm(store):
    folder = store.create(unfinished())
    folder.journal.unlink()
    folder.journal.mkdir()
    folder.finish(record())
    assert folder.read() == record()


def test_logs_are_not_redacted_through_links(tmp_path):
    folder = RaceFolder(tmp_path / "race", frozenset({"hunter2hunter2"}))
    outside = tmp_path / "outside"
    for path in (folder.artifacts, outside):
        path.mkdir(parents=True)
        (path / "engine.log").write_text("password hunter2hunter2")
    temporary = folder.artifacts / f".engine.log.{os.getpid()}.tmp"
    temporary.symlink_to(outside / "engine.log")
    folder.redact_logs()
    assert "hunter2" not in (folder.artifacts / "engine.log").read_text()
    folder.artifacts.rename(tmp_path / "artifacts")
    folder.artifacts.symlink_to(outside)
    folder.redact_logs()
    assert (outside / "engine.log").read_text() == "password hunter2hunter2"


def test_a_plan_that_was_changed_is_stated(store):
    folder = store.create(unfinished())
    assert folder.plan_problem(record()) is None
    folder.write_plan("{}")
    started = replace(record(), plan=recorded_plan("plan.json", "{}"))
    assert folder.plan_problem(started) is None
    with folder.plan_json.open("a") as file:
        file.write("\n")
    changed = f"{folder.plan_json} was changed: its checksum is not that in race.json"
    assert folder.plan_problem(started) == changed
    folder.plan_json.unlink()
    assert folder.plan_problem(started) == f"{folder.plan_json} is missing"


@pytest.mark.parametrize("key", ["client_allocations", "slots"])
def test_the_steps_of_the_plan_are_known_in_each_version(store, key):
    """Until version 5, the clients of a step had another name."""
    golden = Path(__file__).parents[1] / "plan/golden/http_logs.json"
    plan = json.loads(golden.read_text())
    for step in plan["steps"]:
        step[key] = step.pop("client_allocations")
    folder = store.create(unfinished())
    folder.write_plan(json.dumps(plan))
    steps = folder.planned_steps()
    assert len(steps) == len(plan["steps"]) > 10
    assert steps[3] == ("index-append",)


@pytest.mark.parametrize("name", [5, None, True, ["a"], {"a": 1}])
def test_a_plan_whose_tasks_have_no_names_is_not_used(store, name):
    folder = store.create(unfinished())
    allocation = {"client_allocations": [{"allocations": [{"task": 0}]}]}
    plan = {"tasks": [{"name": name}], "steps": [allocation]}
    folder.plan_json.write_text(json.dumps(plan))
    assert folder.planned_steps() == ()
    assert folder.reached(folder.read()) is None


def test_a_result_without_clients_is_damaged(store):
    folder = store.create(unfinished())
    folder.append(replace(bulk(), clients=0))
    race = folder.read()
    assert race.tasks == ()
    assert "1 damaged line of tasks.jsonl left out: results are lost" in race.verdict.reasons
    folder.write(replace(race, tasks=(replace(bulk(), clients=0),)))
    with pytest.raises(StoreError, match="a task has at least one client"):
        folder.read()
