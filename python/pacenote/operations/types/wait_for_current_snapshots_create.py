"""`wait-for-current-snapshots-create`: waits until no snapshot of a repository is in progress.

As in Rally, it does not matter how the snapshots end; `wait-for-snapshot-create` judges one of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import PythonRunner
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.request import build_path, common_params, read_common, seconds_param
from pacenote.operations.runner import BuiltinResult, DriverClient, poll

_POLL_S = 1.0

# Limits the response to names, because snapshots may contain many indices.
_NAMES_ONLY = {"verbose": False, "filter_path": "snapshots.snapshot"}


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    read_common(params)
    params.required_text("repository")
    params.number("completion-recheck-wait-period")
    return CompiledOperation(PythonRunner())


async def _run(
    client: DriverClient, params: Mapping[str, Any], client_state: dict[str, Any]
) -> BuiltinResult:
    path = build_path("_snapshot", params["repository"], "_current")
    request = common_params(params).request("GET", path, query=_NAMES_ONLY)
    pause_s = seconds_param(params, "completion-recheck-wait-period", _POLL_S)
    while (await poll(client, request, pause_s)).json_object().get("snapshots"):
        await asyncio.sleep(pause_s)
    return BuiltinResult()


OPERATION = OperationType(
    name="wait-for-current-snapshots-create",
    compile=_compile,
    serverless=ServerlessStatus.INTERNAL,
    run=_run,
    retryable=True,
)
