"""`force-merge`: merges the segments of indices.

In mode `blocking`, the request lasts as long as the merge. In mode `polling`, the engine merges in the
background, and its task is polled every `poll-period` seconds until it is complete.
"""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import (
    CallSequence,
    Capture,
    CheckEmpty,
    CheckShards,
    CheckTask,
    Placeholder,
    PollPolicy,
    Request,
)
from pacenote.operations.base import (
    CompileContext,
    CompiledOperation,
    OperationType,
    ServerlessStatus,
)
from pacenote.operations.request import CommonParams, build_path, join_names, read_common
from pacenote.operations.search_requests import CAPTURE_MARKER

_POLL_PERIOD_S = 10.0

_MERGE_TIMEOUT_MS = 86_400_000


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    common = read_common(params)
    names = params.names("index") or params.names("data-stream") or context.track.targets()
    path = build_path(join_names(names), "_forcemerge")
    # The engines interpret -1 as no limit.
    query: dict[str, object] = {"max_num_segments": params.integer("max-num-segments", -1) or None}
    period_s = params.number("poll-period", above=True) or _POLL_PERIOD_S
    merge = common.request("POST", path, query=query, check=CheckShards())
    if params.choice("mode", ["blocking", "polling"], "blocking") == "blocking":
        return CompiledOperation(CallSequence((merge,)))
    if not context.engine.merges_in_background:
        merge = replace(merge, timeout_ms=common.timeout_ms or _MERGE_TIMEOUT_MS)
        return CompiledOperation(CallSequence((merge, _wait_for_all(common, period_s))))
    start = common.request("POST", path, query={**query, "wait_for_completion": False})
    start = replace(start, capture=Capture("task", "task"))
    return CompiledOperation(CallSequence((start, _wait_for_task(common, period_s))))


def _wait_for_task(common: CommonParams, period_s: float) -> Request:
    return Request(
        method="GET",
        path=f"/_tasks/{CAPTURE_MARKER}",
        headers=common.headers,
        check=CheckTask(),
        # The request that starts the merge already counts as its work.
        weight=0,
        poll=PollPolicy(every_s=period_s),
        placeholder=Placeholder("task", CAPTURE_MARKER),
    )


def _wait_for_all(common: CommonParams, period_s: float) -> Request:
    return Request(
        method="GET",
        path="/_tasks?actions=*forcemerge*",
        headers=common.headers,
        check=CheckEmpty("nodes"),
        weight=0,
        poll=PollPolicy(every_s=period_s),
    )


OPERATION = OperationType(
    name="force-merge", compile=_compile, admin=True, serverless=ServerlessStatus.INTERNAL
)
