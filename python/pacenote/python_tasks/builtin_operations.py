"""Built-in operations on the lane: those that plug-ins call, and those that are written in Python."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pacenote.model.messages import quoted
from pacenote.model.work import Request
from pacenote.operations.base import CompileContext, OperationType
from pacenote.operations.compile import run_operation
from pacenote.operations.registry import find_type
from pacenote.operations.runner import ConnectionFailed, DriverResponse, HttpStatusError, RequestTimedOut
from pacenote.operations.supplied import OperationSupplier
from pacenote.plugins.rally_api.errors import RallyError
from pacenote.python_tasks.request_router import NoReply, Wire, WireRequest

_NO_REPLY = ("connect", "tls", "reset", "timeout", "protocol")


class Refusal(Exception):
    """The engine refused an operation as a whole; `kind` is its word for the error."""

    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.kind = kind
        self.reason = reason


class LightClient:
    """The client of built-in operations that run in Python, for one cluster."""

    def __init__(self, wire: Wire, cluster: str = "default") -> None:
        self._wire = wire
        self._cluster = cluster

    async def send(self, request: Request) -> DriverResponse:
        """See [`pacenote.operations.runner.Client`]."""
        timeout_s = None if request.timeout_ms is None else request.timeout_ms / 1000
        body = None if request.body is None else request.body.encode()
        wanted = WireRequest(request.method, request.path, list(request.headers), body, timeout_s)
        try:
            reply = await self._wire.request(self._cluster, wanted)
        except NoReply as failure:
            kind = RequestTimedOut if failure.kind == "timeout" else ConnectionFailed
            raise kind(failure.reason) from None
        if 200 <= reply.status < 300 or reply.status in request.ignore:
            return DriverResponse(reply.status, reply.headers, reply.body)
        raise HttpStatusError(reply.status, reply.body, engine_error(reply.body)[1])


def engine_error(body: bytes) -> tuple[str, str]:
    """The engine's word for an error, and its reason in one line; empty where the body does not say."""
    try:
        error = json.loads(body)["error"]
        if isinstance(error, str):
            return "", " ".join(error.split())
        return str(error.get("type") or ""), " ".join(str(error.get("reason") or "").split())
    except (ValueError, KeyError, TypeError, AttributeError):
        return "", " ".join(body[:200].decode(errors="replace").split())


class BuiltIns:
    """Carries out operations of built-in types that plug-ins call by themselves."""

    def __init__(self, wire: Wire, context: CompileContext) -> None:
        self._wire = wire
        self._context = context
        self._suppliers: dict[str, OperationSupplier] = {}

    async def carry_out(self, name: str, params: Mapping[str, Any], cluster: str) -> dict[str, Any]:
        """Carries one out; returns what Rally's runner of the type returns.

        Raises `NoReply` and `Refusal` where it failed as a whole, `TrackError` for wrong parameters.
        """
        kind = find_type(name)
        if kind is None:
            raise RallyError(f"No runner available for operation-type: [{name}]")
        if kind.run is not None:
            return await self._in_python(kind, params, cluster)
        supplier = self._suppliers.get(name)
        if supplier is None:
            supplier = self._suppliers[name] = OperationSupplier(kind, self._context)
        supplied = supplier.supply(params)
        outcome = await self._wire.execute(cluster, supplied.document, supplied.body)
        result = {"weight": supplied.weight, "unit": supplied.unit, "success": outcome["success"]}
        if name == "bulk":
            result |= _bulk_details(params, supplied.weight, outcome)
        error = outcome["error"]
        if error is None:
            return result
        if error["class"] in _NO_REPLY:
            raise NoReply(error["class"], error["reason"])
        if error["class"] == "http-status":
            raise Refusal(error["status"], error["kind"], error["reason"])
        kind_of_error = "bulk" if error["class"] == "bulk-item" else "api"
        return result | {"error-type": kind_of_error, "error-description": error["reason"]}

    async def _in_python(
        self, kind: OperationType, params: Mapping[str, Any], cluster: str
    ) -> dict[str, Any]:
        done = await run_operation(kind, params, self._context, LightClient(self._wire, cluster), {})
        result: dict[str, Any] = {"weight": done.weight, "unit": done.unit, "success": done.success}
        return result if done.success else result | {"error-description": done.reason or quoted(kind.name)}


def _bulk_details(params: Mapping[str, Any], size: int, outcome: Mapping[str, Any]) -> dict[str, Any]:
    accepted = outcome["weight"]
    return {
        "index": params.get("index"),
        "took": outcome["took_ms"] if outcome["took_ms"] >= 0 else None,
        "success-count": accepted,
        "error-count": size - accepted,
        "request-status": outcome["status"],
    }
