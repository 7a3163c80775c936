"""`put-pipeline`: creates or replaces an ingest pipeline."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckAcknowledged
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.request import build_path, read_body, read_common, read_options, read_retry


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    options = read_options(params, "master-timeout", "timeout")
    if "master_timeout" in options:
        options[context.engine.api.manager_timeout] = options.pop("master_timeout")
    path = build_path("_ingest", "pipeline", params.required_text("id"))
    body, check = read_body(params), CheckAcknowledged()
    request = read_common(params).request("PUT", path, query=options, body=body, check=check)
    return CompiledOperation(CallSequence((request,), read_retry(params)))


OPERATION = OperationType(name="put-pipeline", compile=_compile, admin=True)
