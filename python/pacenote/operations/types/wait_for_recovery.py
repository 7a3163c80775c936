"""`wait-for-recovery`: waits until every shard of an index is recovered; the work is the bytes copied."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from pacenote.model.field_reader import Reader
from pacenote.model.work import Lane
from pacenote.operations.base import Compiled, Context, OperationType, Serverless
from pacenote.operations.request import common_of, join_names, path_of, read_common, seconds_of
from pacenote.operations.runner import Client, RunResult

BYTES = "byte"

_POLL_S = 1.0


def _compile(params: Reader, context: Context) -> Compiled:
    read_common(params)
    params.required("index")
    params.names("index")
    params.number("completion-recheck-wait-period")
    return Compiled(Lane(), unit=BYTES)


async def _run(client: Client, params: Mapping[str, Any], memory: dict[str, Any]) -> RunResult:
    index = params["index"]
    path = path_of(index if isinstance(index, str) else join_names(index), "_recovery")
    request = common_of(params).request("GET", path)
    while True:
        shards = list(_shards((await client.send(request)).json()))
        # Nothing at all: the recovery has not been scheduled yet.
        if shards and all(shard["stage"] == "DONE" for shard in shards):
            return RunResult(sum(shard["index"]["size"]["recovered_in_bytes"] for shard in shards), BYTES)
        await asyncio.sleep(seconds_of(params, "completion-recheck-wait-period", _POLL_S))


def _shards(reply: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for index in reply.values():
        yield from index["shards"]


OPERATION = OperationType(
    name="wait-for-recovery",
    compile=_compile,
    unit=BYTES,
    serverless=Serverless.INTERNAL,
    run=_run,
    retried=True,
)
