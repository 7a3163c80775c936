"""`start-ml-datafeed`: starts a machine learning datafeed, from `start` to `end`."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations import ml
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.named_resources import compile_requests
from pacenote.operations.request import json_body, read_common, read_options

_OPTIONS = ("start", "end", "timeout")


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    path = ml.action_path(params, "datafeeds", "datafeed-id", "_start")
    if not params.has("body"):
        return ml.perform(params, path, *_OPTIONS)
    body = {**params.mapping("body"), **read_options(params, *_OPTIONS)}
    return compile_requests(params, [read_common(params).request("POST", path, body=json_body(body))])


OPERATION = OperationType(name="start-ml-datafeed", compile=_compile, admin=True)
