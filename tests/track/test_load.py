"""Loading as a whole: plugins, secrets, and problems that planning finds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pacenote.errors import TrackError
from pacenote.plan.build import PlanContext, PlanSettings, build_plan
from pacenote.track.load import load_track
from track.builders import NOW, document, folder, load, problems

SETTINGS = PlanSettings(race_id="r", seed=1, hosts=())


@pytest.mark.parametrize("name", ["track.py", "workload.py"])
def test_a_plugin_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("def register(registry): pass")
    (told,) = problems(tmp_path)
    assert told == f"{name} is a Python plugin of the track; tracks with Python plugins come later"


def test_dependencies_are_refused(tmp_path: Path) -> None:
    (told,) = problems(tmp_path, dependencies=["numpy"])
    assert told.startswith("dependencies names Python packages for a plugin; tracks with Python plugins come")
    assert "track.json rendered, line " in told


def test_a_track_error_tells_no_secret(tmp_path: Path) -> None:
    text = json.dumps(document(description=["HERE"])).replace("HERE", "{{ secret_x }}")
    source = folder(tmp_path, {"track.json": text})
    with pytest.raises(TrackError) as caught:
        load_track(source, {"secret_x": "hunter2"}, NOW)
    told = "".join((caught.value.message, *caught.value.problems))
    assert "hunter2" not in told
    assert "<hidden>" in told


def test_an_excerpt_tells_no_secret(tmp_path: Path) -> None:
    source = folder(tmp_path, {"track.json": '{"a": "{{ secret_x }}" 1}'})
    with pytest.raises(TrackError) as caught:
        load_track(source, {"secret_x": "hunter2"}, NOW)
    assert "<hidden>" in caught.value.problems[0]
    assert "hunter2" not in caught.value.message + caught.value.problems[0]
    assert caught.value.__suppress_context__


def test_problems_of_planning_have_their_place_and_no_secret(tmp_path: Path) -> None:
    operation = {"name": "read", "operation-type": "search", "body": {}, "headers": "{{ secret_x }}"}
    source = folder(tmp_path, {"track.json": json.dumps(document(operations=[operation]), indent=1)})
    track = load_track(source, {"secret_x": "hunter2"}, NOW)
    with pytest.raises(TrackError) as caught:
        build_plan(track, None, SETTINGS, PlanContext())
    (told,) = caught.value.problems
    assert told.startswith('operations[0].headers is "<hidden>", must be an object (track.json rendered, ')


def test_an_unknown_type_has_its_place_task_and_hint(tmp_path: Path) -> None:
    track = load(tmp_path, schedule=[{"name": "mine", "operation": "esql"}])
    with pytest.raises(TrackError) as caught:
        build_plan(track, None, SETTINGS, PlanContext())
    (told,) = caught.value.problems
    assert told.startswith('schedule[0].operation of task "mine": operation type "esql" is known to Rally')
    assert "track.json rendered, line " in told
    assert caught.value.hint
