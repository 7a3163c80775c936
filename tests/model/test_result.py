"""Results are read from documents exactly, or rejected."""

import json

import pytest

from pacenote.errors import PacenoteError
from pacenote.model.race_progress import RaceProgress, RetryWait, TaskProgress, TimeLeft
from pacenote.model.result import LevelChange, Steadiness, TaskResult, percentiles_for
from support.records import bulk, paced, part, task, times

_WARMING = Steadiness("warming", 34.0, (LevelChange(34.0, 34.0, 800.0, 1000.0, 0.25),), "throughput", 0.03)


@pytest.mark.parametrize("result", [bulk(), paced(), task(parts=(part("query"),)), task(steady=_WARMING)])
def test_a_result_survives_a_round_trip_through_json(result):
    assert TaskResult.from_document(json.loads(json.dumps(result.to_document()))) == result


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "red"}, "result of task 'index-append' has the unknown field 'colour'"),
        ({"clients": "2"}, "result of task 'index-append'.clients must be a whole number, not '2'"),
        ({"clients": True}, "result of task 'index-append'.clients must be a whole number, not True"),
        ({"clients": None}, "result of task 'index-append'.clients must be a whole number, not None"),
        (
            {"error_rate": float("nan")},
            "result of task 'index-append'.error_rate must be a finite number, not nan",
        ),
        ({"paced": 1}, "result of task 'index-append'.paced must be true or false, not 1"),
        ({"work": [1]}, "result of task 'index-append'.work must be an object, not [1]"),
        ({"errors": {}}, "result of task 'index-append'.errors must be a list, not {}"),
        ({"errors": [{}]}, "result of task 'index-append'.errors[0] lacks the field 'error_class'"),
    ],
)
def test_a_bad_field_is_named(change, message):
    with pytest.raises(PacenoteError) as caught:
        TaskResult.from_document(bulk().to_document() | change)
    assert caught.value.message == message


def test_an_unknown_ended_by_is_rejected():
    with pytest.raises(PacenoteError, match=r"ended_by has the unknown value 'bored'"):
        TaskResult.from_document(bulk().to_document() | {"ended_by": "bored"})


def test_a_missing_field_is_named():
    document = bulk().to_document()
    del document["work"]
    with pytest.raises(PacenoteError, match="lacks the field 'work'"):
        TaskResult.from_document(document)


def test_a_result_must_be_an_object():
    with pytest.raises(PacenoteError, match="task result must be an object"):
        TaskResult.from_document([])  # type: ignore[arg-type]


def test_a_whole_number_is_read_as_a_float_where_a_float_is_expected():
    assert TaskResult.from_document(bulk().to_document() | {"duration_s": 7}).duration_s == 7.0


def test_progress_survives_a_round_trip_through_json():
    running = TaskProgress("search", "ops", True, None, 812.5, 1.5, None, 812, 0, None)
    wait = RetryWait("search", "red", 3, 1.5, 600.0)
    progress = RaceProgress(2, 7, 1.5, (running,), (wait,), TimeLeft(30.0, complete=False))
    assert RaceProgress.from_json(json.dumps(progress.to_document())) == progress


def test_a_percentile_is_looked_up_by_its_q():
    percentile = times().at(99.9)
    assert percentile is not None
    assert percentile.q == 99.9
    assert times().at(99.8) is None


def test_percentiles_follow_rallys_sample_rule():
    assert percentiles_for(0) == ()
    assert percentiles_for(1) == (100.0,)
    assert percentiles_for(9) == (50.0, 100.0)
    assert percentiles_for(99) == (50.0, 90.0, 100.0)
    assert percentiles_for(999) == (50.0, 90.0, 99.0, 100.0)
    assert percentiles_for(9_999) == (50.0, 90.0, 99.0, 99.9, 100.0)
    assert percentiles_for(10_000) == (50.0, 90.0, 99.0, 99.9, 99.99, 100.0)
