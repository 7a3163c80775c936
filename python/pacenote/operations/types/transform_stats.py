"""`transform-stats`: reads statistics of a transform; with a `condition`, fails until a value is as expected.

A name may match several transforms; the condition applies to the first.
"""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType
from pacenote.operations.condition import read_condition
from pacenote.operations.request import build_path, read_common, read_retry


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    path = build_path("_transform", params.required_text("transform-id"), "_stats")
    check = read_condition(params, within="transforms.0.")
    request = replace(read_common(params).request("GET", path), check=check)
    return CompiledOperation(CallSequence((request,), read_retry(params)))


OPERATION = OperationType(name="transform-stats", compile=_compile, admin=True)
