"""The engine that an experiment keeps: its options, its end, and what a kill leaves. Its commands do not run
here, but in `tests/e2e/test_experiment.py` with a real engine.
"""

import json
import os
import socket

import pytest

from pacenote.errors import EngineError
from pacenote.lab.child_command import ChildExit
from pacenote.lab.experiment import kept_engine
from pacenote.lab.experiment.kept_engine import ChildRaces
from pacenote.store.installation_store import new_kept_id

OPTIONS = {
    "track": "t",
    "car": "1gheap",
    "set": ["engine.x=1", "index.y=2", "engine.z=3"],
    "jvm": ["-Xss1m"],
}


def needs_new_engine(name, value):
    return name in ("car", "jvm") or (name == "set" and value[0].startswith("engine."))


@pytest.fixture
def commands(monkeypatch):
    """The commands that were run; `ends` has how those of a name end."""
    run, ends = [], {}

    def run_children(calls, shows):
        (call,) = calls
        run.append(list(call.arguments))
        nodes = json.dumps({"nodes": [{"address": "127.0.0.1:39200"}]}).encode()
        return (ends.get(call.arguments[0], ChildExit(0, output=nodes)),)

    monkeypatch.setattr(kept_engine, "run_children", run_children)
    return run, ends


def state_of(tmp_path, installation_id=None):
    """Writes that the experiment has started an engine, and returns the option that names it."""
    option = f"--installation-id={installation_id or new_kept_id(tmp_path.name)}"
    (tmp_path / "engine.json").write_text(json.dumps(option))
    return option


def races(tmp_path, warned=None):
    warn = (warned if warned is not None else []).append
    return ChildRaces(needs_new_engine, tmp_path / "engine.json", print, warn, tmp_path)


def test_settings_of_indices_stay_with_the_races(tmp_path, commands):
    run, _ = commands
    with races(tmp_path).kept_engine(OPTIONS) as left:
        assert left == {
            "track": "t",
            "set": ["index.y=2"],
            "pipeline": "benchmark-only",
            "target-hosts": "127.0.0.1:39200",
        }
        (install, start) = run
        # The id is stored, so that the engine is found after a kill.
        chosen = json.loads((tmp_path / "engine.json").read_text())
        assert install == [
            "install", chosen, "--car=1gheap", "--set=engine.x=1", "--set=engine.z=3", "--jvm=-Xss1m",
        ]  # fmt: skip
        assert start == ["start", chosen, "--format=json"]
    assert run[2:] == [["stop", chosen]]
    assert not (tmp_path / "engine.json").exists()


def test_an_engine_that_a_kill_has_left_is_stopped_first(tmp_path, commands):
    run, _ = commands
    old = state_of(tmp_path)
    with races(tmp_path).kept_engine(OPTIONS):
        assert run[0] == ["stop", old]
        assert run[1][1] != old


@pytest.mark.parametrize("planted", ["main", "", "9a1c8a4e-1f0b-4b7e-9a52-0d7c1b1f2e3d", "of another"])
def test_an_engine_that_the_experiment_did_not_start_is_left_alone(tmp_path, commands, planted):
    """Someone else may have had the folder, and have returned it with the same plan."""
    run, _ = commands
    state_of(tmp_path, new_kept_id("heap-2") if planted == "of another" else planted or " ")
    if not planted:
        (tmp_path / "engine.json").write_text('"--installation-id="')
    assert "names an engine that is left alone" in races(tmp_path).stop_engine()
    with pytest.raises(EngineError, match="`pacenote list nodes` shows what runs"):
        races(tmp_path).kept_engine(OPTIONS).__enter__()
    assert run == []
    assert (tmp_path / "engine.json").exists()


def test_a_kill_before_there_was_an_engine_does_no_harm(tmp_path, commands):
    _, ends = commands
    state_of(tmp_path)
    ends["stop"] = ChildExit(64, "there is no installation 'old' (there are none)")
    with races(tmp_path).kept_engine(OPTIONS):
        pass


def test_an_engine_that_cannot_be_stopped_prevents_the_next_one_but_not_the_answer(tmp_path, commands):
    run, ends = commands
    warned = []
    ends["stop"] = ChildExit(64, "it hangs")
    with races(tmp_path, warned).kept_engine(OPTIONS):
        pass
    (warning,) = warned
    assert warning.startswith("the engine of the experiment cannot be stopped with `pacenote stop --install")
    assert warning.endswith("`: it hangs")
    count = len(run)
    with pytest.raises(EngineError, match="it hangs"), races(tmp_path).kept_engine(OPTIONS):
        pass
    assert [one[0] for one in run[count:]] == ["stop"]


def test_an_engine_that_does_not_start_is_removed(tmp_path, commands):
    run, ends = commands
    ends["start"] = ChildExit(64, "no memory")
    with pytest.raises(EngineError, match="`pacenote start` failed: no memory"):
        races(tmp_path).kept_engine(OPTIONS).__enter__()
    assert run[-1][0] == "stop"


def test_the_cluster_of_a_user_is_neither_started_nor_checked(tmp_path, commands):
    run, _ = commands
    given = {"track": "t", "target-hosts": "10.0.0.1:9200"}
    with races(tmp_path).kept_engine(given) as left:
        assert left == given
        assert races(tmp_path).engine_problem(left) == ""
    assert run == []


def test_an_engine_that_has_ended_is_noticed(tmp_path):
    state_of(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        options = {"target-hosts": f"127.0.0.1:{server.getsockname()[1]}"}
        assert races(tmp_path).engine_problem(options) == ""
    assert "has ended: Connection refused" in races(tmp_path).engine_problem(options)


@pytest.mark.parametrize("stored", ["5", '["--installation-id=x"]', "null", '"--debug"', '{"a": 1}', "{"])
def test_a_state_that_names_no_engine_is_passed_over(tmp_path, commands, stored):
    (tmp_path / "engine.json").write_text(stored)
    assert races(tmp_path).stop_engine() == ""
    assert commands[0] == []


def test_a_state_that_is_a_pipe_is_passed_over(tmp_path, commands):
    os.mkfifo(tmp_path / "engine.json")
    assert races(tmp_path).stop_engine() == ""
    assert commands[0] == []
