"""`create-ilm-policy`: creates an index lifecycle policy."""

from __future__ import annotations

from pacenote.model.field_reader import FieldReader
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.named_resources import compile_requests
from pacenote.operations.request import build_path, read_body, read_common


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    path = build_path("_ilm", "policy", params.required_text("policy-name"))
    body = read_body(params)
    if isinstance(params.data.get("body"), dict) and not params.data["body"].get("policy"):
        params.child("body").problem("policy", "is missing")
    return compile_requests(params, [read_common(params).request("PUT", path, body=body)])


OPERATION = OperationType(
    name="create-ilm-policy",
    needs_modules=("x-pack-ilm",),
    compile=_compile,
    admin=True,
    serverless=ServerlessStatus.BLOCKED,
)
