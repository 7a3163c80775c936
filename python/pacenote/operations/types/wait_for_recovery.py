"""`wait-for-recovery`: waits until every shard of an index is recovered; the work is the bytes copied.

The throughput refers to the time that the engine reports: from the start of the first recovery that copied
bytes to the end of the last one. A shard that was created empty, long before, copied nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import PythonRunner
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.request import build_path, common_params, join_names, read_common, seconds_param
from pacenote.operations.runner import BuiltinResult, DriverClient, DriverResponse, expected_form, poll
from pacenote.units import BYTES

_POLL_S = 1.0


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    read_common(params)
    params.required("index")
    params.names("index")
    params.number("completion-recheck-wait-period")
    return CompiledOperation(PythonRunner(), unit=BYTES)


async def _run(
    client: DriverClient, params: Mapping[str, Any], client_state: dict[str, Any]
) -> BuiltinResult:
    index = params["index"]
    path = build_path(index if isinstance(index, str) else join_names(index), "_recovery")
    request = common_params(params).request("GET", path)
    pause_s = seconds_param(params, "completion-recheck-wait-period", _POLL_S)
    while True:
        shards = _shards(await poll(client, request, pause_s))
        # Without shards, the recovery has not been scheduled yet.
        if shards and _are_recovered(shards):
            return _result(shards)
        await asyncio.sleep(pause_s)


def _shards(response: DriverResponse) -> Sequence[Mapping[str, Any]]:
    """Returns the recoveries of all shards."""
    with expected_form("the recovery of an index"):
        return [shard for index in response.json_object().values() for shard in index["shards"]]


def _are_recovered(shards: Sequence[Mapping[str, Any]]) -> bool:
    with expected_form("the recovery of a shard"):
        return all(shard["stage"] == "DONE" for shard in shards)


def _result(shards: Sequence[Mapping[str, Any]]) -> BuiltinResult:
    with expected_form("the recovery of a shard"):
        recovered = sum(shard["index"]["size"]["recovered_in_bytes"] for shard in shards)
        copied = [shard for shard in shards if shard["index"]["size"]["recovered_in_bytes"]] or shards
        start_ms = min(shard["start_time_in_millis"] for shard in copied)
        stop_ms = max(shard["stop_time_in_millis"] for shard in copied)
        duration_ms = stop_ms - start_ms
    values = {"start_time_millis": start_ms, "stop_time_millis": stop_ms}
    return BuiltinResult(recovered, BYTES, engine_ms=duration_ms, values=values)


OPERATION = OperationType(
    name="wait-for-recovery",
    compile=_compile,
    unit=BYTES,
    serverless=ServerlessStatus.INTERNAL,
    run=_run,
    retryable=True,
    assertable_details=("start_time_millis", "stop_time_millis", "throughput", "weight", "success"),
)
