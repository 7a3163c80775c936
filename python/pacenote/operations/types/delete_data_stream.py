"""`delete-data-stream`: deletes the named data streams, or all those of the track.

A missing data stream is neither a failure nor work.
"""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.named_resources import compile_requests, if_exists
from pacenote.operations.request import build_path, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    common = read_common(params)
    key = "data-streams" if context.supplied and "data-streams" in params.data else "data-stream"
    names = params.names(key) or tuple(stream.name for stream in context.track.data_streams)
    if not names:
        params.problem("data-stream", "is missing, and the track declares no data streams")
    params.flag("only-if-exists", True)
    return compile_requests(
        params, (if_exists(common.request("DELETE", build_path("_data_stream", name))) for name in names)
    )


OPERATION = OperationType(name="delete-data-stream", compile=_compile, admin=True, deletes_indices=True)
