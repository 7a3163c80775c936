"""`index-stats`: reads index statistics; with a `condition`, fails while a value is not the expected one.

The comparison is one of text, as in Rally: expected 0 equals the number 0 and the string "0".
"""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.reader import Reader
from pacenote.model.work import Calls, Check, CheckCondition, CheckStatus
from pacenote.operations.base import Compiled, Context, OperationType, Serverless
from pacenote.operations.request import join_names, path_of, read_common, read_retry, scalar_text


def _compile(params: Reader, context: Context) -> Compiled:
    path = path_of(join_names(params.names("index")), "_stats")
    request = replace(read_common(params).request("GET", path), check=_check(params))
    return Compiled(Calls((request,), read_retry(params)))


def _check(params: Reader) -> Check:
    if not params.has("condition"):
        return CheckStatus()
    condition = params.child("condition")
    path = condition.required_text("path")
    if "expected-value" not in condition.data:
        condition.problem("expected-value", "is missing")
    expected = condition.data.get("expected-value")
    if isinstance(expected, dict | list):
        condition.problem("expected-value", "must be a single value")
    return CheckCondition(path=path, expected=scalar_text(expected))


OPERATION = OperationType(name="index-stats", compile=_compile, serverless=Serverless.INTERNAL)
