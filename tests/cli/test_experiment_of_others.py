"""`resume` and `delete experiment` with folders that were copied from someone else, or that an earlier
version made: nothing that they name is run, and no engine of the user is named, until the user adopts them.
"""

from __future__ import annotations

import json
import os
import shutil

import pytest

from lab.tune.searches import search_plan
from pacenote.cli.lab.stored_experiment import NoOptionCheck
from pacenote.errors import StoreError
from pacenote.lab.experiment.read_file import read_experiment
from pacenote.lab.experiment.start import create_experiment
from pacenote.model.tune import TuneEvent
from pacenote.store.begun_plans import BegunPlans
from pacenote.store.experiment_store import ExperimentStore
from pacenote.store.installation_store import new_kept_id
from pacenote.store.tune_store import create_tune, write_tune

TEXT = """
question = "Which is faster?"
blocks = 3
[race]
track = "http_logs"
offline = true
{jdk}
[variants.a]
car = "1gheap"
[variants.b]
car = "2gheap"
"""

REFUSED = "error: experiment 'heap-1' was copied to "
NOT_KNOWN = "error: whether this home began experiment 'heap-1', which runs what it names, is not known: "


def experiment(store, jdk=None, name="heap"):
    text = TEXT.format(jdk=f'runtime-jdk = "{jdk}"' if jdk else "")
    return create_experiment(store, read_experiment(text, name, f"{name}.toml", NoOptionCheck()), text)


@pytest.fixture
def copied(home, tmp_path):
    """An experiment of another home, `heap-1`, the newest one of this home, with a program as its Java."""
    jdk = home / "experiments" / "heap-1" / "logs"
    folder = experiment(ExperimentStore(tmp_path / "other"), jdk)
    java = folder.path / "logs" / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\ntouch {tmp_path}/RAN\n")
    java.chmod(0o755)
    shutil.copytree(folder.path, home / "experiments" / "heap-1")
    return ExperimentStore(home).folder("heap-1")


@pytest.fixture
def resumed(monkeypatch):
    """The ids of experiments and searches that would have gone on."""
    ids = []
    monkeypatch.setattr("pacenote.cli.experiment._race", lambda each, *_: ids.append(each.experiment_id) or 0)
    monkeypatch.setattr("pacenote.cli.tune._search", lambda each, *_, **__: ids.append(each.tune_id) or 0)
    return ids


@pytest.mark.parametrize("target", [("heap-1",), ("hea",), ("latest",), (), ("heap-1", "--dry-run")])
def test_a_copied_experiment_is_not_resumed(run, copied, tmp_path, target):
    code, out, err = run("experiment", "resume", *target)
    assert (code != 0, out) == (True, "")
    assert err.startswith(f"{REFUSED}{copied.path}, or an earlier version of Pacenote began it: ")
    assert "check the options in its experiment.toml" in err
    assert err.endswith("pacenote experiment resume heap-1 --adopt\n")
    assert not (tmp_path / "RAN").exists()
    assert copied.journal() == ()


def test_the_latest_that_is_resumed_is_one_of_this_home(run, home, copied, resumed):
    own = experiment(ExperimentStore(home), name="mine")
    os.utime(own.plan_json, (1, 1))
    code, out, err = run("experiment", "resume", "latest", "--dry-run")
    assert (code, out.splitlines()[0]) == (0, "experiment mine-1: Which is faster?"), err
    assert run("experiment", "resume")[0] == 0
    assert resumed == ["mine-1"]
    # Reading one runs nothing.
    assert "Which is faster?" in run("experiment", "report", "latest")[1]


def test_an_experiment_of_an_earlier_version_is_resumed_once_it_is_adopted(run, home, resumed):
    experiment(ExperimentStore(home))
    (home / "begun.json").unlink()
    assert "or an earlier version of Pacenote began it" in run("experiment", "resume", "heap-1")[2]
    code, out, _ = run("experiment", "resume", "heap-1", "--adopt", "--dry-run")
    assert (code, out.splitlines()[0]) == (0, "experiment heap-1: Which is faster?")
    assert run("experiment", "resume", "heap-1")[2].startswith(REFUSED)
    assert run("experiment", "resume", "heap-1", "--adopt")[0] == 0
    assert run("experiment", "resume")[0] == 0
    assert resumed == ["heap-1"] * 2


@pytest.mark.parametrize("given", [("--adopt",), ("latest", "--adopt")])
def test_the_latest_experiment_is_not_adopted(run, copied, resumed, given):
    code, _, err = run("experiment", "resume", *given)
    assert (code != 0, resumed) == (True, [])
    assert err.startswith("error: --adopt needs the id of what is resumed\n")


def test_only_the_command_line_adopts(run, home, copied, resumed):
    (home / "pacenote.toml").write_text("[experiment]\nadopt = true\n[tune]\nadopt = true\n")
    assert run("experiment", "resume", "heap-1")[2].startswith(REFUSED)
    assert run("experiment", "resume", "heap-1", "--no-adopt")[2].startswith(REFUSED)
    assert resumed == []
    assert "of `experiment resume`" in run("experiment", "report", "heap-1", "--adopt")[2]
    assert "of `tune resume`" in run("tune", "--adopt", "--objective=p99:term")[2]
    assert "of a new search" in run("tune", "report", "--adopt")[2]


def changed_plan(home):
    plan = home / "experiments" / "heap-1" / "plan.json"
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"folder": "/tmp"}))


@pytest.mark.parametrize(
    "change",
    [
        lambda home: (home / "begun.json").chmod(0o666),
        lambda home: (home / "begun.json").write_text('{"begun": ["heap-1"]}'),
        lambda home: (home / "begun.json").write_text('{"begun": {"heap-1": 1}}'),
        lambda home: (home / "begun.json").write_text("[" * 100_000),
        changed_plan,
    ],
)
def test_an_experiment_is_one_of_this_home_only_with_its_plan_in_a_file_of_the_user(
    run, home, resumed, change
):
    experiment(ExperimentStore(home))
    assert run("experiment", "resume")[0] == 0
    change(home)
    assert run("experiment", "resume", "heap-1")[2].startswith((REFUSED, NOT_KNOWN))
    assert resumed == ["heap-1"]


def given_away(folder):
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 65534, 65534)


by_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: folder.chmod(0o777),
        lambda folder: (folder.chmod(0o755), (folder / "plan.json").chmod(0o666)),
        lambda folder: (folder.chmod(0o755), (folder / "experiment.toml").chmod(0o666)),
        pytest.param(given_away, marks=by_root),
        pytest.param(lambda folder: os.chown(folder, 65534, 65534), marks=by_root),
    ],
)
def test_an_experiment_that_others_could_change_once_it_is_checked_is_adopted_each_time(
    run, home, resumed, change
):
    # As after `cp -a` or `tar -x` of root, which keep owners and permissions.
    folder = experiment(ExperimentStore(home)).path
    folder.parent.chmod(0o755)
    change(folder)
    code, _, err = run("experiment", "resume", "heap-1")
    assert (code != 0, err.startswith(NOT_KNOWN)) == (True, True), err
    assert "can be written by other users" in err or "belongs to user 65534" in err
    for _ in range(2):
        code, _, err = run("experiment", "resume", "heap-1", "--adopt")
        assert (code, "it has to be adopted each time: " in err) == (0, True), err
    assert run("experiment", "resume", "heap-1")[0] != 0
    assert resumed == ["heap-1"] * 2


def test_an_experiment_that_others_can_read_is_one_of_this_home(run, home, resumed):
    folder = experiment(ExperimentStore(home)).path
    folder.parent.chmod(0o755)
    folder.chmod(0o755)
    assert run("experiment", "resume", "heap-1")[0] == 0
    folder.chmod(0o700)
    # They cannot enter it.
    (folder / "plan.json").chmod(0o666)
    assert run("experiment", "resume", "heap-1")[0] == 0
    folder.chmod(0o777)
    folder.parent.chmod(0o700)
    assert run("experiment", "resume", "heap-1")[0] == 0
    assert resumed == ["heap-1"] * 3


def test_a_copied_search_is_not_resumed_until_it_is_adopted_with_its_confirmation(
    run, home, tmp_path, resumed
):
    store = ExperimentStore(home)
    own = create_tune(store)
    write_tune(own, search_plan(tune_id=own.tune_id))
    os.utime(own.path / "tune.json", (1, 1))
    other = create_tune(ExperimentStore(tmp_path / "other"))
    write_tune(other, search_plan(tune_id="tune-2"))
    for experiment_id in ("tune-2-confirm-1", "heap-1"):
        other.append(TuneEvent(event="confirming", at="t", experiment_id=experiment_id))
        folder = experiment(store, name=experiment_id.rpartition("-")[0])
        BegunPlans(home).add(folder.experiment_id, b"other")
    copied = shutil.copytree(other.path, home / "experiments" / "tune-2")
    code, out, err = run("tune", "resume", "tune-2")
    assert (code != 0, out) == (True, "")
    assert err.startswith(f"error: search 'tune-2' was copied to {copied}, or an earlier version of ")
    assert "check `race`, `knobs` and `folder` in its tune.json" in err
    assert err.endswith("pacenote tune resume tune-2 --adopt\n")
    assert run("tune", "resume", "--adopt")[2].startswith("error: --adopt needs the id of what is resumed\n")
    assert run("tune", "resume", "latest")[0] == 0
    assert resumed == ["tune-1"]
    assert run("tune", "resume", "tune-2", "--adopt")[0] == 0
    assert run("tune", "resume")[0] == 0
    assert resumed == ["tune-1", "tune-2", "tune-2"]
    # Its journal may name any experiment: only its confirmations are adopted with it.
    begun = [name for name in ("tune-2-confirm-1", "heap-1") if store.has_begun(store.exact_folder(name))]
    assert begun == ["tune-2-confirm-1"]


@pytest.mark.parametrize("is_own", [False, True])
@pytest.mark.parametrize("is_search", [False, True])
def test_the_engine_that_a_copied_folder_names_is_left_alone(run, home, is_search, is_own):
    store = ExperimentStore(home)
    folder = experiment(store)
    if is_search:
        folder.plan_json.rename(folder.path / "tune.json")
    mine = new_kept_id("heap-1") if is_own else "mine"
    folder.engine_json.write_text(f'"--installation-id={mine}"')
    installation = home / "installations" / mine / "installation.json"
    installation.parent.mkdir(parents=True)
    installation.write_text("{}")
    if is_own:
        code, _, err = run("delete", "experiment", "--id=heap-1")
        assert (code != 0, f"pacenote stop --installation-id={mine}" in err) == (True, True)
        (home / "begun.json").unlink()
    # Someone else may have had a folder of this home, and have returned it with the same plan.
    code, _, err = run("delete", "experiment", "--id=heap-1")
    assert code == 0
    assert err.startswith(
        f"warning: heap-1 named an engine that is left alone (--installation-id={mine}), because "
    )
    assert "pacenote stop" not in err
    assert (folder.path.exists(), installation.exists()) == (False, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")
@pytest.mark.parametrize("part", ["folder", "plan", "file"])
def test_what_another_user_owns_is_not_begun_although_only_its_home_can_be_entered(home, part):
    """A folder that was moved there may still be open in a process of its owner."""
    store = ExperimentStore(home)
    folder = experiment(store)
    home.chmod(0o700)
    store.experiments.chmod(0o700)
    assert store.has_begun(folder)
    os.chown({"folder": folder.path, "plan": folder.plan_json, "file": folder.toml}[part], 65_534, -1)
    assert "belongs to user" in folder.problem_of_others()
    assert not store.has_begun(folder)


@pytest.mark.parametrize("problem", ["all may write", "damaged"])
def test_what_is_not_trusted_is_not_erased_and_the_reason_is_shown(run, home, problem):
    """As in a home that was restored without its permissions: an own experiment is not said to be copied."""
    store = ExperimentStore(home)
    experiment(store)
    file = home / "begun.json"
    before = file.read_bytes()
    if problem == "damaged":
        file.write_bytes(b"{")
        reason = f"{file} is damaged (remove it)"
    else:
        file.chmod(0o666)
        reason = f"{file} is not used: all users may write to it (`chmod o-w`)"
    content = file.read_bytes()
    err = run("experiment", "resume", "heap-1")[2]
    assert err.startswith("error: whether this home began experiment 'heap-1', which runs what it names, ")
    assert f"is not known: {reason}\n" in err
    with pytest.raises(StoreError):
        store.adopt(store.exact_folder("heap-1"))
    second = experiment(store)
    assert second.plan_json.exists()
    assert file.read_bytes() == content
    if problem != "damaged":
        file.chmod(0o600)
        assert store.has_begun(store.exact_folder("heap-1"))
        assert file.read_bytes() == before


def test_a_configuration_file_can_neither_adopt_searches_nor_prevent_new_ones(run, home):
    home.mkdir(exist_ok=True)
    (home / "pacenote.toml").write_text("adopt = true\n")
    err = run("tune", "--objective=throughput", "--budget=1h", "--track=http_logs", "--dry-run")[2]
    assert "--adopt" not in err


def test_a_home_knows_many_plans_and_forgets_the_oldest(home, monkeypatch):
    monkeypatch.setattr("pacenote.store.begun_plans._MAX_PLANS", 2)
    plans = BegunPlans(home)
    for name in ("a", "b", "a", "c", "a"):
        plans.add(name, name.encode())
    plans.add("c", b"again")
    assert list(plans.digests()) == ["a", "c"]
    assert (home / "begun.json").stat().st_mode & 0o077 == 0
