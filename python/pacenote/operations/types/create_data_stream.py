"""`create-data-stream`: creates the data streams of the track, or those named."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType
from pacenote.operations.named_resources import compiled
from pacenote.operations.request import path_of, read_common


def _compile(params: Reader, context: Context) -> Compiled:
    common = read_common(params)
    requests = (common.request("PUT", path_of("_data_stream", name)) for name in _names(params, context))
    return compiled(params, requests)


def _names(params: Reader, context: Context) -> tuple[str, ...]:
    if context.supplied and "data-streams" in params.data:
        return params.names("data-streams")
    names = params.names("data-stream") or tuple(stream.name for stream in context.track.data_streams)
    if not names:
        params.problem("data-stream", "is missing, and the track declares no data streams")
    return names


OPERATION = OperationType(name="create-data-stream", compile=_compile, admin=True)
