"""`pacenote report`: the report of a stored race."""

import io
import json
import os
import subprocess

import pytest
from msgspec.structs import replace

from pacenote.cli.console import Console
from pacenote.model.saturation import SaturationResult
from pacenote.store.race_folder import RaceFolder
from pacenote.store.race_store import RaceStore
from report.test_saturation import FOUND, PROBE, render_saturation
from support.disks import fill, small_disk
from support.records import BEGAN, record, task


@pytest.fixture
def races():
    store = RaceStore()
    for day, name in enumerate(("abc-1", "abc-2"), start=1):
        store.create(record(name, timestamp=BEGAN.replace(day=day)))
    return store


def test_a_report_is_printed_again(run, races):
    for arguments in (("abc-2",), ("latest", "--quiet", "--offline")):
        code, out, err = run("report", *arguments)
        assert (code, err) == (0, "")
        assert "- Race ID: abc-2" in out
        assert "99.9th percentile service time" in out


@pytest.mark.parametrize("command", [("report", "race"), ("race", "--test-mode")])
def test_a_short_report_has_no_format(run, command):
    code, out, err = run(*command, "--report=short", "--report-format=json")
    assert (code, out) == (2, "")
    assert "error: --report=short is not available as json\n" in err


def test_the_report_of_a_killed_race_has_its_finished_tasks(run):
    killed = record("killed", tasks=(task(),), complete=False)
    RaceStore().create(killed).finish(killed)
    code, out, err = run("report", "killed")
    assert "tasks.jsonl is missing, so the results of finished tasks are lost" in err
    assert code == 0
    assert "Mean Throughput" in out
    assert "- Reason: the process of the race ended without finishing it\n" in out
    assert run("report", "killed", "--report=short")[1].split()[0] == "KILLED"


@pytest.mark.parametrize(
    ("changes", "badge"),
    [({}, "RUNNING"), ({"interrupted": True}, "INTERRUPTED"), ({"aborted": "no node"}, "ABORTED")],
)
def test_the_screen_names_the_state_of_a_race_as_the_list_does(run, changes, badge):
    running = RaceStore().create(record("race", tasks=(), complete=False, **changes))
    running.append(task())
    assert run("report", "race", "--report=short")[1].split()[0] == badge
    assert run("list", "races")[1].split()[-1] == badge.lower()


def plan_of(*steps):
    """Returns a plan with these steps, each with the names of its tasks."""
    names = [name for step in steps for name in step]
    clients = [[{"allocations": [{"task": names.index(name)} for name in step]}] for step in steps]
    return json.dumps({
        "tasks": [{"name": name} for name in names],
        "steps": [{"client_allocations": allocations} for allocations in clients],
    })


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"interrupted": True}, "interrupted in step 2 of 4 (b); 2 tasks were not run: d, e"),
        ({"aborted": "no node"}, "aborted in step 2 of 4 (b): no node; 2 tasks were not run: d, e"),
        (
            {},
            "the process of the race ended without finishing it in step 2 of 4 (b); "
            "2 tasks were not run: d, e",
        ),
    ],
)
def test_the_report_of_an_incomplete_race_says_what_is_missing(run, changes, reason):
    folder = RaceStore().create(record("race", complete=False))
    folder.write_plan(plan_of("a", "bc", "d", "e"))
    tasks = (task("a"), task("b", ended_by="stopped"), task("c"))
    folder.finish(record("race", tasks=tasks if changes else (tasks[0], tasks[2]), complete=False, **changes))
    assert f"- Reason: {reason}\n" in run("report", "race")[1]
    screen = " ".join(run("report", "race", "--report=short")[1].split())
    assert f"! {reason}." in screen
    assert (" b (interrupted) " in screen) == bool(changes)


def test_the_step_of_a_running_race_is_shown(run):
    running = RaceStore().create(record("race", tasks=(), complete=False))
    for plan, verdict, text in (
        ("{", "running", ""),
        (plan_of("a", "bc", "d"), "running (step 2 of 3)", " in step 2 of 3 (c)"),
    ):
        running.write_plan(plan)
        running.append(task("a" if text else "b"))
        out = run("report", "race")[1]
        assert f"- Verdict: {verdict}\n- Reason: the race is still running{text}\n" in out
    assert json.loads(run("report", "race", "--report-format=json")[1])["progress"] == "running (step 2 of 3)"


def test_the_result_of_a_saturation_is_shown_again(run, tmp_path):
    reasons = {"void": "driver thread drive-0 was busy", "undecided": "p99 of latency has too few samples"}
    probes = tuple(
        replace(PROBE, number=number, outcome=outcome, reasons=(reason,))
        for number, (outcome, reason) in enumerate(reasons.items(), start=1)
    )
    result = replace(FOUND, race_id="s", probes=probes)
    RaceStore().create(record("s")).write_saturation(result)
    code, out, err = run("report", "s", f"--report-file={tmp_path / 'report'}")
    assert (code, err) == (0, "")
    assert out == render_saturation(result, record("s").verdict) == (tmp_path / "report").read_text()
    assert all(f"| {outcome}: {reason} |" in out for outcome, reason in reasons.items())
    code, out, err = run("report", "s", "--report-format=json")
    assert (code, SaturationResult.from_document(json.loads(out))) == (0, result)
    code, _, err = run("report", "s", "--report-format=csv")
    assert (code, err) == (
        2,
        "error: --report-format must be markdown or json for the result of saturate\n"
        "hint: --report-format=json has all figures\n",
    )


def test_samples_that_cannot_be_completed_are_reported(run):
    folder = RaceStore().create(record("killed"))
    folder.finish(record("killed"))
    folder.samples.write_bytes(b"PAR1" + bytes(100))
    code, _, err = run("report", "killed")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith(f"warning: {folder.samples} is incomplete and cannot be completed, because")
    folder.samples.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
    assert run("report", "killed")[2] == ""


@pytest.mark.parametrize("text", ["{", '{"race_id": 1}', "[]"])
def test_a_damaged_result_of_a_saturation_is_an_error(run, text):
    folder = RaceStore().create(record("s"))
    folder.saturation.write_text(text)
    code, _, err = run("report", "s")
    assert code == 64
    assert err.startswith(f"error: {folder.saturation}")


def test_an_unknown_or_ambiguous_race_is_an_error(run, races):
    assert run("report", "nope")[0] == 64
    code, _, err = run("report", "abc")
    assert code == 64
    assert err.startswith("error: 'abc' matches 2 races: abc-1, abc-2\nhint: give more characters of the id")


@pytest.mark.parametrize("state", ["full", "read-only"])
def test_a_report_is_printed_from_a_home_that_cannot_be_written(run, home, state):
    with small_disk(home, 1024) as disk:
        folder = RaceFolder(disk / "races" / "killed")
        folder.path.mkdir(parents=True)
        folder.write(record("killed", tasks=(), complete=False))
        folder.append(task())
        # A race that was killed in its first seconds.
        for name in ("samples.parquet", "samples.directory", "series.jsonl"):
            (folder.path / name).touch()
        if state == "full":
            fill(disk)
        else:
            subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        assert os.statvfs(disk).f_bavail == 0 or state == "read-only"
        for reference in ("killed", "latest"):
            code, out, err = run("report", reference)
            assert (code, "Mean Throughput" in out) == (0, True)
            problem, _, more = err.partition("\n")
            assert problem.startswith(
                "warning: samples, statistics or telemetry could not be completed: cannot"
            )
            assert more == ""
        assert run("list", "races")[0] == 0


def test_all_figures_are_shown_on_request(run, races):
    _, out, _ = run("report", "abc-2", "--report=short")
    assert "pacenote report abc-2 --full" in out
    assert "99.9th percentile service time" not in out
    assert "99.9th percentile service time" in run("report", "abc-2", "--report=short", "--full")[1]


def test_a_long_id_is_shortened_as_far_as_it_stays_unique(run):
    end = "-2f57-4a1c-9d3e-0c8c5a1f3f1"
    for race_id in (f"aaaaaaaa{end}1", f"aaaaaaaa{end}2", f"bbbbbbbb{end}1", "nightly-run-1"):
        RaceStore().create(record(race_id))
    for race_id, shown in (
        (f"aaaaaaaa{end}2", f"aaaaaaaa{end}2"),
        (f"bbbbbbbb{end}1", "bbbbbbbb"),
        ("nightly-run-1", "nightly-run-1"),
    ):
        out = " ".join(run("report", race_id, "--report=short")[1].split())
        assert f"id {shown}, started 2026-03-01 12:30 UTC" in out
        assert f"pacenote report {shown} --full" in out


@pytest.mark.parametrize("is_found", [True, False])
def test_the_next_commands_start_this_program(run, races, tmp_path, monkeypatch, is_found):
    for name in ("this", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pacenote").touch(mode=0o755)
    monkeypatch.setattr("sys.argv", [str(tmp_path / "this" / "pacenote")])
    monkeypatch.setenv("PATH", str(tmp_path / ("this" if is_found else "other")))
    program = "pacenote" if is_found else str(tmp_path / "this" / "pacenote")
    assert f"Next {program} report abc-1 --full " in " ".join(
        run("report", "abc-1", "--report=short")[1].split()
    )
    assert run("report", "abc-9")[2].endswith(f"hint: `{program} list races` shows the ids\n")
    err = io.StringIO()
    Console(err=err).warning("`pacenote report abc-1` completes them, `pacenote` does not")
    assert err.getvalue() == f"warning: `{program} report abc-1` completes them, `pacenote` does not\n"
