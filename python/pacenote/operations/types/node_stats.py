"""`node-stats`: reads all statistics of all nodes."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.model.work import Calls
from pacenote.operations.base import Compiled, Context, OperationType, Serverless
from pacenote.operations.request import read_common


def _compile(params: Reader, context: Context) -> Compiled:
    return Compiled(Calls((read_common(params).request("GET", "/_nodes/stats"),)))


OPERATION = OperationType(name="node-stats", compile=_compile, serverless=Serverless.INTERNAL)
