"""Built-in operations in Python tasks: those that plug-ins call, and those that are implemented in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pacenote._core import OperationExecuted, RunnerRequest
from pacenote.model.messages import quoted
from pacenote.model.work import Request
from pacenote.operations.base import CompileContext, OperationType
from pacenote.operations.compile import run_operation
from pacenote.operations.registry import find_type
from pacenote.operations.runner import ConnectionFailed, DriverResponse, HttpStatusError, RequestTimedOut
from pacenote.operations.supplied import OperationSupplier
from pacenote.plugins.rally_api.errors import RallyError
from pacenote.python_tasks.reply_errors import ReplyError, parse_reply_error
from pacenote.python_tasks.request_router import NoReply, RequestRouter

_NO_REPLY_CLASSES = ("connect", "tls", "reset", "timeout", "protocol")


class RejectedOperation(Exception):
    """The engine rejected an operation as a whole."""

    def __init__(self, status: int, error: ReplyError) -> None:
        super().__init__(error.reason)
        self.status = status
        self.error = error


class BuiltinClient:
    """The client of one cluster for built-in operations that are implemented in Python."""

    def __init__(self, router: RequestRouter, cluster: str = "default") -> None:
        self._router = router
        self._cluster = cluster

    async def send(self, request: Request) -> DriverResponse:
        """Implements [`pacenote.operations.runner.DriverClient`]."""
        timeout_s = None if request.timeout_ms is None else request.timeout_ms / 1000
        body = None if request.body is None else request.body.encode()
        http = RunnerRequest(request.method, request.path, list(request.headers), body, timeout_s)
        try:
            reply = await self._router.request(self._cluster, http)
        except NoReply as failure:
            kind = RequestTimedOut if failure.kind == "timeout" else ConnectionFailed
            raise kind(failure.reason) from None
        if 200 <= reply.status < 300 or reply.status in request.ignore:
            return DriverResponse(reply.status, reply.headers, reply.body)
        raise HttpStatusError(reply.status, reply.body, parse_reply_error(reply.body).reason)


class BuiltinOperations:
    """Executes operations of built-in types that plug-ins call."""

    def __init__(self, router: RequestRouter, context: CompileContext) -> None:
        self._router = router
        self._context = context
        self._suppliers: dict[str, OperationSupplier] = {}

    async def execute(self, name: str, params: Mapping[str, Any], cluster: str) -> dict[str, Any]:
        """Executes one operation and returns what Rally's runner of the type returns.

        Raises `NoReply` or `RejectedOperation` if it failed as a whole, and `TrackError` for invalid
        parameters.
        """
        kind = find_type(name)
        if kind is None:
            raise RallyError(f"No runner available for operation-type: [{name}]")
        if kind.run is not None:
            return await self._run_in_python(kind, params, cluster)
        supplier = self._suppliers.get(name)
        if supplier is None:
            supplier = self._suppliers[name] = OperationSupplier(kind, self._context)
        operation = supplier.supply(params)
        executed = await self._router.execute(cluster, operation.document, operation.body)
        result = {"weight": operation.weight, "unit": operation.unit, "success": executed.success}
        if kind.indexes_documents:
            result |= _bulk_details(params, operation.weight, executed)
        failure = executed.failure
        if failure is None:
            return result
        if failure.error_class in _NO_REPLY_CLASSES:
            raise NoReply(failure.error_class, failure.reason)
        if failure.error_class == "http-status":
            raise RejectedOperation(failure.status or 0, ReplyError(failure.kind, failure.reason))
        error_type = "bulk" if failure.error_class == "bulk-item" else "api"
        return result | {"error-type": error_type, "error-description": failure.reason}

    async def _run_in_python(
        self, kind: OperationType, params: Mapping[str, Any], cluster: str
    ) -> dict[str, Any]:
        client = BuiltinClient(self._router, cluster)
        ran = await run_operation(kind, params, self._context, client, {})
        result: dict[str, Any] = {"weight": ran.weight, "unit": ran.unit, "success": ran.success}
        return result if ran.success else result | {"error-description": ran.reason or quoted(kind.name)}


def _bulk_details(params: Mapping[str, Any], documents: int, executed: OperationExecuted) -> dict[str, Any]:
    return {
        "index": params.get("index"),
        "took": executed.took_ms,
        "success-count": executed.weight,
        "error-count": documents - executed.weight,
        "request-status": executed.status,
    }
