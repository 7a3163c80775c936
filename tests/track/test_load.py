"""Complete tracks are loaded, including plug-ins; errors have a location and contain no secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pacenote.errors import TrackError
from pacenote.plan.build import PlanContext, PlanSettings, build_plan
from pacenote.track.load import load_track
from track.builders import NOW, document, folder, load, problems

SETTINGS = PlanSettings(race_id="r", seed=1, hosts=())


def test_a_track_has_its_plugin_and_dependencies(tmp_path: Path) -> None:
    assert load(tmp_path).plugin is None
    (tmp_path / "track.py").write_text("def register(registry): pass")
    track = load(tmp_path, dependencies=["numpy", "pytrec_eval==0.5"])
    assert track.plugin == tmp_path / "track.py"
    assert track.dependencies == ("numpy", "pytrec_eval==0.5")


def test_a_plugin_for_a_different_tool_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "workload.py").write_text("def register(registry): pass")
    (reported,) = problems(tmp_path)
    assert (
        reported
        == "workload.py is a plug-in for OpenSearch Benchmark; Pacenote only runs those of Rally (track.py)"
    )


def test_five_mistakes_are_reported_as_five_problems(tmp_path: Path) -> None:
    reported = problems(
        tmp_path,
        version=1,
        corpora=[{"name": "library", "documents": [{"source-file": "b.json", "document-count": 0}]}],
        operations=[{"name": "read"}, {"name": "write", "operation-type": "bulk", "bulk-size": 10}],
        schedule=[
            {"operation": "write", "clients": 0},
            {"operation": "read", "iterations": 5, "warmup-time-period": 10},
        ],
    )
    assert [problem.split(" (rendered track.json, line ")[0] for problem in reported] == [
        "version is 1, but only version 2 of the format exists",
        "corpora[0].documents[0].document-count is 0, but must be at least 1",
        "operations[0].operation-type is missing",
        "schedule[0].clients is 0, but must be at least 1",
        "schedule[1] mixes warmup-time-period with iterations; choose periods or iterations",
    ]
    assert all(", near track.json:" in problem for problem in reported)


def test_a_track_error_contains_no_secret(tmp_path: Path) -> None:
    text = json.dumps(document(description=["HERE"])).replace("HERE", "{{ secret_x }}")
    source = folder(tmp_path, {"track.json": text})
    with pytest.raises(TrackError) as caught:
        load_track(source, {"secret_x": "hunter2"}, NOW)
    reported = "".join((caught.value.message, *caught.value.problems))
    assert "hunter2" not in reported
    assert "<hidden>" in reported


def test_an_excerpt_contains_no_secret(tmp_path: Path) -> None:
    source = folder(tmp_path, {"track.json": '{"a": "{{ secret_x }}" 1}'})
    with pytest.raises(TrackError) as caught:
        load_track(source, {"secret_x": "hunter2"}, NOW)
    assert "<hidden>" in caught.value.problems[0]
    assert "hunter2" not in caught.value.message + caught.value.problems[0]
    assert caught.value.__suppress_context__


def test_problems_found_during_planning_have_a_location_and_contain_no_secret(tmp_path: Path) -> None:
    operation = {"name": "read", "operation-type": "search", "body": {}, "headers": "{{ secret_x }}"}
    source = folder(tmp_path, {"track.json": json.dumps(document(operations=[operation]), indent=1)})
    track = load_track(source, {"secret_x": "hunter2"}, NOW)
    with pytest.raises(TrackError) as caught:
        build_plan(track, None, SETTINGS, PlanContext())
    (reported,) = caught.value.problems
    assert reported.startswith(
        'operations[0].headers is "<hidden>", but must be an object; the value may be that of "secret_x" in '
        "--track-params (rendered track.json, "
    )


def test_a_problem_that_repeats_is_reported_once_with_all_lines_and_the_parameter(tmp_path: Path) -> None:
    tasks = ",\n".join(f'{{"name": "t{n}", "operation": "read", "clients": {{{{ c }}}}}}' for n in range(12))
    text = f'{{"version": 2, "operations": [], "schedule": [\n{tasks}\n]}}'
    with pytest.raises(TrackError) as caught:
        load_track(folder(tmp_path, {"track.json": text}), {"c": -5, "other": 5}, NOW)
    (clients,) = [problem for problem in caught.value.problems if "clients" in problem]
    assert clients == (
        'schedule[0].clients is -5, but must be at least 1; the value may be that of "c" in --track-params '
        "(rendered track.json, line 2, near track.json:1; also lines 3, 4, 5, 6, 7, 8, 9, 10 and 3 more)"
    )


def test_text_that_is_not_json_names_the_parameter_in_its_line(tmp_path: Path) -> None:
    text = '{"version": 2,\n"size": {{ size }},\n"abc": {{ other }}}'
    with pytest.raises(TrackError, match=r'; the value may be that of "size" in --track-params$'):
        load_track(folder(tmp_path, {"track.json": text}), {"size": "abc", "other": 1}, NOW)
    body = {"track.json": json.dumps(document(indices=[{"name": "i", "body": "i.json"}]))}
    files = {**body, "i.json": '{"settings": {\n"shards": {{ shards }}}}'}
    with pytest.raises(TrackError, match='the value may be that of "shards" in --track-params'):
        load_track(folder(tmp_path, files), {"shards": "x"}, NOW)


def test_an_unknown_type_is_reported_with_location_task_and_hint(tmp_path: Path) -> None:
    track = load(tmp_path, schedule=[{"name": "mine", "operation": "esqll"}])
    with pytest.raises(TrackError) as caught:
        build_plan(track, None, SETTINGS, PlanContext())
    (reported,) = caught.value.problems
    assert reported.startswith('schedule[0].operation of task "mine": "esqll" is neither an operation')
    assert "rendered track.json, line " in reported
    assert caught.value.hint
