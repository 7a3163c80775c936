"""`field-caps`: reads the fields of indices and their capabilities; fails if an index could not be read."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckEmpty
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import build_path, join_names, json_body, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    index = join_names(params.names("index")) or "_all"
    body = dict(params.mapping("body"))
    if params.has("index_filter"):
        body["index_filter"] = params.mapping("index_filter")
    fields = params.names("fields") or ("*",)
    request = read_common(params).request(
        "POST",
        build_path(index, "_field_caps"),
        query={"fields": join_names(fields)},
        body=json_body(body) if body else None,
        check=CheckEmpty("failures"),
    )
    return CompiledOperation(CallSequence((request,)))


OPERATION = OperationType(name="field-caps", compile=_compile, only_reads=True, composable=True)
