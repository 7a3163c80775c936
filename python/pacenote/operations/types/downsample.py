"""`downsample`: creates an index with one document for every interval of a time series."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckAcknowledged
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.request import build_path, json_body, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    interval = params.text("fixed-interval") or "1h"
    source = params.text("source-index") or context.track.sole_target() or ""
    if not source:
        params.problem("source-index", "is missing, and the track has no single index to downsample")
    target = params.text("target-index") or f"{source}-{interval}"
    body = {"fixed_interval": interval}
    if params.has("sampling-method"):
        body["sampling_method"] = params.text("sampling-method")
    path = build_path(source, "_downsample", target)
    common, check = read_common(params), CheckAcknowledged()
    return CompiledOperation(CallSequence((common.request("POST", path, body=json_body(body), check=check),)))


OPERATION = OperationType(
    name="downsample",
    needs_modules=("x-pack-downsample",),
    compile=_compile,
    serverless=ServerlessStatus.INTERNAL,
)
