"""An engine behind TLS and credentials, with the responses that a race needs, and a proxy in front of it."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.engine import engine_document
from support.http_server import HttpRequest, HttpResponse, HttpServer, http_server, json_response

CERTIFICATES = Path(__file__).with_name("certificates")
CA = CERTIFICATES / "ca.pem"


@contextmanager
def engine(
    certificate: str | None = "server.pem",
    *,
    client: bool = False,
    authorization: str | None = None,
    host: str = "127.0.0.1",
    refuses: dict[str, tuple[int, dict[str, Any]]] | None = None,
) -> Iterator[HttpServer]:
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
    with http_server(respond, host=host, tls=context) as server:
        yield server


@contextmanager
def proxy(
    target: HttpServer, authorization: str | None = None, certificate: str | None = None
) -> Iterator[HttpServer]:
    """A proxy that sends every request to `target`; with a certificate it is reached over TLS."""

    def respond(request: HttpRequest) -> HttpResponse:
        if authorization and request.headers.get("proxy-authorization") != authorization:
            return HttpResponse(407)
        if request.method == "CONNECT":
            return HttpResponse(tunnel_port=target.port)
        return _forward(request, target.port)

    with http_server(respond, tls=_context(certificate) if certificate else None) as server:
        yield server


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
