"""Built-in operations in Python tasks: those that plug-ins call, and those that are implemented in Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pacenote._core import CoreError, OperationExecuted, RunnerRequest
from pacenote.errors import TrackError
from pacenote.model.messages import quoted
from pacenote.model.work import Request
from pacenote.operations.base import CompileContext, OperationType
from pacenote.operations.compile import run_operation
from pacenote.operations.registry import find_type
from pacenote.operations.runner import ConnectionFailed, DriverResponse, HttpStatusError, RequestTimedOut
from pacenote.operations.supplied import OperationSupplier
from pacenote.plugins.rally_api.errors import RallyError
from pacenote.python_tasks.request_router import NoResponse, RequestRouter
from pacenote.python_tasks.response_errors import ResponseError, parse_response_error

_NO_RESPONSE_CLASSES = ("connect", "tls", "reset", "timeout", "protocol")


class RejectedOperation(Exception):
    """The engine rejected an operation as a whole."""

    def __init__(self, status: int, error: ResponseError) -> None:
        super().__init__(error.reason)
        self.status = status
        self.error = error


class BuiltinClient:
    """The client of one cluster for built-in operations that are implemented in Python."""

    def __init__(self, router: RequestRouter, cluster: str = "default") -> None:
        self._router = router
        self._cluster = cluster

    async def send(self, request: Request) -> DriverResponse:
        """Implements `pacenote.operations.runner.DriverClient`."""
        timeout_s = None if request.timeout_ms is None else request.timeout_ms / 1000
        body = None if request.body is None else request.body.encode()
        http = RunnerRequest(request.method, request.path, list(request.headers), body, timeout_s)
        try:
            response = await self._router.request(self._cluster, http)
        except CoreError as error:
            raise TrackError(f"the request cannot be sent: {error}") from None
        except NoResponse as failure:
            if failure.kind == "timeout":
                raise RequestTimedOut(failure.reason) from None
            raise ConnectionFailed(failure.reason, failure.kind) from None
        if 200 <= response.status < 300 or response.status in request.ignore:
            return DriverResponse(response.status, response.headers, response.body)
        raise HttpStatusError(response.status, response.body, parse_response_error(response.body).reason)


class BuiltinOperations:
    """Executes operations of built-in types that plug-ins call."""

    def __init__(self, router: RequestRouter, context: CompileContext) -> None:
        self._router = router
        self._context = context
        self._suppliers: dict[str, OperationSupplier] = {}

    async def execute(self, name: str, params: Mapping[str, Any], cluster: str) -> dict[str, Any]:
        """Executes one operation and returns what Rally's runner of the type returns.

        Raises `NoResponse` or `RejectedOperation` if it failed as a whole, and `TrackError` for invalid
        parameters.
        """
        operation_type = find_type(name)
        if operation_type is None:
            raise RallyError(f"No runner available for operation-type: [{name}]")
        if operation_type.run is not None:
            return await self._run_in_python(operation_type, params, cluster)
        supplier = self._suppliers.get(name)
        if supplier is None:
            supplier = self._suppliers[name] = OperationSupplier(operation_type, self._context)
        operation = supplier.supply(params)
        executed = await self._router.execute(cluster, operation.document, operation.body)
        result = {"weight": operation.weight, "unit": operation.unit, "success": executed.success}
        if operation_type.indexes_documents:
            result |= _bulk_details(params, operation.weight, executed)
        if executed.details is not None:
            result = {**json.loads(executed.details), **result}
        failure = executed.failure
        if failure is None:
            return result
        if failure.error_class in _NO_RESPONSE_CLASSES:
            raise NoResponse(failure.error_class, failure.reason)
        if failure.error_class == "http-status":
            raise RejectedOperation(failure.status or 0, ResponseError(failure.kind, failure.reason))
        error_type = "bulk" if failure.error_class == "bulk-item" else "api"
        return result | {"error-type": error_type, "error-description": failure.reason}

    async def _run_in_python(
        self, operation_type: OperationType, params: Mapping[str, Any], cluster: str
    ) -> dict[str, Any]:
        client = BuiltinClient(self._router, cluster)
        ran = await run_operation(operation_type, params, self._context, client, {})
        result = ran.returned()
        if not ran.success:
            result["error-description"] = ran.reason or quoted(operation_type.name)
        return result


def _bulk_details(params: Mapping[str, Any], documents: int, executed: OperationExecuted) -> dict[str, Any]:
    return {
        "index": params.get("index"),
        "took": executed.took_ms,
        "success-count": executed.weight,
        "error-count": documents - executed.weight,
        "request-status": executed.status,
    }
