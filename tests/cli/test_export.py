"""`pacenote export`: which races, where to, and what happens if they cannot be read or written."""

import csv
import io
import json
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pacenote.store.race_store import RaceStore
from support.disks import fill, small_disk
from support.openmetrics import parse_openmetrics
from support.records import bulk, record


@pytest.fixture
def store():
    races = RaceStore()
    for number in range(1, 4):
        races.create(record(f"race-{number}", user_tags={"night": "monday" if number < 3 else "friday"}))
    return races


def ids(out):
    return [race["race_id"] for race in json.loads(out)["races"]]


def test_one_race_is_json_on_standard_output(run, store):
    code, out, err = run("export", "race-1")
    assert (code, err) == (0, "")
    assert ids(out) == ["race-1"]


def test_references_are_those_of_compare_and_name_each_race_once(run, store):
    assert sorted(ids(run("export", "tag:night=monday")[1])) == ["race-1", "race-2"]
    assert ids(run("export", "race-2", "latest", "race-2", "race-1")[1])[0] == "race-2"
    assert sorted(ids(run("export", str(store.races))[1])) == ["race-1", "race-2", "race-3"]
    assert sorted(ids(run("export", "tag:night=monday", "tag:night=friday", "race-1")[1])) == [
        "race-1",
        "race-2",
        "race-3",
    ]


def test_the_name_of_the_file_or_an_option_selects_the_format(run, store, tmp_path):
    code, out, err = run("export", "race-1", "race-2", "--output", tmp_path / "new" / "races.csv")
    assert (code, out, err) == (0, "", f"exported 2 races to {tmp_path}/new/races.csv\n")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "new" / "races.csv").read_text())))
    assert {row["race_id"] for row in rows} == {"race-1", "race-2"}
    run("export", "race-1", "race-3", "--output", tmp_path / "races.parquet")
    assert set(pq.read_table(tmp_path / "races.parquet")["race_id"].to_pylist()) == {"race-1", "race-3"}
    run("export", "race-1", "--output", tmp_path / "races.prom")
    assert "pacenote_race" in parse_openmetrics((tmp_path / "races.prom").read_text())
    run("export", "race-1", "--format=json", "--output", tmp_path / "races.csv")
    assert ids((tmp_path / "races.csv").read_text()) == ["race-1"]


def test_a_race_that_cannot_be_read_is_left_out_unless_it_is_named(run, store):
    (store.races / "race-2" / "race.json").write_text("{")
    code, out, err = run("export", str(store.races))
    assert code == 0
    assert sorted(ids(out)) == ["race-1", "race-3"]
    assert err.startswith("warning: not exported: ")
    assert "race-2" in err
    code, out, err = run("export", "race-2")
    assert (code, out) == (64, "")
    assert err.startswith("error: ")


def test_nothing_is_printed_for_races_that_do_not_exist(run, store):
    for reference in ("other", "tag:night=sunday", "./nowhere"):
        code, out, err = run("export", reference)
        assert (code, out) == (64, ""), reference
        assert err.startswith("error: ")


def test_a_race_that_has_not_ended_is_exported_with_its_state(run, store):
    folder = store.create(record("race-4", complete=False))
    states = [json.loads(run("export", "race-4")[1])["races"][0]["state"]]
    # What a process holds locked as long as it runs the race.
    (folder.path / ".race.json.reserved").unlink()
    states += [json.loads(run("export", "race-4")[1])["races"][0]["state"]]
    assert states == ["running", "killed"]


def test_parquet_needs_a_file(run, store):
    code, out, err = run("export", "race-1", "--format=parquet")
    assert (code, out) == (2, "")
    assert err == "error: Parquet is not text for a terminal\nhint: add --output=FILE\n"


def test_a_file_is_replaced_at_once_or_not_at_all(run, store, tmp_path):
    file = tmp_path / "races.json"
    file.write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(file)
    (store.races / "race-2" / "race.json").write_text("{")
    code, _, _err = run("export", "race-1", "race-2", "--output", link)
    assert (code, file.read_text()) == (64, "old")
    assert run("export", "race-1", "race-3", "--output", link)[0] == 0
    assert link.is_symlink()
    assert ids(file.read_text()) == ["race-1", "race-3"]
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["link.json", "races.json"]


def test_a_device_is_written_to(run, store):
    assert run("export", "race-1", "--output=/dev/null")[0] == 0
    assert not Path("/dev/null").is_file()
    code, _, err = run("export", "race-1", "--format=csv", "--output=/dev/full")
    assert (code, err) == (64, "error: cannot write the export to /dev/full: No space left on device\n")


@pytest.mark.parametrize("form", ["csv", "openmetrics", "json"])
def test_a_pipe_gets_no_commands_for_agents(run, store, tmp_path, form):
    """It may be the log of one, such as /dev/stdout."""
    hostile = {"a": "##vso[task.setvariable variable=A]b"}
    store.create(record("hostile", user_tags=hostile, tasks=(bulk(),)))
    reader, writer = os.pipe()
    code, _, _ = run("export", "hostile", f"--format={form}", f"--output=/dev/fd/{writer}")
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    assert (code, "vso[" in text, "##vso[" in text) == (0, True, False)
    file = tmp_path / "races"
    assert run("export", "hostile", f"--format={form}", f"--output={file}")[0] == 0
    assert "##vso[" in file.read_text()


@pytest.mark.parametrize("name", ["races.json", "races.csv", "races.prom", "races.parquet"])
def test_a_full_disk_is_an_error_in_one_line(run, store, tmp_path, name):
    with small_disk(tmp_path / "disk", 64) as disk:
        fill(disk)
        code, out, err = run("export", "race-1", "--output", disk / name)
        assert (code, out) == (64, "")
        assert err.startswith(f"error: cannot write the export to {disk / name}: ")
        assert err.endswith("No space left on device\n")
        assert [path.name for path in disk.iterdir()] == ["filler"]


def test_a_path_that_cannot_be_written_is_an_error_in_one_line(run, store, tmp_path):
    (tmp_path / "folder").mkdir()
    for path, reason in ((tmp_path / "folder", "Is a directory"), ("/proc/races.json", "No such file")):
        code, out, err = run("export", "race-1", "--output", path)
        assert (code, out) == (64, "")
        assert err.startswith(f"error: cannot write the export to {path}: {reason}")
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        "export race-1 --output=",
        "report race-1 --report-file=",
        "report race-1 --html=",
        "compare --baseline=race-1 --contender=other-1 --html=",
        "compare --baseline=race-1 --contender=other-1 --contender=other-2 --html=",
        "compare --baseline=race-1 --contender=other-1 --report-file=",
        "trend --html=",
    ],
)
def test_a_folder_in_the_place_of_a_file_is_an_error_in_one_line(run, store, tmp_path, monkeypatch, command):
    for name in ("other-1", "other-2"):
        store.create(record(name)).finish(record(name))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    # A page without a file has a place of its own.
    for path in ("/", ".", "..", "new/..", *(() if "--html" in command else ("",))):
        code, _, err = run(*f"{command}{path}".split())
        assert code in (2, 64), path
        assert err.startswith("error: ")
        assert "Is a directory" in err
        assert err.count("\n") == 1
    assert {entry.name for entry in (tmp_path / "work").iterdir()} <= {"new"}
    assert not list(tmp_path.glob("..-*"))


@pytest.mark.parametrize("name", ["csv", "openmetrics", "parquet"])
def test_a_race_whose_tags_are_too_long_to_be_repeated_is_left_out(run, store, tmp_path, name):
    store.create(record("long", user_tags={"note": "x" * 20_000, "night": "monday"}))
    output = tmp_path / "races"
    code, _, err = run("export", "tag:night=monday", f"--format={name}", f"--output={output}")
    assert code == 0
    assert "not exported: the tags and names of race long have 20,1" in err
    assert "which are repeated with each figure: at most 16,384 can be" in err
    assert b"race-1" in output.read_bytes()
    assert b"x" * 1_000 not in output.read_bytes()
    code, _, err = run("export", "long", "race-1", f"--format={name}", f"--output={output}")
    assert code == 64
    assert "hint: `pacenote export --format=json` has them once" in err
    # JSON has them once.
    assert ids(run("export", "long")[1]) == ["long"]
