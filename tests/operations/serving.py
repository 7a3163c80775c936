"""A real server with scripted responses, and a client that runs operations against it."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from operations.compiling import context
from pacenote.model.work import Request
from pacenote.operations.compile import run_operation
from pacenote.operations.registry import resolve_type
from pacenote.operations.runner import (
    BuiltinResult,
    ConnectionFailed,
    DriverResponse,
    HttpStatusError,
    RequestTimedOut,
)
from support.http_server import HttpRequest, HttpResponse, http_server

Answer = Callable[[str, str], Any]
"""Maps a request line and body to the server's reply: JSON, or a status and JSON."""


class OperationClient:
    """Runs operations against a loopback server, which records the requests in `request_lines`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.request_lines: list[str] = []

    async def send(self, request: Request) -> DriverResponse:
        """Sends a request over a new connection."""
        return await asyncio.to_thread(self._send, request)

    def run(
        self, kind: str, params: Mapping[str, Any], client_state: dict[str, Any] | None = None
    ) -> BuiltinResult:
        """Runs an operation of this type once against the server."""
        state = {} if client_state is None else client_state
        operation_type = resolve_type(kind)
        result = asyncio.run(run_operation(operation_type, params, context(), self, state))
        assert result.unit == operation_type.unit
        return result

    def _send(self, request: Request) -> DriverResponse:
        timeout = None if request.timeout_ms is None else request.timeout_ms / 1000
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            body = None if request.body is None else request.body.encode()
            connection.request(request.method, request.path, body, dict(request.headers))
            reply = connection.getresponse()
            headers = tuple((name.lower(), value) for name, value in reply.getheaders())
            received = DriverResponse(reply.status, headers, reply.read())
        except TimeoutError as cause:
            raise RequestTimedOut("no response in time") from cause
        except OSError as cause:
            raise ConnectionFailed(str(cause)) from cause
        finally:
            connection.close()
        if received.status >= 300 and received.status not in request.ignore:
            raise HttpStatusError(received.status, received.body, "refused")
        return received


@contextmanager
def serving(answer: Answer) -> Iterator[OperationClient]:
    """Runs a server that replies with `answer`."""

    def respond(request: HttpRequest) -> HttpResponse:
        body = request.body.decode()
        client.request_lines.append(f"{request.line} {body}".strip())
        reply = answer(request.line, body)
        status, value = reply if isinstance(reply, tuple) else (200, reply)
        return HttpResponse(status, value if isinstance(value, bytes) else json.dumps(value).encode())

    with http_server(respond) as server:
        client = OperationClient(server.port)
        yield client


def in_turn(*replies: Any) -> Answer:
    """Returns the replies one after another, then repeats the last one."""
    left = list(replies)
    return lambda line, body: left.pop(0) if len(left) > 1 else left[0]
