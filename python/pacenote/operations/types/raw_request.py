"""`raw-request`: any request, written out by the track."""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.field_reader import Reader
from pacenote.model.problems import shown
from pacenote.model.work import Calls
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.request import clean_path, json_body, read_common, read_statuses

METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD")
"""Methods that requests can have."""


def _compile(params: Reader, context: Context) -> Compiled:
    common = read_common(params)
    path = params.required_text("path")
    if path and not path.startswith("/"):
        params.problem("path", f"is {shown(path)}, must start with /")
    method = params.text("method", "GET").upper()
    if method not in METHODS:
        params.problem("method", f"is {shown(method)}, must be one of {', '.join(METHODS)}")
    lined = any(name == "content-type" and "ndjson" in value for name, value in common.headers)
    request = common.request(method, clean_path(path), body=_body(params.data.get("body"), lined))
    # An ignored status is a reply the track expects, so it is as much work done as a good one.
    ignore = (*request.ignore, *read_statuses(params, "ignore"))
    return Compiled(Calls((replace(request, ignore=ignore, ignored_weight=1),)))


def _body(body: object, lined: bool) -> str | None:
    if body is None:
        return None
    if lined and isinstance(body, list):
        return "".join(f"{json_body(line)}\n" for line in body)
    return json_body(body)


OPERATION = OperationType(name="raw-request", compile=_compile)
