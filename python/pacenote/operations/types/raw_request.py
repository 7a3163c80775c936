"""`raw-request`: any request, as the track specifies it."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.problems import preview
from pacenote.model.work import CallSequence
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import METHODS, encode_path, json_body, read_common, read_statuses


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    common = read_common(params)
    path = params.required_text("path")
    if path and not path.startswith("/"):
        params.problem("path", f"is {preview(path)}, but must start with /")
    method = params.text("method", "GET").upper()
    if method not in METHODS:
        params.problem("method", f"is {preview(method)}, but must be one of {', '.join(METHODS)}")
    is_ndjson = any(name == "content-type" and "ndjson" in value for name, value in common.headers)
    request = common.request(method, encode_path(path), body=_body(params.data.get("body"), is_ndjson))
    # A response with an ignored status is expected by the track, so it counts as work.
    ignore = (*request.ignore, *read_statuses(params, "ignore"))
    return CompiledOperation(CallSequence((replace(request, ignore=ignore, ignored_weight=1),)))


def _body(body: object, is_ndjson: bool) -> str | None:
    if body is None:
        return None
    if is_ndjson and isinstance(body, list):
        return "".join(f"{json_body(line)}\n" for line in body)
    return json_body(body)


OPERATION = OperationType(
    name="raw-request", compile=_compile, may_create_indices=True, may_change_documents=True, composable=True
)
