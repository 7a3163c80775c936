"""`wait-for-current-snapshots-create`: waits until no snapshot of a repository is under way."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pacenote.model.field_reader import Reader
from pacenote.model.work import Lane
from pacenote.operations.base import Compiled, Context, OperationType, Serverless
from pacenote.operations.request import common_of, path_of, read_common, seconds_of
from pacenote.operations.runner import Client, RunResult

_POLL_S = 1.0

# Only names, however many indices the snapshots hold.
_SHORT = {"verbose": False, "filter_path": "snapshots.snapshot"}


def _compile(params: Reader, context: Context) -> Compiled:
    read_common(params)
    params.required_text("repository")
    params.number("completion-recheck-wait-period")
    return Compiled(Lane())


async def _run(client: Client, params: Mapping[str, Any], memory: dict[str, Any]) -> RunResult:
    path = path_of("_snapshot", params["repository"], "_current")
    request = common_of(params).request("GET", path, query=_SHORT)
    while (await client.send(request)).json().get("snapshots"):
        await asyncio.sleep(seconds_of(params, "completion-recheck-wait-period", _POLL_S))
    return RunResult()


OPERATION = OperationType(
    name="wait-for-current-snapshots-create",
    compile=_compile,
    serverless=Serverless.INTERNAL,
    run=_run,
    retried=True,
)
