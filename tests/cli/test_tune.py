"""`pacenote tune`: its options, its plan, and races as child processes against a small server."""

import json
import os
import subprocess
import sys
import time

import pytest

from lab.tune.searches import MACHINE, search_plan
from pacenote.errors import StoreError
from pacenote.lab.tune.confirm import confirmation, confirmation_folder
from pacenote.model.tune import TuneEvent
from pacenote.race.planning import load_race_track
from pacenote.store.experiment_store import ExperimentStore
from pacenote.store.tune_store import create_tune, find_tune, write_tune
from support.engine import engine_document
from support.http_server import http_server, json_response

DEADLINE_S = 60.0

TRACK = {
    "version": 2,
    "schedule": [
        {
            "name": "read",
            "operation": {"operation-type": "raw-request", "path": "{{ path | default('/a') }}"},
            "iterations": 400,
            "clients": 2,
        }
    ],
}
KNOBS = '[knobs.path]\noption = "track-params.path"\nvalues = ["/a", "/b"]\nsource = "two paths"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a track and a knob file."""
    (tmp_path / "track").mkdir()
    (tmp_path / "track" / "track.json").write_text(json.dumps(TRACK))
    (tmp_path / "knobs.toml").write_text(KNOBS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def options(*more):
    own = ("--objective=p50:read", "--budget=1s", "--track-path=track", "--knobs=knobs.toml")
    return ("tune", *own, "--pipeline=benchmark-only", "--quiet", *more)


def test_a_dry_run_shows_the_knobs_and_what_is_left_out(run, folder):
    (folder / "knobs.toml").write_text(
        KNOBS + '[knobs.size]\noption = "track-params.size"\nvalues = [1]\n'
        '[knobs.heap]\noption = "car-params.heap_size"\nvalues = ["1g"]\n'
        '[knobs.zip]\noption = "client-options.http_compress"\nvalues = [true, false]\n'
    )
    code, out, err = run(*options("--constraint=p99:read<5ms", "--dry-run", "--target-hosts", "127.0.0.1:1"))
    assert (code, err) == (0, "")
    assert "objective: p50:read\nlimit: p99:read < 5 ms\n" in out
    assert "10 blocks of default and winner are reserved for the confirmation" in out
    assert "every race: --track-path=track --pipeline=benchmark-only --target-hosts=127.0.0.1:1\n" in out
    assert "path (track-params.path): /a, /b; default /a\n" in out
    assert "zip (client-options.http_compress): true, false; default not known\n" in out
    assert "left out: size: the track has no parameter size\n" in out
    assert "left out: heap: the cluster runs already\n" in out
    assert not ExperimentStore().experiments.exists()


def test_a_dry_run_accepts_an_engine_of_an_official_archive(run, folder):
    own = [option for option in options("--dry-run") if option != "--pipeline=benchmark-only"]
    code, out, err = run(*own, "--distribution=elasticsearch", "--distribution-version=8.17.0")
    assert (code, err) == (0, "")
    assert "--distribution-version=8.17.0" in out


def test_each_search_draws_its_seed_unless_one_is_given(run, folder, monkeypatch):
    seeds = []
    monkeypatch.setattr(
        "pacenote.cli.lab.tune_plan.plan_lines", lambda found: seeds.append(found.plan("").seed) or ()
    )
    for more in ((), (), ("--seed=7",)):
        assert run(*options("--dry-run", "--target-hosts=127.0.0.1:1", *more))[0] == 0
    assert len(set(seeds)) == 3
    assert seeds[2] == 7


def test_values_that_cannot_be_raced_are_told_with_their_line(run, folder):
    (folder / "knobs.toml").write_text(
        KNOBS + '[knobs.car]\noption = "car"\nvalues = ["1gheap", "2gheapp", "4ghep"]\n'
    )
    code, out, err = run(*options()[:-2], "--dry-run")
    assert (code, out) == (2, "")
    assert err.startswith(
        "error: knobs.toml has 2 mistakes\n"
        "  - line 5: unknown car '2gheapp' in --car (did you mean 2gheap or 32gheap?)\n"
    )


def test_searches_are_listed_and_experiments_are_told_apart(run, home):
    assert run("tune", "list") == (0, "No searches found.\n", "")
    store = ExperimentStore(home)
    for number in (1, 2):
        folder = create_tune(store)
        write_tune(folder, search_plan(tune_id=f"tune-{number}"))
        os.utime(folder.path / "tune.json", (number, number))
    folder.append(TuneEvent(event="stopped", at="t", text="too small"))
    rows = json.loads(run("tune", "list", "--report-format=json")[1])
    assert [(row["tune-id"], row["objective"], row["state"]) for row in rows] == [
        ("tune-2", "throughput:index-append", "stopped"),
        ("tune-1", "throughput:index-append", "unfinished"),
    ]
    assert "tune-2" in run("tune", "list")[1]
    confirmation_folder(store, search_plan(), confirmation(search_plan(), (1, 0)), MACHINE, "2026-03-02")
    assert (
        "hint: see `pacenote experiment report tune-1-confirm-1`"
        in run("tune", "report", "tune-1-confirm-1")[2]
    )
    assert "pacenote tune list" in run("tune", "report", "tune-9")[2]


def test_secrets_are_removed_from_values_and_not_from_what_they_are_written_in(run, home):
    folder = create_tune(ExperimentStore(home))
    write_tune(folder, search_plan())
    text = "server says: password='x and https://user:pass@host/"
    folder.append(TuneEvent(event="stopped", at="t", text=text))
    document = json.loads(run("tune", "report", "tune-1", "--report-format=json")[1])
    assert document["reason"] == "server says: password='<hidden>"
    assert document["is_running"] is False
    markdown = run("tune", "report", "tune-1", "--report-format=markdown")[1]
    assert "password='\\<hidden>" in markdown
    assert "## Next" in markdown


def test_options_of_races_are_joined_with_what_candidates_set(run, folder):
    code, out, _ = run(
        *options("--track-params=path:/b", "--set=index.a=1", "--set=index.b=2", "--no-offline", "--dry-run"),
        "--target-hosts=127.0.0.1:1",
    )
    assert code == 0
    assert '--track-params={"path": "/b"} --set=index.a=1 --set=index.b=2\n' in out
    assert "default /b\n" in out


def test_all_races_have_what_is_configured_for_races(run, folder, monkeypatch):
    monkeypatch.setenv("PACENOTE_TRUST", "1")
    (folder / "pacenote.toml").write_text(
        'car = "4gheap"\n[race]\ntrack-params = {path = "/b"}\nset = "index.a=1"\ntrack = "http_logs"\n'
        '[tune]\ncar-params = {heap_size = "2g"}\n'
    )
    (folder / "knobs.toml").write_text(
        KNOBS + '[knobs.heap]\noption = "car-params.heap_size"\nvalues = ["1g", "2g"]\ndefault = "1g"\n'
    )
    given = ("--objective=p50:read", "--budget=1h", "--track-path=track", "--knobs=knobs.toml", "--dry-run")
    code, out, err = run("tune", *given)
    assert code == 0, err
    every = next(line for line in out.splitlines() if line.startswith("every race: "))
    assert every == (
        'every race: --car=4gheap --track-path=track --track-params={"path": "/b"} '
        '--car-params={"heap_size": "2g"} --set=index.a=1'
    )
    assert "path (track-params.path): /a, /b; default /b\n" in out
    assert "heap (car-params.heap_size): 1g, 2g; default 2g\n" in out


def test_the_throughput_of_a_paced_task_is_no_objective(run, folder):
    track = json.loads(json.dumps(TRACK))
    track["schedule"][0]["target-throughput"] = 10
    (folder / "track" / "track.json").write_text(json.dumps(track))
    _, out, err = run("tune", "--objective=throughput:read", *options("--dry-run")[2:])
    assert (out, "task 'read' has a target throughput" in err) == ("", True)
    assert "--objective=p99:read" in err
    assert run(*options("--dry-run", "--target-hosts=127.0.0.1:1"))[0] == 0


def test_parameters_that_only_other_challenges_read_are_left_out(run, folder):
    challenges = [
        {"name": "one", "default": True, "schedule": TRACK["schedule"]},
        {"name": "two", "schedule": [{"operation": {"operation-type": "raw-request", "path": "{{ size }}"}}]},
    ]
    text = json.dumps({"version": 2, "challenges": challenges}).replace("size }}", "size | default(1) }}")
    (folder / "track" / "track.json").write_text(text)
    (folder / "knobs.toml").write_text(
        KNOBS + '[knobs.size]\noption = "track-params.size"\nvalues = [1, 2]\n'
        '[knobs.codec]\noption = "set:index.codec"\nvalues = ["default"]\n'
    )
    code, out, err = run(*options("--dry-run", "--target-hosts=127.0.0.1:1"))
    assert code == 0, err
    assert "left out: size: the challenge does not read it\n" in out
    assert "left out: codec: the challenge does not read it\n" in out
    assert "path (track-params.path): /a, /b; default /a\n" in out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("tune",), "a search needs an objective"),
        (("tune", "--objective=p50:x"), "a search needs a budget"),
        (
            ("tune", "--objective=p50:x", "--budget=soon"),
            "--budget must be a time such as 30m or 2h, not 'soon'",
        ),
        (("tune", "--objective=p50:x", "--budget=1h", "--race-id=a"), "--race-id cannot be given"),
        (("tune", "--objective=p50:x", "--constraint=p99", "--budget=1h"), "--constraint must be a metric"),
        (
            ("tune", "--objective=p50:x", "--constraint=p99:x<50", "--budget=1h"),
            "p99:x needs a unit: ms, s, us, µs",
        ),
        (("tune", "reports"), "did you mean"),
        (("tune", "report", "--budget=1h"), "--budget is an option of a new search"),
        (("tune", "resume", "--constraint=p99:term<50ms"), "--constraint is an option of a new search"),
        (("tune", "resume", "--track", "other"), "--track is an option of a new search"),
        (("tune", "run", "tune-1", "--objective=p50:x"), "`tune run` takes no id: tune-1"),
        (
            options('--track-params={"path": null}', "--ignore-unused-track-params"),
            "the option None cannot be written",
        ),
        (options("--constraint=p99:reads<5ms"), "the challenge has no task 'reads'"),
        (options("--objective=throughputs:read"), "there is no metric 'throughputs'"),
        (("tune", "report"), "no search 'latest'"),
        (options("--html"), "--html is an option of `tune report`, not of `tune run`"),
        (("tune", "knobs", "--report-format=html"), "--report-format"),
        (options("--knobs=none.toml"), "none.toml cannot be read: No such file"),
    ],
)
def test_mistakes_are_told_before_anything_runs(run, folder, given, message):
    code, out, err = run(*given)
    assert (code == 0, out) == (False, "")
    assert message in err


def test_another_configuration_of_rally_is_refused(run, folder):
    """Its races would read rally.ini all the same."""
    (folder / "rally" / ".rally").mkdir(parents=True)
    (folder / "rally" / ".rally" / "rally-ci.ini").write_text("[meta]\nconfig.version = 17\n")
    code, _, err = run(*options("--configuration-name=ci", "--dry-run", "--target-hosts=127.0.0.1:1"))
    assert (code, err.splitlines()[0]) == (
        2,
        "error: --configuration-name cannot be given to `pacenote tune`: its races read rally.ini",
    )


def test_a_repository_is_updated_once_for_all_values_of_a_knob(run, folder, monkeypatch):
    loaded = []

    def load(request, *arguments):
        loaded.append(request.offline)
        return load_race_track(request, *arguments)

    monkeypatch.setattr("pacenote.cli.lab.tune_plan.load_race_track", load)
    (folder / "knobs.toml").write_text(KNOBS.replace('["/a", "/b"]', '["/a", "/b", "/c"]'))
    assert run(*options("--dry-run", "--target-hosts=127.0.0.1:1"))[0] == 0
    assert loaded == [False, True, True]


def test_the_bundled_knobs_are_printed(run):
    code, out, _ = run("tune", "knobs")
    assert code == 0
    assert "[knobs.heap]" in out


@pytest.mark.process
def test_a_search_races_its_default_and_says_what_it_would_need(run, folder):
    with http_server(lambda request: json_response(engine_document(request.target))) as server:
        code, out, err = run(*options(f"--target-hosts={server.address}"))
        assert code == 3, err
        assert out.startswith("tune-1: p50:read\n\nNo answer: the budget of 1 s is too small: ")
        tune = find_tune(ExperimentStore(), "tune-1")
        ended = [event for event in tune.journal() if event.event == "ended"]
        assert [(event.outcome, event.block) for event in ended] == [("raced", 0)] * 2
        assert "pacenote tune resume tune-1 --budget=" in out
        assert all(event.objective > 0 for event in ended)
        races = json.loads(run("list", "races", "--format=json")[1])["races"]
        assert [race["user-tags"] for race in races] == [{"tune": "tune-1", "candidate": "0"}] * 2
        code, out, _ = run("tune", "report", "--report-format=json")
        assert (code, json.loads(out)["answer"]) == (0, "void")
        code, out, _ = run("tune", "resume", "--budget=1s", "--quiet")
        assert (code, "is too small" in out) == (3, True)
        assert events()[-2:] == ["retried", "stopped"]
        assert run("tune", "report", "tune-1", "--report-format=markdown")[1].startswith("# tune-1: p50:read")


@pytest.mark.process
def test_a_killed_search_is_resumed_with_its_plan(run, folder, home):
    with http_server(lambda request: json_response(engine_document(request.target))) as server:
        command = [sys.executable, "-m", "pacenote", *options(f"--target-hosts={server.address}")]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + DEADLINE_S
        while "started" not in events():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.kill()
        process.wait()
        plan = find_tune(ExperimentStore(), "latest").plan()
        code, out, err = run("tune", "resume")
        assert code == 3, err
        assert out.startswith("tune-1: p50:read\n\nNo answer: the budget of 1 s is too small")
        assert find_tune(ExperimentStore(), "latest").plan() == plan
        assert events().count("stopped") == 1


def events():
    try:
        return [event.event for event in find_tune(ExperimentStore(), "latest").journal()]
    except StoreError:
        return []


def test_the_page_of_a_search_is_written_to_its_folder_or_to_a_file(run, tmp_path):
    folder = create_tune(ExperimentStore())
    write_tune(
        folder, search_plan(race={"track": "t", "client-options": {"basic_auth_password": "secret-1"}})
    )
    code, out, err = run("tune", "report", "--html")
    assert (code, out, err) == (0, f"{folder.files.page}\n", "")
    text = folder.files.page.read_text("utf-8")
    assert "No answer yet" in text
    assert "<span>--objective=throughput:index-append</span>" in text
    assert "secret-1" not in text
    other = tmp_path / "search.html"
    assert run("tune", "report", "tune-1", f"--html={other}")[1] == f"{other}\n"
    assert other.read_text("utf-8") == text
