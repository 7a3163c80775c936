"""`wait-for-transform`: stops a transform and waits until it has stopped; the work is the number of documents
it processed.

By default, the transform stops at its next checkpoint. The throughput refers to the time that the engine
reports for searching, processing and indexing.

A long transform reports progress: once it has processed more than 5,000 documents and more than half a second
of work, one execution ends and the next begins. Each document counts once.

The last execution fails if searches or index requests of the transform failed: the transform may have stopped
before its checkpoint, and its times include its own retries.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from pacenote.model.codec import as_integer
from pacenote.model.field_reader import FieldReader
from pacenote.model.foreign_messages import reason_text
from pacenote.model.messages import quoted
from pacenote.model.printable import single_line
from pacenote.model.problems import Problems
from pacenote.model.work import PythonRunner
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import build_path, common_params, read_common, seconds_param
from pacenote.operations.runner import (
    BuiltinResult,
    DriverClient,
    DriverResponse,
    OperationFailed,
    UnexpectedResponse,
    expected_form,
    poll,
)

_DOCUMENTS = "docs"

_REPORT_DOCUMENTS = 5_000
_REPORT_MS = 500

_TIMES = ("search_time_in_ms", "processing_time_in_ms", "index_time_in_ms")


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    read_common(params)
    params.required_text("transform-id")
    for key in ("force", "wait-for-completion", "wait-for-checkpoint"):
        params.flag(key, False)
    for key in ("transform-timeout", "poll-interval"):
        params.number(key)
    return CompiledOperation(PythonRunner(), unit=_DOCUMENTS)


async def _run(
    client: DriverClient, params: Mapping[str, Any], client_state: dict[str, Any]
) -> BuiltinResult:
    if not client_state:
        started = time.monotonic()
        await _stop(client, params)
        client_state.update(started=started, documents=0, ms=0)
    path = build_path("_transform", params["transform-id"], "_stats")
    request = common_params(params).request("GET", path)
    pause_s = seconds_param(params, "poll-interval", 0.5)
    while True:
        transform = _transform(await poll(client, request, pause_s), params["transform-id"])
        ended = _ended(transform, params, client_state)
        result = _report(transform.get("stats", {}), ended, client_state)
        if ended:
            _require_no_failures(transform, params)
            client_state.clear()
        if result is not None:
            return result
        await asyncio.sleep(pause_s)


def _transform(response: DriverResponse, name: str) -> Mapping[str, Any]:
    """Returns the state and the statistics of the transform."""
    transforms = response.json_object().get("transforms")
    if not transforms:
        raise UnexpectedResponse(f"the response has no statistics of transform {quoted(name)}")
    with expected_form("the state of the transform"):
        return dict(transforms[0])


async def _stop(client: DriverClient, params: Mapping[str, Any]) -> None:
    read = FieldReader(params, (), Problems())
    query = {
        "force": read.flag("force", False),
        "timeout": params.get("timeout"),
        "wait_for_completion": False,
        "wait_for_checkpoint": read.flag("wait-for-checkpoint", True),
    }
    path = build_path("_transform", params["transform-id"], "_stop")
    await client.send(common_params(params).request("POST", path, query=query))


def _ended(transform: Mapping[str, Any], params: Mapping[str, Any], client_state: Mapping[str, Any]) -> bool:
    name, state = quoted(params["transform-id"]), transform.get("state")
    if state == "failed":
        raise OperationFailed(f"transform {name} failed: {single_line(reason_text(transform.get('reason')))}")
    limit_s = seconds_param(params, "transform-timeout", 3600.0)
    if state == "stopped" or not FieldReader(params, (), Problems()).flag("wait-for-completion", True):
        return True
    if time.monotonic() - client_state["started"] > limit_s:
        raise OperationFailed(f"transform {name} has not ended within {limit_s:g} s (transform-timeout)")
    return False


def _require_no_failures(transform: Mapping[str, Any], params: Mapping[str, Any]) -> None:
    stats = transform.get("stats", {})
    with expected_form("the failures of the transform"):
        searches, writes = (as_integer(stats.get(key, 0)) for key in ("search_failures", "index_failures"))
    if searches or writes:
        raise OperationFailed(
            f"transform {quoted(params['transform-id'])} stopped after {searches} failed searches and "
            f"{writes} failed index requests"
        )


def _report(stats: Mapping[str, Any], ended: bool, client_state: dict[str, Any]) -> BuiltinResult | None:
    with expected_form("the progress of the transform"):
        documents = stats.get("documents_processed", 0)
        ms = sum(stats.get(key, 0) for key in _TIMES)
        added, added_ms = documents - client_state["documents"], ms - client_state["ms"]
    if not ended and (added <= _REPORT_DOCUMENTS or added_ms <= _REPORT_MS):
        return None
    client_state.update(documents=documents, ms=ms)
    return BuiltinResult(added, _DOCUMENTS, completes_task=ended, engine_ms=added_ms)


OPERATION = OperationType(
    name="wait-for-transform",
    compile=_compile,
    unit=_DOCUMENTS,
    admin=True,
    run=_run,
    retryable=True,
    completes_task=True,
    assertable_details=("throughput", "weight", "success"),
)
