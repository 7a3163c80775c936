"""`raw-request`: any request, written out by the track."""

from __future__ import annotations

from dataclasses import replace

from pacenote.model.reader import Reader, shown
from pacenote.model.work import Calls
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.request import clean_path, json_body, read_common

_METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD")


def _compile(params: Reader, context: Context) -> Compiled:
    common = read_common(params)
    path = params.required_text("path")
    if path and not path.startswith("/"):
        params.problem("path", f"is {shown(path)}, must start with /")
    method = params.text("method", "GET").upper()
    if method not in _METHODS:
        params.problem("method", f"is {shown(method)}, must be one of {', '.join(_METHODS)}")
    lined = any(name == "content-type" and "ndjson" in value for name, value in common.headers)
    request = common.request(method, clean_path(path), body=_body(params.data.get("body"), lined))
    # An ignored status is a reply the track expects, so it is as much work done as a good one.
    request = replace(request, ignore=_statuses(params), ignored_weight=1)
    return Compiled(Calls((request,)))


def _body(body: object, lined: bool) -> str | None:
    if body is None:
        return None
    if lined and isinstance(body, list):
        return "".join(f"{json_body(line)}\n" for line in body)
    return json_body(body)


def _statuses(params: Reader) -> tuple[int, ...]:
    value = params.data.get("ignore")
    if value is None:
        return ()
    statuses = value if isinstance(value, list) else [value]
    if all(isinstance(status, int) and 100 <= status <= 599 for status in statuses):
        return tuple(statuses)
    params.problem("ignore", f"is {shown(value)}, must be an HTTP status or a list of them")
    return ()


OPERATION = OperationType(name="raw-request", compile=_compile)
