"""`pacenote experiment resume`: after a kill, from another folder, twice at once, and what it refuses."""

import json
from pathlib import Path

import pytest

from pacenote.cli.lab.stored_experiment import NoOptionCheck
from pacenote.lab.experiment.read_file import read_experiment
from pacenote.lab.experiment.start import create_experiment
from pacenote.model.experiment import ExperimentPlan, JournalEntry, PlannedRace
from pacenote.store.experiment_store import ExperimentStore, file_digest
from pacenote.store.file_lock import is_file_shared
from pacenote.system.descendants import become_subreaper, descendants, end_descendants
from support.engine import engine_document
from support.experiments import DEADLINE_S, started, wait_for
from support.http_server import http_server, json_response

FILE = """
question = "Is b as fast as a?"
blocks = 3

[race]
track-path = "track"
target-hosts = "{address}"
pipeline = "benchmark-only"
client-options = "client.json"

[variants.a]
track-params = {{path = "/a"}}

[variants.b]
track-params = {{path = "/b"}}
"""


@pytest.fixture
def address():
    with http_server(lambda request: json_response(engine_document(request.target))) as server:
        yield server.address


@pytest.fixture
def folder(tmp_path, monkeypatch, address):
    """A folder with an experiment, `ab.toml`, and what its options name."""
    here = tmp_path / "here"
    (here / "track").mkdir(parents=True)
    operation = {"operation-type": "raw-request", "path": "{{ path }}"}
    task = {"name": "read", "operation": operation, "iterations": 100, "clients": 2}
    (here / "track" / "track.json").write_text(json.dumps({"version": 2, "schedule": [task]}))
    (here / "client.json").write_text('{"default": {"timeout": 60}}')
    (here / "ab.toml").write_text(FILE.format(address=address))
    monkeypatch.chdir(here)
    return here


@pytest.fixture
def begun(folder, home):
    """An experiment whose process was killed before its first race."""
    text = (folder / "ab.toml").read_text()
    store = ExperimentStore(home)
    experiment = store.create("ab")
    plan = ExperimentPlan(
        experiment_id="ab-1",
        created="2026-03-01T12:00:00+00:00",
        seed=7,
        folder=str(folder),
        file_digest=file_digest(text),
        races=tuple(
            PlannedRace(n, block, name, block) for n, (block, name) in enumerate([(1, "a"), (1, "b")], 1)
        ),
    )
    store.write(experiment, text, plan)
    return experiment


def races_started(home):
    try:
        return [entry.event for entry in ExperimentStore(home).folder("ab-1").journal()].count("started")
    except Exception:
        return 0


@pytest.mark.process
def test_a_killed_experiment_leaves_no_race_running_and_goes_on_elsewhere(run, folder, home, monkeypatch):
    become_subreaper()
    before = descendants()
    try:
        process = started("run", "ab.toml")
        wait_for(
            lambda: races_started(home) == 2 and len(descendants(before)) > 1, "the second race", process
        )
        process.kill()
        process.communicate()
        experiment = ExperimentStore(home).folder("ab-1")
        wait_for(lambda: not is_file_shared(experiment.races_lock), "the race to end with the experiment")
        assert descendants(before) == ()
    finally:
        end_descendants(before)
        become_subreaper(enabled=False)
    plan = experiment.plan_json.read_bytes()
    # Relative paths, of the home folder too, are those of the folder in which the experiment was started.
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("PACENOTE_HOME", "../home")
    code, out, _ = run("experiment", "resume", "--dry-run")
    assert code == 0
    assert out.startswith("experiment ab-1: Is b as fast as a?\n5 of 6 races would run")
    code, out, err = run("experiment", "resume")
    # A race of a second is suspect on a busy machine, and one block of three voids.
    assert code in (0, 3), err
    assert "6 of 6 races in " in out
    assert experiment.plan_json.read_bytes() == plan
    entries = [entry for entry in experiment.journal() if entry.outcome == "raced"]
    assert sorted(entry.race for entry in entries) == [1, 2, 3, 4, 5, 6]


@pytest.mark.process
def test_of_two_that_resume_at_once_one_races_and_the_other_is_told(begun):
    processes = [started("resume", "ab-1") for _ in range(2)]
    ends = [(*process.communicate(timeout=DEADLINE_S), process.returncode) for process in processes]
    # The one that races can end with 3, because a race of a second is suspect on a busy machine.
    (error,) = [err for _, err, code in ends if code not in (0, 3)]
    assert "error: experiment 'ab-1' is running" in error
    assert [entry.race for entry in begun.journal() if entry.event == "ended"] == [1, 2]


def test_a_report_needs_neither_the_folder_nor_the_files_of_the_options(run, begun, folder, monkeypatch):
    begun.append(JournalEntry(event="machine", at="t", text="kernel 1 → 2"))
    (folder / "client.json").unlink()
    monkeypatch.chdir(folder.parent)
    code, out, err = run("experiment", "report", "ab-1")
    assert (code, err) == (0, "")
    assert "kernel 1 → 2" in out
    code, _, err = run("experiment", "resume", "ab-1")
    assert code != 0
    assert "client.json" in err
    folder.rename(folder.parent / "moved")
    code, _, err = run("experiment", "resume", "ab-1")
    assert code != 0
    assert err.startswith(
        f"error: the experiment was started in {folder}, which cannot be used: No such file"
    )


def test_the_report_of_an_experiment_is_a_gate_and_written_to_a_file(run, begun, folder):
    code, out, err = run("experiment", "report", "--fail-on=worse", "--report-file=found/report.txt")
    assert (code, "--fail-on: b has no races to compare" in err) == (3, True)
    assert (folder / "found" / "report.txt").read_text() == out
    report = ("experiment", "report", "--report-format=junit", "--report-file=found/junit.xml")
    assert run(*report)[0] == 0
    assert run(*report)[2].endswith("junit-2.xml, because junit.xml has one\n")
    assert (folder / "found" / "junit.xml").read_text().startswith("<?xml")


@pytest.mark.parametrize("action", ["report", "resume"])
def test_a_changed_file_is_refused(run, begun, action):
    begun.toml.write_text(begun.toml.read_text().replace("[variants.b]", "[variants.c]"))
    code, out, err = run("experiment", action, "ab-1")
    assert (code != 0, out) == (True, "")
    assert "experiment.toml was changed after its races were planned" in err


def test_a_variant_that_only_the_plan_has_is_refused(run, begun):
    text = begun.toml.read_text().replace("[variants.b]", "[variants.c]")
    begun.toml.write_text(text)
    document = json.loads(begun.plan_json.read_text())
    begun.plan_json.write_text(json.dumps(document | {"file_digest": file_digest(text)}))
    code, _, err = run("experiment", "report", "ab-1")
    assert code != 0
    assert "plan.json does not have the races of experiment.toml" in err


@pytest.fixture
def ladder(folder, home):
    """Creates a ladder with the races of a plan that `keep` accepts."""

    def create(keep=lambda _race: True):
        text = (folder / "ab.toml").read_text().replace("blocks = 3", 'blocks = 3\ndesign = "ladder"')
        experiment = create_experiment(
            ExperimentStore(home), read_experiment(text, "ab", "ab.toml", NoOptionCheck()), text
        )
        document = json.loads(experiment.plan_json.read_text())
        races = [race for race in document["races"] if keep(race)]
        experiment.plan_json.write_text(json.dumps(document | {"races": races}))
        return experiment.experiment_id

    return create


def test_a_ladder_is_reported_unless_an_earlier_version_planned_it(run, ladder):
    code, out, err = run("experiment", "report", ladder())
    assert (code, err) == (0, ""), out
    # Its last stage raced the last step, and not the best against the start.
    earlier = ladder(lambda race: race["stage"] == 1)
    code, _, err = run("experiment", "resume", earlier, "--adopt")
    assert code != 0
    assert "plan.json does not have the races of experiment.toml" in err
    assert "run the file again" in err


def test_a_damaged_line_of_the_journal_is_refused(run, begun):
    begun.append(JournalEntry(event="machine", at="t", text="x"))
    begun.journal_file.write_bytes(b"{\n" + begun.journal_file.read_bytes())
    code, out, err = run("experiment", "resume", "ab-1")
    assert (code != 0, out) == (True, "")
    assert err.startswith(f"error: line 1 of {begun.journal_file} cannot be read: ")
    assert "unreadable" in run("experiment", "list")[1]


def test_an_experiment_is_deleted_without_its_races(run, begun, home):
    (home / "races" / "ab-1-001").mkdir(parents=True)
    assert run("delete", "experiment", "--id=ab-1", "--dry-run")[1] == (
        "would delete experiment ab-1; its races are kept\n"
    )
    assert run("delete", "experiment", "--id=ab")[2].startswith("error: no experiment 'ab' in ")
    with begun.locked():
        assert run("delete", "experiment", "--id=ab-1")[2].startswith("error: experiment 'ab-1' is running")
    assert run("delete", "experiment", "--id=ab-1")[1] == "deleted experiment ab-1; its races are kept\n"
    assert not begun.path.exists()
    assert (home / "races" / "ab-1-001").exists()
    assert run("delete", "experiment", "--id=ab-1")[0] != 0


def test_a_search_is_deleted_without_its_confirmation(run, begun, home):
    search = home / "experiments" / "tune-1"
    search.mkdir()
    (search / "tune.json").touch()
    confirmation = begun.path.rename(home / "experiments" / "tune-1-confirm-1")
    assert run("experiment", "report", "tune-1")[2].startswith("error: tune-1 is a search, not an experiment")
    assert run("delete", "experiment", "--id=tune-1")[1] == (
        "deleted search tune-1; its races and its confirmation are kept\n"
    )
    assert (search.exists(), confirmation.exists()) == (False, True)


def test_a_file_here_with_the_name_of_a_recipe_is_pointed_out(run, folder, monkeypatch):
    Path("a-a.toml").touch()
    monkeypatch.setattr("pacenote.cli.experiment._race", lambda *_: 0)
    code, _, err = run("experiment", "run", "a-a")
    assert code == 0
    assert err == (
        "warning: the bundled recipe runs: `pacenote experiment run a-a.toml` runs the file here\n"
    )
