"""`pacenote jfr`: tables, and files with stacks."""

from __future__ import annotations

import csv
import io
import json

import pytest
from msgspec import structs
from msgspec.structs import replace

from pacenote.model.recording import LockKind, RecordedJvm
from pacenote.store.race_store import RaceStore
from support.planted_links import planted_link
from support.recordings import SECOND, START_NS, RecordingBuilder, without
from support.records import record as race

TLABS = ("jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB")


@pytest.fixture
def reader(monkeypatch):
    """Replaces the reader of recordings; returns the recordings by name of their file, and the reads."""
    recordings = {}
    reads = []

    class FakeReader:
        def __init__(self, paths):
            self.names = [path.name for path in paths]
            self.found = recordings[paths[0].name]

        def recording(self, window_ns=None):
            reads.append((self.names, window_ns))
            return replace(self.found, window_ns=window_ns)

    monkeypatch.setattr("pacenote.cli.recordings.RecordingReader", FakeReader)
    recordings.update({"race.jfr": made(3), "old.jfr": made(1)})
    return recordings, reads


def made(samples, states=None):
    builder = RecordingBuilder()
    builder.sample("bulk-1", builder.stack("a.hot", "a.run"), samples)
    builder.sample("search-1", builder.stack("a.cold", "a.run"), 1)
    builder.allocate("outside_tlab", ("byte[]", "bulk-1"), builder.stack("a.hot"), 1, 1000)
    builder.allocate("in_new_tlab", ("int[]", "bulk-1"), builder.stack("a.hot"), 1, 3000)
    builder.wait(LockKind.PARK, "a.Lock", builder.stack("a.hot"), [SECOND])
    return builder.build(states)


def test_tables_are_printed_as_markdown(run, reader):
    code, out, err = run("jfr", "race.jfr")
    assert (code, err) == (0, "")
    assert out.startswith("- Recording: race.jfr (1 chunk, 100 events)\n")
    assert "\n## Running Java methods by method\n\n| Method | Samples |   Share |\n" in out
    assert "\n| a.hot  |       3 | 75.00 % |\n" in out


def test_tables_are_also_csv_and_json_and_written_to_a_file(run, reader, tmp_path):
    _, out, _ = run("jfr", "race.jfr", "--report-format=csv", "--limit=1")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert {"cpu-by-method", "park-by-class"} <= {row["Table"] for row in rows}
    assert sum(row["Table"] == "cpu-by-method" for row in rows) == 2
    file = tmp_path / "report.json"
    _, out, _ = run("jfr", "race.jfr", "--report-format=json", f"--report-file={file}", "--event=park")
    assert json.loads(file.read_text()) == json.loads(out)
    assert [table["name"] for table in json.loads(out)["tables"]] == ["park-by-class", "park-by-thread"]


def test_stacks_are_written_instead_of_tables(run, reader, tmp_path):
    files = {name: tmp_path / name for name in ("flame-graph", "folded", "speedscope")}
    code, out, err = run("jfr", "race.jfr", *(f"--{name}={file}" for name, file in files.items()))
    assert (code, out) == (0, "")
    assert files["folded"].read_text() == "a.run;a.hot 3\na.run;a.cold 1\n"
    assert json.loads(files["speedscope"].read_text())["profiles"][0]["weights"] == [3, 1]
    assert files["flame-graph"].read_text().startswith("<!DOCTYPE html>")
    assert f"{files['folded']}: 2 different stacks, 29 B\n" in err


def test_no_stacks_are_written_where_a_link_of_another_user_leads(run, reader, tmp_path):
    link, target = planted_link(tmp_path)
    for name in ("flame-graph", "folded", "speedscope"):
        code, _, err = run("jfr", "race.jfr", f"--{name}={link / name}")
        assert (code, f"{link / name} cannot be written: {link} belongs to user 54321" in err) == (64, True)
    assert list(target.iterdir()) == []


def test_stacks_go_to_standard_output_by_event_thread_and_class(run, reader):
    for options, expected in (
        (("--by-thread",), "bulk-1;a.run;a.hot 3\nsearch-1;a.run;a.cold 1\n"),
        (("--thread=search,other",), "a.run;a.cold 1\n"),
        (("--event=allocation",), "a.hot;int[] 3000\na.hot;byte[] 1000\n"),
        (("--event=allocation", "--class=byte[]"), "a.hot;byte[] 1000\n"),
        (("--event=park",), "a.hot;a.Lock 1000000000\n"),
        (("--baseline=old.jfr",), "a.run;a.hot 1 3\na.run;a.cold 1 1\n"),
    ):
        assert run("jfr", "race.jfr", "--folded=-", *options) == (0, expected, "")


def test_a_baseline_is_a_column_of_the_tables(run, reader):
    _, out, _ = run("jfr", "race.jfr", "--baseline=old.jfr", "--event=cpu")
    assert "- Contender: race.jfr" in out
    assert "- Baseline: race.jfr" in out
    (line,) = [line for line in out.splitlines() if line.startswith("| a.hot")]
    assert [cell.strip() for cell in line.split("|")[2:-1]] == ["1", "3", "+200 %", "50.00 %", "75.00 %"]


def test_the_window_counts_from_the_start_or_is_a_time(run, reader):
    _, reads = reader
    for options, window in (
        (("--from=10",), (START_NS + 10 * SECOND, START_NS + 60 * SECOND + 1)),
        (("--to=0.5",), (START_NS, START_NS + SECOND // 2)),
        (
            ("--from=2023-11-14T22:13:25.000001", "--to=2023-11-14T23:13:30+01:00"),
            (START_NS + 5 * SECOND + 1000, START_NS + 10 * SECOND),
        ),
    ):
        code, out, _ = run("jfr", "race.jfr", *options)
        assert code == 0
        assert reads[-1] == (["race.jfr"], window)
    assert "- Recording window: 2023-11-14 22:13:25 UTC, 5 s\n" in out


@pytest.fixture
def races(reader, monkeypatch):
    """Two races with a recording each, and one with those of two nodes."""
    store = RaceStore()
    for name, files in (
        ("one", ("race.jfr", "gc.log")),
        ("two", ("old.jfr",)),
        ("nodes", ("node-0/race.jfr", "node-1/old.jfr")),
        ("none", ("gc.log",)),
        ("late", ("race.jfr",)),
    ):
        record = race(name)
        if name == "late":
            first, *others = record.tasks
            first = structs.replace(first, window_s=5.0, window_from_s=1.0)
            record = structs.replace(record, tasks=(first, *others))
        folder = store.create(structs.replace(record, driver={**record.driver, "started_unix_ns": START_NS}))
        for file in files:
            path = folder.artifacts / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    return reader[1]


def test_a_reply_that_comes_late_does_not_move_the_window_of_its_task(run, races):
    task = race("late").tasks[0]
    assert run("jfr", "--race=late", f"--task={task.task}", "--event=cpu")[0] == 0
    begin = START_NS + round((task.started_s + 1) * SECOND)
    assert races == [(["race.jfr"], (begin, begin + 5 * SECOND))]


def test_the_recording_of_a_race_is_cut_to_a_task(run, races):
    task = race("one").tasks[0]
    end = START_NS + round((task.started_s + task.duration_s) * SECOND)
    window = (end - round(task.window_s * SECOND), end)
    code, out, err = run("jfr", "--race=one", f"--task={task.task}", "--event=cpu")
    assert (code, err) == (0, "")
    assert races == [(["race.jfr"], window)]
    assert f"- Task: {task.task}, without its warm-up\n" in out
    code, out, _ = run("jfr", "--race=one", "--baseline-race=two", f"--task={task.task}", "--folded=-")
    assert (code, out) == (0, "a.run;a.hot 1 3\na.run;a.cold 1 1\n")
    assert races[1:] == [(["race.jfr"], window), (["old.jfr"], window)]
    assert run("jfr", "--race=nodes", "--node=node-1", "--folded=-")[1] == "a.run;a.cold 1\na.run;a.hot 1\n"


def test_a_race_without_the_recording_that_is_asked_for_is_an_error(run, races):
    for options, expected, message, hint in (
        ("--race=none", 64, "has no recording", "--telemetry=jfr"),
        ("--race=absent", 64, "absent", ""),
        ("--race=nodes", 2, "has recordings of several nodes: node-0, node-1", "--node=NAME"),
        ("--race=nodes --node=node-7", 2, "has no recording of node node-7", "it has those of node-0"),
        ("--race=one --node=node-0", 2, "has no recording of node node-0", "leave --node out"),
        ("--race=one --task=fast", 2, "race one has no task 'fast'", "it has "),
        ("--race=one --task=a --from=3", 2, "--task cannot be combined with --from", ""),
        (
            "--race=one --task=a --baseline=old.jfr",
            2,
            "--baseline cannot be cut to a task",
            "--baseline-race",
        ),
    ):
        code, out, err = run("jfr", *options.split())
        assert (code, out) == (expected, ""), options
        assert message in err
        assert hint in err


REFUSED = (
    ("--from=9 --to=3", 2, "--from and --to leave no time of the recording"),
    ("--from=soon", 2, "--from: must be seconds, or a time such as"),
    ("--from=-1", 2, "--from: must be seconds of at least 0"),
    ("--from=2023-11-14 --baseline=old.jfr", 2, "cannot be times of day with a baseline"),
    ("--race=latest", 2, "give either recordings or --race=RACE"),
    ("--task=index", 2, "--task needs --race=RACE"),
    ("--node=a", 2, "--node needs --race=RACE"),
    ("--baseline-race=a", 2, "--baseline-race needs --race=RACE"),
    ("--baseline-race=a --baseline=old.jfr", 2, "--baseline and --baseline-race cannot both be given"),
    ("--event=gpu", 2, "--event cannot be 'gpu'"),
    ("--folded=- --speedscope=-", 2, "--speedscope and --folded are both -"),
    ("--folded=race.jfr", 2, "--folded would replace the recording race.jfr"),
    *((f"--{bound}=1000000001", 2, "must be seconds of at most 1,000,000,000") for bound in ("from", "to")),
    ("--to=1970-01-01T00:00:00+00:01", 2, "must be a time from 1970 to 2261"),
    ("--from=0001-01-01T00:00:00+23:59", 2, "must be a time from 1970 to 2261"),
    ("--to=9999-12-31T23:59:59-23:59", 2, "must be a time from 1970 to 2261"),
    ("--folded=missing/file", 64, "missing/file cannot be written: No such file or directory"),
    ("--folded=- --thread=nobody", 64, "race.jfr: no event of jdk.ExecutionSample is within the time"),
    ("--folded=- --event=lock", 64, "race.jfr: no event of jdk.JavaMonitorEnter is within"),
)
"""Options, exit code and message."""


def test_what_cannot_be_done_is_one_line(run, reader, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "race.jfr").touch()
    for options, code, message in REFUSED:
        exit_code, out, err = run("jfr", "race.jfr", *options.split())
        assert (exit_code, out) == (code, ""), options
        assert message in err
        assert err.startswith("error: ")
    assert (tmp_path / "race.jfr").read_bytes() == b""


def test_an_event_that_was_not_recorded_has_a_reason_and_alternatives(run, reader):
    reader[0]["race.jfr"] = made(1, without(*TLABS, "jdk.ObjectAllocationSample"))
    code, _, err = run("jfr", "race.jfr", "--folded=-", "--event=allocation")
    assert code == 64
    assert "the settings of the recording disable it" in err
    assert "hint: the recording has --event=cpu, " in err


def test_events_of_tables_and_graphs_have_the_same_names(run):
    from pacenote.cli import jfr
    from pacenote.report.recording.events import EVENT_KINDS

    assert set(jfr._EVENTS) == set(EVENT_KINDS)
    assert all(name in run("jfr", "--help")[1].replace("\n", " ") for name in ("--event", "--flame-graph"))


def test_recordings_of_two_jvms_are_not_added_up(run, reader):
    recordings, _ = reader
    jvms = (RecordedJvm(7, None), RecordedJvm(8, None))
    recordings["race.jfr"] = replace(made(3), jvms=jvms)
    code, out, err = run("jfr", "race.jfr", "old.jfr")
    assert (code, out) == (64, "")
    assert "recordings of 2 JVMs: JVM with pid 7; JVM with pid 8" in err
    assert "--baseline=FILE" in err


@pytest.mark.parametrize("option", ["--to=1000000000", "--from=1", "--from=1970-01-01T00:00:00"])
def test_no_time_is_after_the_last_one_of_a_recording(run, reader, option):
    """A recording of others may end at the last time that 64 bits have."""
    recordings, reads = reader
    last = (1 << 63) - 1
    recordings["race.jfr"] = replace(recordings["race.jfr"], start_ns=last - 5 * SECOND, end_ns=last)
    run("jfr", "race.jfr", option)
    windows = [window for _, window in reads if window is not None]
    assert windows
    assert all(0 <= first < end <= last for first, end in windows)
