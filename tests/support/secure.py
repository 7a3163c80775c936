"""An engine behind TLS and credentials, as far as a race uses it, and a proxy in front of it."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, Respond, http_server, json_response

CERTIFICATES = Path(__file__).with_name("certificates")
CA = CERTIFICATES / "ca.pem"


@dataclass
class Running:
    """A running server, and the requests it received: request lines with headers."""

    host: str = "127.0.0.1"
    port: int = 0
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def address(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{name}:{self.port}"

    def count(self, line: str) -> int:
        return sum(1 for seen, _ in self.seen if seen == line)


@contextmanager
def engine(
    certificate: str | None = "server.pem",
    *,
    client: bool = False,
    authorization: str | None = None,
    host: str = "127.0.0.1",
    refuses: dict[str, tuple[int, dict[str, Any]]] | None = None,
) -> Iterator[Running]:
    """An engine with a certificate (None: plain HTTP).

    It may ask for a client certificate and for credentials, and answers the paths in `refuses` with a status
    and a document.
    """
    refused = refuses or {}

    def respond(request: HttpRequest) -> HttpResponse:
        sent = request.headers.get("authorization")
        if authorization and sent != authorization:
            return json_response({"error": {"reason": f"wrong: {sent}"}}, 401)
        if request.target in refused:
            status, document = refused[request.target]
            return json_response(document, status)
        return json_response(engine_document(request.target))

    context = _context(certificate) if certificate else None
    if context and client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(CA)
    with _running(respond, host, context) as running:
        yield running


@contextmanager
def proxy(
    target: Running, authorization: str | None = None, certificate: str | None = None
) -> Iterator[Running]:
    """A proxy that sends every request to `target`; with a certificate it is reached over TLS."""

    def respond(request: HttpRequest) -> HttpResponse:
        if authorization and request.headers.get("proxy-authorization") != authorization:
            return HttpResponse(407)
        if request.method == "CONNECT":
            return HttpResponse(tunnel_port=target.port)
        return _forward(request, target.port)

    with _running(respond, "127.0.0.1", _context(certificate) if certificate else None) as running:
        yield running


def _forward(request: HttpRequest, port: int) -> HttpResponse:
    path = "/" + request.target.split("/", 3)[3]
    hop_by_hop = ("connection", "proxy-authorization", "proxy-connection")
    headers = {name: value for name, value in request.headers.items() if name not in hop_by_hop}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(request.method, path, request.body or None, headers)
        response = connection.getresponse()
        return HttpResponse(response.status, response.read())
    finally:
        connection.close()


def _context(certificate: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / certificate)
    return context


@contextmanager
def _running(respond: Respond, host: str, context: ssl.SSLContext | None) -> Iterator[Running]:
    running = Running(host)

    def recorded(request: HttpRequest) -> HttpResponse:
        running.seen.append((request.line, request.headers))
        return respond(request)

    with http_server(recorded, host=host, tls=context) as server:
        running.port = server.port
        yield running
