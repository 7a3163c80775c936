"""`create-data-stream`: creates the named data streams, or all those of the track."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.named_resources import compile_requests
from pacenote.operations.request import build_path, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    common = read_common(params)
    requests = (common.request("PUT", build_path("_data_stream", name)) for name in _names(params, context))
    return compile_requests(params, requests)


def _names(params: FieldReader, context: CompileContext) -> tuple[str, ...]:
    if context.supplied and "data-streams" in params.data:
        return params.names("data-streams")
    names = params.names("data-stream") or tuple(stream.name for stream in context.track.data_streams)
    if not names:
        params.problem("data-stream", "is missing, and the track declares no data streams")
    return names


OPERATION = OperationType(
    name="create-data-stream",
    needs_modules=("data-streams", "x-pack-data-streams"),
    compile=_compile,
    admin=True,
    may_create_indices=True,
)
