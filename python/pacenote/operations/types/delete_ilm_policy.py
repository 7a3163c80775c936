"""`delete-ilm-policy`: deletes a policy for the life of indices; one that is not there is no failure."""

from __future__ import annotations

from pacenote.model.field_reader import Reader
from pacenote.operations.base import Compiled, Context, OperationType, Serverless
from pacenote.operations.named_resources import compiled, if_there
from pacenote.operations.request import path_of, read_common


def _compile(params: Reader, context: Context) -> Compiled:
    path = path_of("_ilm", "policy", params.required_text("policy-name"))
    return compiled(params, [if_there(read_common(params).request("DELETE", path))])


OPERATION = OperationType(
    name="delete-ilm-policy", compile=_compile, admin=True, serverless=Serverless.BLOCKED
)
