"""`force-merge`: merges the segments of indices.

In mode `blocking` the one request lasts as long as the merge. In mode `polling` the engine merges in the
background and its task list is read every `poll-period` seconds until no merge is left.
"""

from __future__ import annotations

from pacenote.model.reader import Reader
from pacenote.model.work import Calls, CheckEmpty, Poll, Request
from pacenote.operations.base import Compiled, Context, OperationType, Serverless
from pacenote.operations.request import Common, join_names, path_of, read_common

_POLL_PERIOD_S = 10.0


def _compile(params: Reader, context: Context) -> Compiled:
    common = read_common(params)
    names = params.names("index") or params.names("data-stream") or context.track.targets()
    path = path_of(join_names(names), "_forcemerge")
    # -1 is the engines' own way to say "as many as you like".
    query: dict[str, object] = {"max_num_segments": params.integer("max-num-segments", -1)}
    period = params.number("poll-period", above=True)
    if params.choice("mode", ["blocking", "polling"], "blocking") == "blocking":
        return Compiled(Calls((common.request("POST", path, query=query),)))
    start = common.request("POST", path, query={**query, "wait_for_completion": False})
    return Compiled(Calls((start, _wait_request(common, period or _POLL_PERIOD_S))))


def _wait_request(common: Common, period_s: float) -> Request:
    return Request(
        method="GET",
        path="/_tasks?actions=*forcemerge*",
        headers=common.headers,
        check=CheckEmpty("nodes"),
        # The merge is one piece of work, done when the last poll says so; starting it already counted.
        weight=0,
        poll=Poll(every_s=period_s),
    )


OPERATION = OperationType(name="force-merge", compile=_compile, admin=True, serverless=Serverless.INTERNAL)
