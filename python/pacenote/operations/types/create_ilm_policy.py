"""`create-ilm-policy`: creates a policy for the life of indices."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType, Serverless
from pacenote.operations.named_resources import compiled
from pacenote.operations.request import path_of, read_body, read_common


def _compile(params: Reader, context: Context) -> Compiled:
    path = path_of("_ilm", "policy", params.required_text("policy-name"))
    body = read_body(params)
    if isinstance(params.data.get("body"), dict) and not params.data["body"].get("policy"):
        params.child("body").problem("policy", "is missing")
    return compiled(params, [read_common(params).request("PUT", path, body=body)])


OPERATION = OperationType(
    name="create-ilm-policy", compile=_compile, admin=True, serverless=Serverless.BLOCKED
)
