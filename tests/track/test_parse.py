"""Tracks are parsed into a model; every violated rule is reported with a message and a line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pacenote.errors import TrackError
from pacenote.model.track import Parallel, Task
from pacenote.track.load import load_track
from pacenote.units import Rate
from track.builders import NOW, document, folder, load, problems

OPERATION = {"name": "read", "operation-type": "search", "body": {}}
TWO = [{"name": "a", "operation": "read"}, {"name": "b", "operation": "read"}]


def challenge(name: str = "c", **keys: Any) -> dict[str, Any]:
    return {"name": name, "schedule": [{"operation": "read"}], **keys}


def corpus(*files: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"name": "library", "documents": list(files), **keys}


def parallel(*tasks: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"parallel": {"tasks": list(tasks), **keys}}


FILE = {"source-file": "f.json", "document-count": 1}
TWO_INDICES = [{"name": "a"}, {"name": "b"}]

ROOT_RULES: list[tuple[dict[str, Any], str]] = [
    ({"version": 3}, "version is 3, but only version 2"),
    ({"indices": []}, "indices is empty"),
    ({"indices": {}}, "indices is {}, but must be a list"),
    ({"indices": ["a"]}, 'indices[0] is "a", but must be an object'),
    ({"indices": [{"body": None}]}, "indices[0].name is missing"),
    ({"indices": [{"name": "a", "types": ["doc"]}]}, "indices[0].types is not supported"),
    ({"indices": [{"name": "a", "body": "no.json"}]}, 'indices[0].body names "no.json"'),
    ({"indices": [{"name": "a", "body": ""}]}, "indices[0].body is empty"),
    ({"data_streams": [{"name": "s"}]}, "data-streams cannot be used together with indices"),
    ({"templates": [{"name": "t"}]}, "templates[0].template is missing"),
    (
        {"composable_templates": [{"name": "t", "template": "x"}]},
        "composable-templates[0].index-pattern is missing",
    ),
    ({"component_templates": [{}]}, "component-templates[0].name is missing"),
    ({"dependencies": [1]}, "dependencies is [1], but must be a string or a list of strings"),
    ({"operations": [{"name": "x"}]}, "operations[0].operation-type is missing"),
    ({"operations": [{"operation-type": "search"}]}, "operations[0].name is missing"),
    ({"operations": [OPERATION, OPERATION]}, 'operations[1].name is "read", which is not unique'),
    ({"operations": [{**OPERATION, "type": "doc"}]}, "operations[0].type is not supported"),
    (
        {"schedule": [{"operation": {**OPERATION, "type": "d"}}]},
        "schedule[0].operation.type is not supported",
    ),
    ({"schedule": [{"operation": {"name": "x"}}]}, "schedule[0].operation.operation-type is missing"),
    (
        {"schedule": None},
        "the document needs exactly one of challenges, challenge and schedule, but has none",
    ),
]

CORPUS_RULES: list[tuple[dict[str, Any], str]] = [
    ({"corpora": [{"name": "l"}]}, "corpora[0].documents is missing"),
    ({"corpora": [corpus()]}, "corpora[0].documents is empty"),
    ({"corpora": [corpus({})]}, "corpora[0].documents[0].source-file is missing"),
    ({"corpora": [corpus(FILE), corpus(FILE)]}, 'corpora[1].name is "library", which is not unique'),
    ({"corpora": [corpus({**FILE, "document-count": 0})]}, "document-count is 0, but must be at least 1"),
    (
        {"corpora": [corpus({**FILE, "document-count": "9"})]},
        'document-count is "9", but must be a whole number',
    ),
    ({"corpora": [corpus({**FILE, "target-type": "d"})]}, "documents[0].target-type is not supported"),
    ({"corpora": [corpus(FILE, **{"target-type": "d"})]}, "corpora[0].target-type is not supported"),
    (
        {"corpora": [corpus(FILE, **{"source-format": "csv"})]},
        'source-format is "csv", but must be one of bulk',
    ),
    (
        {"corpora": [corpus({**FILE, "target-data-stream": "s"})]},
        "target-data-stream cannot be used: the track",
    ),
    (
        {"corpora": [corpus(FILE)], "indices": TWO_INDICES},
        "documents[0].target-index is missing: the track has",
    ),
    ({"corpora": [corpus(FILE, generator={"name": "g"})]}, "corpora[0].generator.documents is missing"),
    ({"corpora": [corpus(FILE, generator={"documents": 1})]}, "corpora[0].generator.name is missing"),
    (
        {
            "corpora": [corpus({**FILE, "target-index": "i"})],
            "indices": None,
            "data_streams": [{"name": "s"}],
        },
        "target-index cannot be used: the track declares data streams",
    ),
    (
        {"corpora": [corpus(FILE)], "indices": None, "data_streams": TWO_INDICES},
        "documents[0].target-data-stream is missing",
    ),
]

CHALLENGE_RULES: list[tuple[dict[str, Any], str]] = [
    ({"challenges": []}, "challenges is empty"),
    ({"challenges": [{"name": "c"}]}, "challenges[0].schedule is missing"),
    ({"challenges": [challenge(schedule=[])]}, "challenges[0].schedule is empty"),
    ({"challenges": [{"schedule": [{"operation": "read"}]}]}, "challenges[0].name is missing"),
    ({"challenges": [challenge("a"), challenge("b")]}, "challenges has 2 challenges of which none is marked"),
    (
        {"challenges": [challenge("a", default=True), challenge("b", default=True)]},
        'of which "a", "b" are marked as "default", but exactly one must be',
    ),
    (
        {"challenges": [challenge("a", default=True), challenge("a")]},
        'challenges[1].name is "a", which is not unique',
    ),
]

TASK_RULES: list[tuple[dict[str, Any], str]] = [
    ({"operation": None}, "schedule[0].operation is missing"),
    ({"name": "A" * 501}, "but must be a name of at most 500 characters"),
    ({"operation": "A" * 501}, "but must be a name of at most 500 characters"),
    ({"operation": {"name": "A" * 501, "operation-type": "search"}}, "but must be a name of at most 500"),
    ({"clients": 0}, "schedule[0].clients is 0, but must be at least 1"),
    ({"clients": True}, "schedule[0].clients is true, but must be a whole number"),
    ({"clients": 1.5}, "schedule[0].clients is 1.5, but must be a whole number"),
    ({"iterations": 0}, "schedule[0].iterations is 0, but must be at least 1"),
    ({"warmup-iterations": -1}, "schedule[0].warmup-iterations is -1, but must be at least 0"),
    ({"time-period": 0}, "schedule[0].time-period is 0, but must be more than 0"),
    ({"warmup-time-period": -1}, "schedule[0].warmup-time-period is -1, but must be at least 0"),
    ({"warmup-iterations": 1, "time-period": 1}, "schedule[0] mixes warmup-iterations with time-period"),
    ({"warmup-time-period": 1, "iterations": 1}, "schedule[0] mixes warmup-time-period with iterations"),
    (
        {"target-throughput": 1, "target-interval": 1},
        "target-interval cannot be used together with target-throughput",
    ),
    ({"target-throughput": "fast"}, 'target-throughput is "fast", but must be a number'),
    ({"target-throughput": -1}, "target-throughput is -1, but must be a number"),
    ({"target-throughput": "nan"}, 'target-throughput is "nan", but must be a number'),
    ({"target-throughput": "inf"}, 'target-throughput is "inf", but must be 0, or from one in 100 years to'),
    ({"target-throughput": "1e999"}, 'target-throughput is "1e999", but must be 0, or from one in'),
    ({"target-throughput": 10**99}, "target-throughput is 1000000"),
    ({"target-throughput": "1e-300"}, 'target-throughput is "1e-300", but must be 0, or from one in'),
    ({"target-throughput": "9" * 400 + " docs/s"}, 'target-throughput is "9999'),
    ({"target-interval": "nan"}, 'target-interval is "nan", but must be a number of seconds of at least 0'),
    (
        {"target-interval": "inf"},
        'target-interval is "inf", but must be 0, or from 1e-09 to 3153600000 seconds',
    ),
    ({"target-interval": 1e-300}, "target-interval is 1e-300, but must be 0, or from 1e-09 to"),
    ({"clients": 10**9}, "clients is 1000000000, but must be at most 1000000"),
    ({"warmup-time-period": 1e300}, "warmup-time-period is 1e+300, but must be at most 3153600000"),
    ({"target-throughput": [1]}, "target-throughput is [1], but must be a number"),
    ({"target-interval": "x"}, 'target-interval is "x", but must be a number of seconds'),
    ({"ramp-up-time-period": 1}, "schedule[0] has a ramp-up-time-period, which needs a warmup-time-period"),
    (
        {"ramp-up-time-period": 2, "warmup-time-period": 1},
        "warmup-time-period is 1.0 s, shorter than ramp-up",
    ),
    ({"ramp-up-time-period": 2, "iterations": 1}, "schedule[0] mixes ramp-up-time-period with iterations"),
    (
        {"ignore-response-error-level": "fatal"},
        'ignore-response-error-level is "fatal", but must be one of non-fatal',
    ),
    ({"tags": 3}, "schedule[0].tags is 3, but must be a string or a list of strings"),
    ({"operation": 3}, "schedule[0].operation is 3, but must be a string"),
]

PARALLEL_RULES: list[tuple[dict[str, Any], str]] = [
    ({"parallel": {}}, "schedule[0].parallel.tasks is missing"),
    (parallel(), "schedule[0].parallel.tasks is empty"),
    (parallel(parallel(*TWO)), "schedule[0].parallel.tasks[0].parallel cannot be inside another"),
    (parallel(*TWO, clients=0), "schedule[0].parallel.clients is 0"),
    (parallel(*TWO, name="A" * 501), "but must be a name of at most 500 characters"),
    (
        parallel(*TWO, **{"completed-by": "bb"}),
        'completed-by names "bb", which is not one of its tasks (did you mean "b"?)',
    ),
    (
        parallel({**TWO[0], "ramp-up-time-period": 1, "warmup-time-period": 1}),
        "ramp-up-time-period is only allowed on",
    ),
    (parallel(TWO[0], TWO[0]), 'schedule[0].parallel.tasks[1] is the second task "a" of the challenge'),
    (
        parallel({**TWO[0], "iterations": 1}, **{"warmup-time-period": 1}),
        "tasks[0] mixes warmup-time-period with iter",
    ),
]


@pytest.mark.parametrize(("changes", "expected"), ROOT_RULES + CORPUS_RULES + CHALLENGE_RULES)
def test_violated_rules_of_a_track_are_reported(
    tmp_path: Path, changes: dict[str, Any], expected: str
) -> None:
    assert any(expected in problem for problem in problems(tmp_path, **changes))


@pytest.mark.parametrize(("keys", "expected"), TASK_RULES)
def test_violated_rules_of_a_task_are_reported(tmp_path: Path, keys: dict[str, Any], expected: str) -> None:
    reported = problems(tmp_path, schedule=[{"operation": "read", **keys}])
    assert len(reported) == 1
    assert expected in reported[0]
    assert "rendered track.json, line" in reported[0]


@pytest.mark.parametrize(("element", "expected"), PARALLEL_RULES)
def test_violated_rules_of_a_parallel_element_are_reported(
    tmp_path: Path, element: dict[str, Any], expected: str
) -> None:
    assert expected in problems(tmp_path, schedule=[element])[0]


def test_task_names_are_unique_within_a_challenge(tmp_path: Path) -> None:
    reported = problems(tmp_path, schedule=[{"operation": "read"}, parallel({"operation": "read"})])
    assert reported[0].startswith('schedule[1].parallel.tasks[0] is the second task "read" of the challenge')


def test_challenges_and_a_schedule_cannot_be_combined(tmp_path: Path) -> None:
    track = {**document(), "challenges": [challenge()]}
    source = folder(tmp_path, {"track.json": json.dumps(track)})
    with pytest.raises(TrackError, match="but has challenges and schedule"):
        load_track(source, {}, NOW)


def test_five_mistakes_are_reported_with_their_lines_and_fragments(tmp_path: Path) -> None:
    files = {
        "track.json": '{"version": 1,\n"operations": [\n{{ rally.collect(parts="o.json") }}\n],\n'
        '"schedule": [\n{"operation": "a", "clients": {{ clients }}},\n{"operation": "a",\n'
        '"name": "second", "time-period": 0, "target-throughput": "x"}\n]}',
        "o.json": '{"name": "a",\n"operation-type": "search"},\n{"name": "b" }',
    }
    with pytest.raises(TrackError) as caught:
        load_track(folder(tmp_path, files), {"clients": 0}, NOW)
    assert caught.value.message.endswith("has 5 problems")
    from_user = '; the value may be that of "clients" in --track-params'
    places = [problem.split(" (rendered track.json, line ") for problem in caught.value.problems]
    rule = 'must be a number of at least 0 or a string such as "10 docs/s"'
    assert places == [
        ["version is 1, but only version 2 of the format exists", "1, near track.json:1)"],
        ["operations[1].operation-type is missing", "5, near o.json:3)"],
        [f"schedule[0].clients is 0, but must be at least 1{from_user}", "8, near track.json:5)"],
        ["schedule[1].time-period is 0, but must be more than 0", "10, near track.json:8)"],
        [f'schedule[1].target-throughput is "x", but {rule}', "10, near track.json:8)"],
    ]


def test_a_track_must_be_an_object(tmp_path: Path) -> None:
    with pytest.raises(TrackError, match=r"track\.json: a track must be a JSON object, not \[1\]"):
        load_track(folder(tmp_path, {"track.json": "[1]"}), {}, NOW)


def test_numbers_that_json_lacks_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(TrackError, match=r"the rendered track has NaN, which is not a number in JSON"):
        load_track(folder(tmp_path, {"track.json": '{"a": NaN}'}), {}, NOW)


def test_a_track_is_parsed_into_its_model(tmp_path: Path) -> None:
    track = load(tmp_path, description="d", meta={"m": 1}, dependencies=[], **{"#COMMENT": "carried"})
    assert (track.name, track.root, track.description) == (tmp_path.name, tmp_path, "d")
    assert track.params["#COMMENT"] == "carried"
    assert track.corpora[0].documents[0].target_index == "books"
    only = track.default_challenge
    assert (only.name, only.auto_generated) == ("default", True)
    task = only.schedule[0]
    assert isinstance(task, Task)
    assert (task.name, task.clients, task.operation.type) == ("read", 1, "search")


def test_parameters_of_a_challenge_are_merged_with_those_of_the_track(tmp_path: Path) -> None:
    track = load(
        tmp_path,
        parameters={"a": 1, "b": 1},
        challenges=[challenge("x", default=True, parameters={"b": 2}), challenge("y")],
    )
    assert track.challenge("x").parameters == {"a": 1, "b": 2}
    assert track.challenge(None).name == "x"
    with pytest.raises(TrackError, match='has no challenge "z"'):
        track.challenge("z")


@pytest.mark.parametrize("key", ["challenge", "test_procedure", "test-procedure"])
def test_the_only_challenge_is_the_default(tmp_path: Path, key: str) -> None:
    track = load(tmp_path, schedule=None, **{key: challenge(default=False)})
    assert track.default_challenge.name == "c"


@pytest.mark.parametrize("key", ["test_procedures", "test-procedures"])
def test_test_procedures_of_opensearch_benchmark_are_challenges(tmp_path: Path, key: str) -> None:
    source = folder(tmp_path, {"track.json": json.dumps({"version": 2, key: [challenge()]})})
    assert load_track(source, {}, NOW).default_challenge.name == "c"


def test_tasks_inherit_the_bounds_of_their_parallel_element(tmp_path: Path) -> None:
    bounds = {"warmup-time-period": 5, "time-period": 10, "ramp-up-time-period": 3, "completed-by": "any"}
    tasks = (TWO[0], {**TWO[1], "time-period": 7})
    track = load(tmp_path, schedule=[{"name": "both", **parallel(*tasks, clients=1, **bounds)}])
    element = track.default_challenge.schedule[0]
    assert isinstance(element, Parallel)
    assert (element.name, element.clients, element.completed_by, element.client_count) == (
        "both",
        1,
        "any",
        1,
    )
    assert [task.time_period for task in element.tasks] == [10.0, 7.0]
    assert [task.ramp_up_time_period for task in element.tasks] == [3.0, 3.0]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (10, Rate(10.0)), (0.5, Rate(0.5)), ("10 docs/s", Rate(10.0, "docs")), ("7", Rate(7.0)), (0, None),
        (None, None), (False, None), ("", None), ("0 docs/s", None),
    ],
)  # fmt: skip
def test_target_rates_are_parsed(tmp_path: Path, value: Any, expected: Rate | None) -> None:
    track = load(tmp_path, schedule=[{"operation": "read", "target-throughput": value}])
    assert next(track.default_challenge.tasks()).target_throughput == expected


def test_operations_are_given_by_name_inline_or_by_type(tmp_path: Path) -> None:
    inline = {"operation-type": "sleep", "duration": 1}
    track = load(tmp_path, schedule=[{"operation": "read"}, {"operation": inline}, {"operation": "refresh"}])
    tasks = [
        (task.name, task.operation.type, task.operation.key_path) for task in track.default_challenge.tasks()
    ]
    assert tasks == [
        ("read", "search", ("operations", 0)),
        ("sleep", "sleep", ("schedule", 1, "operation")),
        ("refresh", "refresh", ("schedule", 2, "operation")),
    ]


def test_documents_inherit_settings_from_their_corpus_or_override_them(tmp_path: Path) -> None:
    files = (
        {"source-file": "a.json.bz2"},
        {"source-file": "b.json", "base-url": "other", "target-index": "b", "compressed-bytes": 3},
        {"source-file": "c.json", "includes-action-and-meta-data": True},
    )
    track = load(
        tmp_path, indices=TWO_INDICES, corpora=[corpus(*files, **{"base-url": "u", "target-index": "a"})]
    )
    first, second, third = track.corpora[0].documents
    assert (first.base_url, first.target_index, first.document_count) == ("u", "a", None)
    assert (second.base_url, second.target_index, second.compressed_bytes) == ("other", "b", 3)
    assert (third.target_index, third.includes_action_and_meta_data) == (None, True)


def test_bodies_and_templates_are_read_from_files(tmp_path: Path) -> None:
    files = {
        "track.json": json.dumps(
            document(
                indices=[{"name": "i", "body": "i.json"}],
                templates=[
                    {"name": "t", "index-pattern": "t*", "template": "t.json", "template-path": "deep.er"}
                ],
                composable_templates=[
                    {
                        "name": "c",
                        "index-pattern": "c*",
                        "template": "t.json",
                        "delete-matching-indices": False,
                    }
                ],
                component_templates=[{"name": "p", "template": "t.json"}],
            )
        ),
        "i.json": '{"settings": {"n": {{ n | default(1) }}}}',
        "t.json": '{"deep": {"er": {"x": 1}}}',
    }
    track = load_track(folder(tmp_path, files), {"n": 4}, NOW)
    assert track.indices[0].body == {"settings": {"n": 4}}
    assert track.templates[0].body == {"x": 1}
    assert (track.composable_templates[0].pattern, track.composable_templates[0].delete_matching_indices) == (
        "c*",
        False,
    )
    assert track.component_templates[0].body == {"deep": {"er": {"x": 1}}}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("{", 'indices[0].body names "i.json", which is not valid JSON when rendered'),
        ("[]", 'indices[0].body names "i.json", which contains [], but must contain an object'),
        (
            '\n{"a": "\\ud83d"}',
            'indices[0].body names "i.json": \\ud83d is only half of a UTF-16 character (line 2)',
        ),
        (
            "{{ 1 / 0 }}",
            'indices[0].body names "i.json": i.json, line 1: cannot be rendered: ZeroDivisionError',
        ),
    ],
)
def test_invalid_bodies_are_reported(tmp_path: Path, body: str, expected: str) -> None:
    track = json.dumps(document(indices=[{"name": "i", "body": "i.json"}]))
    with pytest.raises(TrackError) as caught:
        load_track(folder(tmp_path, {"track.json": track, "i.json": body}), {}, NOW)
    assert expected in caught.value.problems[0]


def test_a_template_path_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    template = {"name": "t", "template": "t.json", "template-path": "a.b"}
    files = {"track.json": json.dumps(document(component_templates=[template])), "t.json": '{"a": 1}'}
    with pytest.raises(
        TrackError, match=r'template-path is "a\.b", which the template file does not contain'
    ):
        load_track(folder(tmp_path, files), {}, NOW)


def test_numbers_that_overflow_to_infinity_are_reported(tmp_path: Path) -> None:
    text = json.dumps(document(schedule=[{"operation": "read", "time-period": 7654321}]))
    source = folder(tmp_path, {"track.json": text.replace("7654321", "1e999")})
    with pytest.raises(TrackError) as caught:
        load_track(source, {}, NOW)
    assert caught.value.message == (
        "the rendered track has 1e999, which is not a number in JSON "
        "(rendered track.json, line 1, near track.json:1)"
    )


def test_numbers_with_too_many_digits_are_reported(tmp_path: Path) -> None:
    source = folder(tmp_path, {"track.json": '{"a": ' + "9" * 5000 + "}"})
    with pytest.raises(TrackError, match=r"the rendered track has a number of thousands of digits, which"):
        load_track(source, {}, NOW)


@pytest.mark.parametrize("half", [r"\ud800", r"a\\\uDbff\\udc00", r"\ud83d\ude00\udc80"])
def test_half_of_a_surrogate_pair_is_reported(tmp_path: Path, half: str) -> None:
    text = json.dumps(document()).replace("{", f'{{\n"x": "{half}",', 1)
    source = folder(tmp_path, {"track.json": text})
    with pytest.raises(
        TrackError, match=r"is only half of a UTF-16 character \(rendered track\.json, line 2"
    ):
        load_track(source, {}, NOW)


def test_half_of_a_surrogate_pair_in_a_parameter_is_reported(tmp_path: Path) -> None:
    # The command line passes on bytes that are not UTF-8 in this form.
    text = json.dumps(document()).replace("{", '{"description": "{{ x }}",', 1)
    with pytest.raises(TrackError, match=r"\\udcff is only half of a UTF-16 character"):
        load_track(folder(tmp_path, {"track.json": text}), {"x": "\udcff"}, NOW)


def test_surrogate_pairs_and_backslashes_are_text(tmp_path: Path) -> None:
    text = json.dumps(document()).replace("{", r'{"description": "\ud83d\ude00 \\ud800",', 1)
    assert load_track(folder(tmp_path, {"track.json": text}), {}, NOW).description == r"😀 \ud800"
