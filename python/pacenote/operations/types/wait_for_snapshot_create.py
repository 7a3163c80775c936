"""`wait-for-snapshot-create`: waits until a snapshot is complete; the work is its size in bytes.

The throughput refers to the time that the engine reports for the snapshot, not to the time of waiting. The
operation fails if the snapshot fails, is partial or does not exist. Engines report the state of a partial
snapshot as `SUCCESS`, so its shards are counted as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from pacenote.model.field_reader import FieldReader
from pacenote.model.messages import quoted
from pacenote.model.work import PythonRunner
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.request import build_path, common_params, read_common, seconds_param
from pacenote.operations.runner import (
    BuiltinResult,
    DriverClient,
    DriverResponse,
    OperationFailed,
    expected_form,
    poll,
)
from pacenote.units import BYTES

_POLL_S = 1.0

_FAILED = ("FAILED", "PARTIAL", "ABORTED", "MISSING")

_MAX_MISSING = 3
"""Number of checks in which a snapshot may be missing, because the engine does not list it immediately.
"""


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    read_common(params)
    params.required_text("repository")
    params.required_text("snapshot")
    params.number("completion-recheck-wait-period")
    return CompiledOperation(PythonRunner(), unit=BYTES)


async def _run(
    client: DriverClient, params: Mapping[str, Any], client_state: dict[str, Any]
) -> BuiltinResult:
    common, folder = common_params(params), build_path("_snapshot", params["repository"])
    name = params["snapshot"]
    running = common.request("GET", f"{folder}/_current", query={"verbose": False})
    # Statistics of a running snapshot are expensive, so they are only requested when it has ended.
    query = {"ignore_unavailable": True}
    status = common.request("GET", folder + build_path(name, "_status"), query=query)
    pause_s = seconds_param(params, "completion-recheck-wait-period", _POLL_S)
    checks_left = _MAX_MISSING
    while True:
        if name not in _running(await poll(client, running, pause_s)):
            snapshots = _snapshots(await poll(client, status, pause_s))
            checks_left -= not snapshots
            state = _state(snapshots[0]) if snapshots else "MISSING" if checks_left <= 0 else ""
            if state in _FAILED:
                raise OperationFailed(f"snapshot {quoted(name)} has the state {state}")
            if state == "SUCCESS":
                _require_all_shards(name, snapshots[0])
                return _result(snapshots[0])
        await asyncio.sleep(pause_s)


def _snapshots(response: DriverResponse) -> Sequence[Mapping[str, Any]]:
    with expected_form("the list of snapshots"):
        return list(response.json_object().get("snapshots", ()))


def _running(response: DriverResponse) -> Sequence[object]:
    """Returns the names of the snapshots in progress."""
    snapshots = _snapshots(response)
    with expected_form("the list of snapshots"):
        return [snapshot.get("snapshot") for snapshot in snapshots]


def _state(snapshot: Mapping[str, Any]) -> object:
    with expected_form("the status of the snapshot"):
        return snapshot["state"]


def _require_all_shards(name: str, snapshot: Mapping[str, Any]) -> None:
    """Raises `OperationFailed` if the snapshot lacks shards. Numbers that are absent are not judged."""
    with expected_form("the number of shards of the snapshot"):
        shards = snapshot.get("shards_stats") or {}
        failed, total = shards.get("failed", 0), shards.get("total", 0)
        missing = max(failed, total - shards.get("done", total))
    if missing > 0:
        raise OperationFailed(f"snapshot {quoted(name)} is partial: it lacks {missing} of {total} shards")


def _result(snapshot: Mapping[str, Any]) -> BuiltinResult:
    with expected_form("the status of the snapshot"):
        stats = snapshot["stats"]
        total, start_ms, duration_ms = stats["total"], stats["start_time_in_millis"], stats["time_in_millis"]
        values = {
            "start_time_millis": start_ms,
            "stop_time_millis": start_ms + duration_ms,
            "duration": duration_ms,
            "file_count": total["file_count"],
        }
        size = total["size_in_bytes"]
    return BuiltinResult(size, BYTES, engine_ms=duration_ms, values=values)


OPERATION = OperationType(
    name="wait-for-snapshot-create",
    compile=_compile,
    unit=BYTES,
    serverless=ServerlessStatus.INTERNAL,
    run=_run,
    retryable=True,
    assertable_details=(
        *("start_time_millis", "stop_time_millis", "duration", "file_count"),
        *("throughput", "weight", "success"),
    ),
)
