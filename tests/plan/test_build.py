"""Complete plans, or one error that lists all problems."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from pacenote.errors import TrackError, UsageError
from pacenote.model.track import Operation, Parallel
from pacenote.model.work import ActionLine, BulkFile, BulkWork
from pacenote.operations.base import DataFile
from pacenote.plan.build import PlanContext, build_plan
from pacenote.plan.document import OnError
from plan.planning import BULK, NAP, SETTINGS, plan, planned, refused, task, track

GOLDEN = Path(__file__).parent / "golden"


def test_a_task_is_planned_with_all_its_settings() -> None:
    nap = planned(task("t", NAP, clients=3, tolerates_errors=True, warmup_time_period=4.0, time_period=1.0,
                       ramp_up_time_period=2.0))  # fmt: skip
    assert (nap.name, nap.operation, nap.operation_type, nap.clients) == ("t", "nap", "sleep", 3)
    assert (nap.ramp_up_s, nap.unit, nap.tolerates_errors) == (2.0, "ops", True)


def test_prepared_files_are_used() -> None:
    context = PlanContext(
        lambda file: DataFile(Path("/data", file.corpus.name, file.documents.document_file), 42)
    )
    work = build_plan(track(task("t", BULK)), "c", SETTINGS, context).tasks[0].work
    assert isinstance(work, BulkWork)
    assert work.files == (
        BulkFile("/data/library/books.json", 42, ActionLine('{"index":{"_index":"books"}}')),
    )


def test_before_preparation_the_declared_counts_are_used() -> None:
    work = planned(task("t", BULK)).work
    assert isinstance(work, BulkWork)
    assert work.files[0] == BulkFile("library/books.json", 1000, ActionLine('{"index":{"_index":"books"}}'))


def test_all_problems_of_all_tasks_are_reported_together() -> None:
    bad = Operation("bad", "bulk", {"bulk-size": 0, "refresh": "x"}, key_path=("operations", 3))
    problems = refused(
        task("one", bad),
        task("again", bad),
        task("two", Operation("serch", "serch")),
        task("three", Operation("q", "esql", {})),
        task("four", schedule="mine"),
    )
    assert [problem.split(",")[0] for problem in problems] == [
        "operations[3].bulk-size is 0",
        'operations[3].refresh is "x"',
        'two of task "two": "serch" is neither an operation of the track nor an operation type'
        ' (did you mean "search"?)',
        "q.query is missing",
        'four.schedule is "mine"',
    ]


def test_the_message_contains_the_number_of_problems_or_the_location_of_the_only_one() -> None:
    with pytest.raises(TrackError) as caught:
        plan(task("a", Operation("q", "x")), task("b", schedule="mine"))
    assert caught.value.message == 'challenge "c" of track "t" has 2 problems'
    with pytest.raises(TrackError) as caught:
        plan(task("a", Operation("q", "x")))
    assert caught.value.message.startswith('challenge "c" of track "t": a of task "a": "x" is neither')
    assert caught.value.hint.startswith('define it in "operations", or')


def test_operations_that_are_not_scheduled_may_be_invalid() -> None:
    unknown = dataclasses.replace(track(task("t")), operations=(Operation("x", "from-a-plugin"),))
    assert build_plan(unknown, None, SETTINGS, PlanContext()).tasks


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_outside_64_bits_is_rejected(seed: int) -> None:
    with pytest.raises(UsageError, match=f"the seed is {seed}"):
        build_plan(track(task("t")), None, replace(SETTINGS, seed=seed), PlanContext())


def test_equal_plans_have_the_same_text() -> None:
    schedule = (task("a", BULK), Parallel((task("b"), task("c", NAP)), completed_by="c"))
    assert plan(*schedule).to_json() == plan(*schedule).to_json()


def test_the_plan_contains_on_error_and_the_headers() -> None:
    settings = replace(
        SETTINGS, on_error=OnError.CONTINUE_ON_NETWORK, headers=(("authorization", "Basic c2VjcmV0"),)
    )
    document = json.loads(build_plan(track(task("t")), None, settings, PlanContext()).to_json())
    assert document["driver"] == {
        "threads": 0,
        "on_error": "continue-on-network",
        "spin_us": 20,
        "warmup_drain": False,
        "samples": "all",
        "scheduling": "auto",
    }
    assert document["target"]["headers"] == [["authorization", "Basic c2VjcmV0"]]


def test_the_stored_plan_contains_no_credentials() -> None:
    secret = Operation(
        "s", "search", {"body": {}, "headers": {"Authorization": "ApiKey c2VjcmV0"}, "opaque-id": "me"}
    )
    settings = replace(SETTINGS, headers=(("authorization", "Basic c2VjcmV0"),))
    made = build_plan(track(task("t", secret)), None, settings, PlanContext())
    assert "c2VjcmV0" in made.to_json()
    public = made.to_public_json()
    assert "c2VjcmV0" not in public
    assert '["x-opaque-id","me"]' in public
    assert json.loads(public)["target"]["headers"] == [["authorization", "<hidden>"]]


def test_the_stored_plan_contains_no_secrets() -> None:
    secret = 'p"ä/ss'
    leaking = Operation(
        "s",
        "raw-request",
        {"path": "/_x", "body": {"key": secret}, "request-params": {"key": secret}, "opaque-id": "me"},
    )
    made = build_plan(track(task("t", leaking)), None, SETTINGS, PlanContext())
    public = made.to_public_json([secret])
    work = json.loads(public)["tasks"][0]["work"]
    assert work["calls"][0]["body"] == '{"key":"<hidden>"}'
    assert work["calls"][0]["path"] == "/_x?key=<hidden>"
    assert '["x-opaque-id","me"]' in public
    assert made.to_public_json() == made.to_public_json(())
