"""Errors of operations that run in Python: those of the engine, of the parameters, and of Pacenote itself."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from operations.compiling import context
from operations.serving import in_turn, serving
from pacenote.model.failure_group import FailureGroup
from pacenote.operations.compile import InvalidOperation, run_operation
from pacenote.operations.registry import resolve_type
from pacenote.operations.runner import BuiltinResult, DriverClient, OperationDefect, UnexpectedResponse
from pacenote.operations.types import shrink_index
from pacenote.python_tasks.results import from_error

PARAMS: Mapping[str, Mapping[str, Any]] = {
    "run-until": {"path": "/x", "json-path": "a", "criterion": {"operator": "exists"}},
    "shrink-index": {"source-index": "src", "target-index": "dst", "target-body": {}, "shrink-node": "n"},
    "wait-for-current-snapshots-create": {"repository": "r"},
    "wait-for-recovery": {"index": "i"},
    "wait-for-snapshot-create": {"repository": "r", "snapshot": "s"},
    "wait-for-transform": {"transform-id": "t"},
}
"""Valid parameters of the types that run in Python."""

NO_OBJECT = r"the response is \[\], but must be an object"


@pytest.mark.parametrize(
    ("name", "replies", "message"),
    [
        ("shrink-index", ([],), NO_OBJECT),
        ("shrink-index", ({"src": {}}, {}, {}), "the health of the index lacks 'relocating_shards'"),
        ("wait-for-current-snapshots-create", ([],), NO_OBJECT),
        ("wait-for-recovery", ([],), NO_OBJECT),
        ("wait-for-recovery", ({"i": {}},), "the recovery of an index lacks 'shards'"),
        ("wait-for-recovery", ({"i": None},), "the recovery of an index has an unexpected form"),
        ("wait-for-recovery", ({"i": {"shards": [{}]}},), "the recovery of a shard lacks 'stage'"),
        ("wait-for-snapshot-create", ([],), NO_OBJECT),
        ("wait-for-snapshot-create", ({"snapshots": 1},), "the list of snapshots has an unexpected form"),
        ("wait-for-snapshot-create", ({"snapshots": [1]},), "the list of snapshots has an unexpected form"),
        ("wait-for-snapshot-create", ({"snapshots": [{}]},), "the status of the snapshot lacks 'state'"),
        (
            "wait-for-snapshot-create",
            ({"snapshots": []}, {"snapshots": [{"state": "SUCCESS", "shards_stats": {"failed": "2"}}]}),
            "the number of shards of the snapshot has an unexpected form",
        ),
        ("wait-for-transform", ({}, []), NO_OBJECT),
        ("wait-for-transform", ({}, {"transforms": {"a": 1}}), "the state of the transform lacks 0"),
        ("wait-for-transform", ({}, {"transforms": [1]}), "the state of the transform has an unexpected"),
        (
            "wait-for-transform",
            ({}, {"transforms": [{"state": "stopped", "stats": {"documents_processed": "9"}}]}),
            "the progress of the transform has an unexpected form",
        ),
    ],
)
def test_a_response_of_another_form_is_unexpected(
    monkeypatch: pytest.MonkeyPatch, name: str, replies: tuple[Any, ...], message: str
) -> None:
    monkeypatch.setattr(shrink_index, "SETTLE_S", 0.0)
    with serving(in_turn(*replies)) as client, pytest.raises(UnexpectedResponse, match=message):
        client.run(name, PARAMS[name])


@pytest.mark.parametrize("error", [RuntimeError("x"), AssertionError(), OSError(5, "x"), ZeroDivisionError()])
def test_every_error_of_the_code_of_a_type_is_a_defect(error: Exception) -> None:
    async def run(client: DriverClient, params: Mapping[str, Any], state: dict[str, Any]) -> BuiltinResult:
        raise error

    defective = replace(resolve_type("run-until"), run=run)
    with serving(in_turn({})) as client, pytest.raises(OperationDefect, match=type(error).__name__):
        asyncio.run(run_operation(defective, PARAMS["run-until"], context(), client, {}))


def test_an_error_of_the_code_of_a_type_is_neither_one_of_the_engine_nor_of_a_plug_in() -> None:
    async def run(client: DriverClient, params: Mapping[str, Any], state: dict[str, Any]) -> BuiltinResult:
        return BuiltinResult(weight=len(params["path"] + 1))

    defective = replace(resolve_type("run-until"), run=run)
    with serving(in_turn({})) as client, pytest.raises(OperationDefect) as caught:
        asyncio.run(run_operation(defective, PARAMS["run-until"], context(), client, {}))
    line = f"{Path(__file__).name}:{run.__code__.co_firstlineno + 1}"
    assert str(caught.value).startswith(f"a defect of Pacenote in run-until: TypeError at {line}: ")
    failure = from_error(caught.value, Path("/t")).failure
    assert failure is not None
    assert (failure.error_class, failure.kind, failure.reason) == ("plugin", "", str(caught.value))
    assert FailureGroup(failure.error_class, failure.reason, None, 1, 0.0, 0.0).is_defect


@pytest.mark.parametrize(
    ("name", "changed", "problem"),
    [
        ("run-until", {"body": {"a": object()}}, "body cannot be written as JSON: object cannot"),
        ("shrink-index", {"target-body": {"a": object()}}, "target-body cannot be written as JSON"),
        ("shrink-index", {"target-body": {"settings": [1]}}, "settings is [1], but must be an object"),
    ],
)
def test_a_body_that_cannot_be_sent_is_a_problem_of_the_parameters(
    name: str, changed: Mapping[str, Any], problem: str
) -> None:
    with serving(in_turn({})) as client, pytest.raises(InvalidOperation) as caught:
        client.run(name, {**PARAMS[name], **changed})
    assert any(problem in text for text in caught.value.problems)
    assert client.request_lines == []


def test_settings_of_a_shrunk_index_may_be_null(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shrink_index, "SETTLE_S", 0.0)
    body = {"settings": None, "aliases": {"id": uuid.UUID(int=1)}}
    with serving(in_turn({"src": {}}, {}, {"relocating_shards": 0})) as client:
        ran = client.run("shrink-index", {**PARAMS["shrink-index"], "target-body": body})
    assert ran.weight == 1
    assert any('"aliases":{"id":"00000000-' in line for line in client.request_lines)
