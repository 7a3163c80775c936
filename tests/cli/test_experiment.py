"""`pacenote experiment` with real races as child processes, against a small server."""

import json
import re
import signal
import tomllib

import pytest
from msgspec.structs import replace

from pacenote.cli.lab.experiment_dry_run import budget_warning
from pacenote.model.experiment import Experiment, ExperimentPlan, JournalEntry, PlannedRace, Variant
from pacenote.store.experiment_store import ExperimentStore
from support.engine import engine_document
from support.experiments import DEADLINE_S, started, wait_for
from support.http_server import http_server, json_response

UNREACHABLE = "127.0.0.1:9"
"""An address at which nothing answers."""

OPERATION = {"operation-type": "raw-request", "path": "{{ path }}"}

COMPARED = (0, 3)
"""Exit codes if all have raced: a race of a second is suspect at times, and one lost block of three voids."""

FILE = """
question = "Is b as fast as a?"
blocks = {blocks}

[race]
track-path = "track"
target-hosts = "{address}"
pipeline = "benchmark-only"

[variants.a]
track-params = {{path = "/a"}}

[variants.b]
track-params = {{path = "/b"}}
"""


@pytest.fixture
def address():
    def answer(request):
        return json_response(engine_document(request.target), 404 if request.target == "/missing" else 200)

    with http_server(answer) as server:
        yield server.address


@pytest.fixture
def file(tmp_path, monkeypatch, address):
    """The file of an experiment of three blocks."""
    folder = tmp_path / "track"
    folder.mkdir()
    task = {"name": "read", "operation": OPERATION, "iterations": 100, "clients": 2}
    (folder / "track.json").write_text(json.dumps({"version": 2, "schedule": [task]}))
    path = tmp_path / "ab.toml"
    path.write_text(FILE.format(blocks=3, address=address))
    monkeypatch.chdir(tmp_path)
    return path


def events(home):
    try:
        return [entry.event for entry in ExperimentStore(home).folder("ab-1").journal()]
    except Exception:
        return []


@pytest.mark.process
def test_an_experiment_runs_to_its_answer(run, file):
    code, out, err = run("experiment", "run", file)
    assert code in COMPARED, err
    assert out.startswith("ab-1: Is b as fast as a?\n")
    assert code == 3 or "b against a: primary metrics:" in out
    assert "6 of 6 races in " in out
    assert "race 1 of 6, block 1 of 3" in err
    page = ExperimentStore().folder("ab-1").page
    assert f"page: {page}\n" in err
    text = page.read_text("utf-8")
    assert "Is b as fast as a?" in text
    assert "<span>pacenote</span> <span>experiment</span> <span>run</span> " in text
    page.unlink()
    assert run("experiment", "report", "--html")[1] == f"{page}\n"
    assert page.read_text("utf-8") == text
    code, out, _ = run("experiment", "report", "ab", "--report-format=json")
    document = json.loads(out)
    assert code in COMPARED
    assert (document["state"], document["blocks"]) == ("complete", 3)
    assert document["variants"][1]["comparison"]["design"] == "paired"
    assert run("experiment", "report", "--report-format=markdown")[1].startswith("# ab-1: Is b")
    assert "6 of 6" in run("experiment", "list")[1]
    races = json.loads(run("list", "races", "--format=json")[1])["races"]
    assert {race["user-tags"]["variant"] for race in races} == {"a", "b"}
    assert len({race["seed"] for race in races}) == 3
    # A race that was deleted makes the answer void, and a new experiment is needed.
    run("delete", "race", "--id=ab-1-002")
    code, out, _ = run("experiment", "report", "--fail-on=worse")
    assert code == 3
    assert "remove what limits the answer, and run a new experiment\n" in out
    out = run("experiment", "resume", "--dry-run")[1]
    assert out.endswith("\nno race is left: all have ended\n")
    assert out.startswith("experiment ab-1: ")
    assert run("experiment", "resume")[0] == 3


@pytest.mark.process
def test_ctrl_c_keeps_what_was_measured_and_says_how_to_go_on(run, file, home):
    process = started("run", str(file))
    wait_for(lambda: events(home).count("started") == 2, "the second race", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 130, err
    assert "pacenote experiment resume ab-1" in out
    assert "Traceback" not in err
    assert run("experiment", "resume", "ab-1")[0] in COMPARED


@pytest.mark.parametrize(
    ("primary", "message"),
    [
        ("p99:raed", "primary: the challenge has no task 'raed'"),
        ("p98:read", "primary: there is no metric 'p98'"),
        ("sgment-count", "did you mean segment-count?"),
    ],
)
def test_a_primary_metric_that_no_race_will_have_is_refused(run, file, primary, message):
    file.write_text(f'primary = ["{primary}"]\n{file.read_text()}')
    code, _, err = run("experiment", "run", file)
    assert (code, ExperimentStore().list()) == (2, [])
    assert message in err


def test_races_that_cannot_run_are_told_before_the_first_one(run, file, home):
    """Each with its line, and without an experiment in the store."""
    file.write_text(
        f'{file.read_text()}[variants.c]\ntrack-params = "pth:/c"\n[variants.d]\nchallenge = "no"\n'
    )
    lines = file.read_text().splitlines()
    code, _, err = run("experiment", "run", file)
    assert code == 2
    assert f"{file} has 2 mistakes" in err
    assert f'line {lines.index("[variants.c]") + 1}: track "track": the track does not use' in err
    assert f'line {lines.index("[variants.d]") + 1}: track "track" has no challenge' in err
    assert not list((home / "experiments").glob("*"))


@pytest.mark.parametrize(
    ("file_line", "option", "message"),
    [
        ("", "--fail-on=worse:p99:raed", "--fail-on: the challenge has no task 'raed'"),
        ("", "--fail-on=better", "--fail-on cannot begin with 'better'"),
        (
            'design = "noise"',
            "--fail-on=worse",
            "--fail-on needs verdicts on variants, which the",
        ),
        ('design = "noise"', "--report-format=junit", "--report-format=junit needs verdicts on variants"),
    ],
)
def test_a_gate_that_no_result_can_have_is_told_before_the_first_race(run, file, file_line, option, message):
    text = file.read_text()
    file.write_text(f"{file_line}\n{text[: text.index('[variants.b]')] if file_line else text}")
    code, _, err = run("experiment", "run", file, option)
    assert code == 2
    assert message in err


def test_a_home_that_is_no_folder_is_no_mistake_of_the_file(run, file, monkeypatch):
    monkeypatch.setenv("PACENOTE_HOME", "/dev/null/x")
    code, _, err = run("experiment", "run", file, "--dry-run")
    assert code != 0
    assert err.startswith("error: cannot read races from /dev/null/x: Not a directory\n")


@pytest.mark.parametrize("is_configured", [False, True])
def test_test_mode_is_told_before_the_first_race(run, file, is_configured):
    if is_configured:
        file.with_name("pacenote.toml").write_text("[race]\ntest-mode = true\n")
    else:
        file.write_text(file.read_text().replace("[race]", "[race]\ntest-mode = true"))
    code, _, err = run("experiment", "run", file, "--dry-run")
    assert code == 0
    assert "warning: races in test mode are always void" in err


@pytest.mark.process
def test_an_engine_that_will_not_start_is_a_warning(run, file):
    variants = '[variants.a]\n[variants.huge]\ncar-params = {heap_size = "9000g"}\n'
    file.write_text(f'[race]\ntrack-path = "track"\ntrack-params = {{path = "/"}}\n{variants}')
    code, _, err = run("experiment", "run", file, "--dry-run")
    assert code == 0
    assert "warning: races of huge will fail: too little memory" in err


def test_primary_metrics_of_the_challenge_are_accepted(run, file):
    file.write_text(f'primary = ["p99:read", "throughput", "segment-count"]\n{file.read_text()}')
    code, out, err = run("experiment", "run", file, "--dry-run")
    assert code == 0, err
    assert "6 races at most" in out


def test_a_primary_metric_that_the_track_declares_is_accepted(run, file):
    track = file.parent / "track" / "track.json"
    meta = {"quality-metrics": {"distance": "lower"}}
    track.write_text(json.dumps({**json.loads(track.read_text()), "meta": meta}))
    file.write_text(f'primary = ["distance:read"]\n{file.read_text()}')
    code, _, err = run("experiment", "run", file, "--dry-run")
    assert code == 0, err


def test_a_direction_on_the_command_line_declares_a_metric(run, file):
    file.write_text(f'primary = ["distance:read"]\n{file.read_text()}')
    code, _, err = run("experiment", "run", file, "--dry-run")
    assert code == 2
    assert "primary: there is no metric 'distance'" in err
    code, _, err = run("experiment", "run", file, "--dry-run", "--quality=distance:read=lower")
    assert code == 0, err
    code, _, err = run("experiment", "run", file, "--dry-run", "--quality=distance=lower,recall:reed=higher")
    assert code == 2
    assert "quality: the challenge has no task 'reed'" in err
    code, _, err = run("experiment", "resume", "latest", "--quality=distance=lower")
    assert code == 2
    assert "--quality is an option of `experiment run` and `experiment report`" in err


@pytest.mark.process
def test_an_experiment_of_void_races_ends_early_and_its_exit_code_says_so(run, file):
    text = file.read_text().replace('path = "/b"', 'path = "/missing"')
    file.write_text(text.replace("blocks = 3", "blocks = 9"))
    code, out, err = run("experiment", "run", file)
    assert code == 3, err
    assert "- ended early: the races must not be compared: " in out


@pytest.mark.process
def test_an_experiment_of_which_nothing_can_race_says_so(run, file):
    file.write_text(re.sub('target-hosts = ".*"', f'target-hosts = "{UNREACHABLE}"', file.read_text()))
    code, out, _ = run("experiment", "run", file)
    assert code == 64
    # The order is drawn, so that either of them fails twice first.
    assert "too few variants can be raced: b" in out or "the baseline cannot be raced: a" in out


@pytest.mark.process
def test_a_variant_that_cannot_race_does_not_end_the_experiment(run, file):
    text = file.read_text().replace('path = "/b"}', f'path = "/b"}}\ntarget-hosts = "{UNREACHABLE}"')
    file.write_text(text + '\n[variants.c]\ntrack-params = {path = "/c"}\n')
    code, out, err = run("experiment", "run", file)
    assert code in COMPARED, err
    assert "b: failed: " in err
    assert "b is not raced any more" in err
    assert code == 3 or "c against a: primary metrics:" in out
    assert "- b failed in 2 of 2 races: " in out


def test_mistakes_of_a_file_are_told_by_the_parser_of_race(run, file):
    file.write_text(
        file.read_text().replace("pipeline", "pipline") + "[variants.c]\nclient-options = 5\ncar = 1\n"
    )
    code, out, err = run("experiment", "run", file)
    assert (code, out) == (2, "")
    lines = err.splitlines()
    assert lines[0] == f"error: {file} has 2 mistakes"
    assert lines[1] == "  - line 8: `pacenote race` has no option pipline: did you mean pipeline?"
    assert lines[2].startswith("  - line 16: --client-options")


@pytest.mark.process
def test_the_command_line_gives_other_variants(run, home):
    sides = ("--baseline=car=1gheap", "--contender=car=2gheap")
    code, out, _ = run("experiment", "run", "heap-size", *sides, "--dry-run")
    assert code == 0
    assert "heap-size: Is car=2gheap better than car=1gheap?" in out
    assert "  1gheap: --car=1gheap\n  2gheap: --car=2gheap\n" in out


@pytest.mark.process
@pytest.mark.parametrize("params", ["docs:20000,bulk_size:500", '{"docs": 20000, "bulk_size": 500}'])
def test_a_recipe_can_be_made_smaller_on_the_command_line(run, home, params):
    given = (f"--track-params={params}", "--blocks=5", "--dry-run")
    code, out, err = run("experiment", "run", "heap-size", *given)
    assert code == 0, err
    assert "10 races at most: 5 blocks of 2 races, 2 variants" in out
    assert '--track-params={"docs": 20000, "bulk_size": 500}' in out


@pytest.mark.process
@pytest.mark.parametrize("params", ["docs:20000", "'{\"docs\": 20000}'"])
def test_parameters_of_given_variants_are_added_to_those_of_the_recipe(run, home, params):
    sides = (f"--baseline=car=1gheap track-params={params}", f"--contender=car=2gheap track-params={params}")
    code, out, err = run(
        "experiment", "run", "heap-size", *sides, "--dry-run", "--track-params=bulk_size:500"
    )
    assert code == 0, err
    assert '--track-params={"docs": 20000' in out
    assert '"bulk_size": 500' in out


@pytest.mark.process
def test_configured_parameters_of_tracks_do_not_replace_those_of_the_file(run, home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PACENOTE_TRUST", "1")
    (tmp_path / "pacenote.toml").write_text('track-params = "docs:5"\n')
    code, out, err = run("experiment", "run", "heap-size", "--dry-run")
    assert code == 0, err
    assert '"docs": 1000000' in out
    assert run("experiment", "list")[0] == 0


def test_mistakes_of_the_command_line_have_no_line_of_the_file(run, home):
    sides = ("--baseline=car=1gheap", "--contender=car=2gheapp")
    code, _, err = run("experiment", "run", "heap-size", *sides, "--dry-run")
    assert code == 2
    assert err.startswith("error: recipe heap-size: \"2gheapp\": unknown car '2gheapp'")
    _, _, err = run("experiment", "run", "heap-size", "--blocks=2", "--dry-run")
    assert err == "error: recipe heap-size: blocks must be a whole number from 3 to 1000, not 2\n"


def test_mistakes_of_a_file_keep_their_lines_if_the_command_line_changes_it(run, file):
    file.write_text(file.read_text().replace("pipeline", "pipline"))
    _, _, err = run("experiment", "run", file, "--blocks=5", "--track-params=path:/c")
    assert err.startswith(f"error: {file}: line 8: `pacenote race` has no option pipline")


def test_a_mistake_that_all_variants_share_is_told_once(run, file):
    file.write_text(file.read_text().replace('track-path = "track"', 'track-path = "trac"'))
    _, _, err = run("experiment", "run", file)
    assert err.startswith(f"error: {file}: ")
    assert " line " not in err.splitlines()[0]


@pytest.mark.process
def test_a_baseline_that_will_not_start_is_refused(run, file):
    variants = '[variants.huge]\ncar-params = {heap_size = "9000g"}\n[variants.a]\n'
    file.write_text(f'[race]\ntrack-path = "track"\ntrack-params = {{path = "/"}}\n{variants}')
    code, _, err = run("experiment", "run", file, "--dry-run")
    assert code == 64
    assert err.startswith("error: races of huge will fail: too little memory")


def test_a_dry_run_shows_the_plan_and_creates_nothing(run, file, home):
    code, out, _ = run("experiment", "run", file, "--dry-run")
    assert code == 0
    assert out.splitlines()[1] == "6 races at most: 3 blocks of 2 races, 2 variants"
    assert not (home / "experiments").exists()


@pytest.mark.process
def test_every_recipe_can_be_written_and_has_no_mistakes(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recipes = json.loads(run("experiment", "list", "recipes", "--report-format=json")[1])
    assert {"heap-size", "a-a", "noise"} <= {recipe["name"] for recipe in recipes}
    table = " ".join(run("experiment", "list", "recipes")[1].split())
    assert all(recipe["not-reproduced"] in table for recipe in recipes)
    for recipe in recipes:
        assert recipe["question"].endswith("?")
        assert recipe["follows"], recipe
        assert recipe["not-reproduced"], recipe
        code, _, err = run("experiment", "run", recipe["name"], "--dry-run")
        if recipe["name"] == "data-path":  # Its folders must be given first.
            assert (code, err.splitlines()[0]) == (
                2,
                "error: data-paths: /replace/first-disk is not a folder",
            )
        else:
            assert (code, err) == (0, ""), recipe
    assert run("experiment", "init")[0] == 0
    assert run("experiment", "run", "experiment.toml", "--dry-run")[0] == 0
    assert run("experiment", "init")[2].startswith("error: experiment.toml exists already")


def test_another_configuration_of_rally_is_refused(run, file, tmp_path):
    """Its races would read rally.ini all the same."""
    (tmp_path / "rally" / ".rally").mkdir(parents=True)
    (tmp_path / "rally" / ".rally" / "rally-ci.ini").write_text("[meta]\nconfig.version = 17\n")
    code, _, err = run("experiment", "run", file, "--configuration-name=ci")
    assert (code, err.splitlines()[0]) == (
        2,
        "error: --configuration-name cannot be given to `pacenote experiment`: its races read rally.ini",
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("rum",), "error: cannot experiment 'rum'\nhint: did you mean run or resume?\n"),
        (("run",), "error: experiment run needs a file, or the name of a recipe\n"),
        (("run", "heap-siz"), "error: there is no recipe 'heap-siz' (did you mean \"heap-size\"?)\n"),
        (("run", "missing.toml"), "error: missing.toml cannot be read: No such file or directory\n"),
        (
            ("report", "--dry-run"),
            "error: --dry-run is an option of `experiment run` and `experiment resume`, not of "
            "`experiment report`\n",
        ),
        (
            ("run", "heap-size", "--dry-run", "--report-format=junit"),
            "error: --dry-run prints the planned races as text: there is no report yet\n",
        ),
        (
            ("resume", "--dry-run", "--report-file=r.md"),
            "error: --dry-run prints the planned races as text: there is no report yet\n",
        ),
        (
            ("resume", "--dry-run", "--budget=2h"),
            "error: --dry-run prints all races that are left, whatever the --budget is\n",
        ),
        (
            ("list", "--budget=1h"),
            "error: --budget is an option of `experiment run` and `experiment resume`, not ",
        ),
        (("init", "--report-format=json"), "error: --report-format is an option of `experiment run` and "),
        (("report", "--blocks=5"), "error: --blocks is an option of `experiment run`, not of "),
        (("list", "--track-params=a:1"), "error: --track-params is an option of `experiment run`, not of "),
        (("report", "x"), "error: no experiment 'x' in "),
        (("list", "recipe"), "error: cannot list 'recipe'\nhint: did you mean recipes?\n"),
        (("run", "a-a", "--budget=soon"), "error: --budget must be a time such as 30m or 2h, not 'soon'\n"),
    ],
)
def test_a_wrong_command_is_told(run, arguments, expected):
    code, out, err = run("experiment", *arguments)
    assert code != 0
    assert out == ""
    assert err.startswith(expected)


def test_a_dry_run_states_the_hours_and_the_power_of_its_own_workload(run, file, home):
    text = file.read_text()
    earlier = ExperimentStore(home).create("other")
    races = tuple(PlannedRace(number, number, "a", 7) for number in (1, 2, 3))
    plan = ExperimentPlan(experiment_id="other-1", created="", seed=1, folder="/", races=races)
    ExperimentStore(home).write(earlier, text, plan)
    for race in races:
        earlier.append(
            JournalEntry(event="ended", at="t", race=race.number, race_id="r", outcome="raced", seconds=60)
        )
    out = run("experiment", "run", file, "--dry-run", "--budget=1m")[1]
    assert (
        "duration: about 6 min, from earlier races; the budget is 1 min, which does not suffice for a" in out
    )
    experiment = Experiment(name="x", design="noise", budget_s=59.0, race=tomllib.loads(text)["race"])
    assert budget_warning(experiment) == (
        "the budget is 59 s, which does not suffice for a block of 1 min: only one is raced"
    )
    assert budget_warning(replace(experiment, budget_s=61.0)) == ""
    duet = replace(experiment, design="duet", budget_s=1.0, variants=(Variant("a"), Variant("b")))
    assert "does not suffice for a block of 1 min:" in budget_warning(duet)
    file.write_text(text.replace("[race]", "[race]\ntest-mode = true"))
    out = run("experiment", "run", file, "--dry-run")[1]
    assert "duration: not known before the first race" in out
    assert "power: not known" in out


def test_each_race_of_an_earlier_duet_took_as_long_as_both(run, file, home):
    earlier = ExperimentStore(home).create("other")
    races = tuple(PlannedRace(number, 1, name, 7, half=number) for number, name in ((1, "a"), (2, "b")))
    plan = ExperimentPlan(experiment_id="other-1", created="", seed=1, folder="/", races=races)
    ExperimentStore(home).write(earlier, file.read_text(), plan)
    for race in races:
        earlier.append(
            JournalEntry(event="ended", at="t", race=race.number, race_id="r", outcome="raced", seconds=30)
        )
    assert "duration: about 6 min, from earlier races" in run("experiment", "run", file, "--dry-run")[1]
