"""`cluster-health`: reads the cluster's health, and fails if it is worse than `request-params` require."""

from __future__ import annotations

from msgspec.structs import replace

from pacenote.model.field_reader import FieldReader
from pacenote.model.work import CallSequence, CheckHealth, HealthStatus
from pacenote.operations.base import CompileContext, CompiledOperation, OperationType, ServerlessStatus
from pacenote.operations.request import build_path, join_names, read_common, read_retry


def _compile(params: FieldReader, context: CompileContext) -> CompiledOperation:
    required = params.child("request-params")
    status = required.choice("wait_for_status", [health.value for health in HealthStatus], "")
    check = CheckHealth(
        status=HealthStatus(status) if status else None,
        no_relocating_shards=required.flag("wait_for_no_relocating_shards", False),
    )
    path = build_path("_cluster", "health", join_names(params.names("index")))
    request = replace(read_common(params).request("GET", path), check=check)
    return CompiledOperation(CallSequence((request,), read_retry(params)))


OPERATION = OperationType(
    name="cluster-health",
    compile=_compile,
    admin=True,
    serverless=ServerlessStatus.INTERNAL,
    assertable={"cluster-status": ("status",), "relocating-shards": ("relocating_shards",)},
)
