"""The HTTP server for all tests: real sockets on loopback, and a function that answers requests."""

from __future__ import annotations

import json
import os
import select
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from socketserver import StreamRequestHandler, TCPServer, ThreadingMixIn
from typing import Any

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class HttpRequest:
    """A request that the server received."""

    method: str
    target: str
    """Path and query."""
    headers: dict[str, str]
    """Names are in lower case."""
    body: bytes

    @property
    def line(self) -> str:
        return f"{self.method} {self.target}"

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


@dataclass(frozen=True)
class HttpResponse:
    """A response that the server sends."""

    status: int = 200
    body: bytes = b""
    headers: Headers = ()
    """A header among them that frames the body replaces the correct Content-Length."""
    close: bool = False
    """Whether the connection is closed after the response."""
    tunnel_port: int | None = None
    """For CONNECT: the port on loopback to which bytes are forwarded."""


Respond = Callable[[HttpRequest], HttpResponse]


def json_response(document: object, status: int = 200) -> HttpResponse:
    return HttpResponse(status, json.dumps(document).encode(), (("content-type", "application/json"),))


@dataclass
class HttpServer:
    """A running server."""

    host: str
    port: int
    requests: list[HttpRequest] = field(default_factory=list)

    @property
    def address(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{name}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def count(self, line: str) -> int:
        """Returns the number of requests with this line that the server received."""
        return sum(1 for request in self.requests if request.line == line)


_FRAMING = {"content-length", "transfer-encoding"}
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class _Handler(StreamRequestHandler):
    """Answers the requests of one connection. `http.server` would use most of the time of the tests."""

    # Head and body in one packet; otherwise the kernel waits up to 40 ms for an acknowledgement.
    wbufsize = -1
    respond: Respond
    state: HttpServer

    def setup(self) -> None:
        if isinstance(self.request, ssl.SSLSocket):
            try:
                self.request.do_handshake()
            except ssl.SSLError as error:
                if error.reason == "HTTP_REQUEST":
                    raise  # No alert answers plain HTTP.
                # If the socket were closed now, a client that is still writing would not receive the alert.
                with socket.socket(fileno=os.dup(self.request.fileno())) as raw:
                    while raw.recv(4096):
                        pass
                raise
        super().setup()

    def handle(self) -> None:
        while words := self.rfile.readline().decode("latin-1").split():
            # The first bytes of TLS may be three words, too.
            if len(words) != 3 or not words[2].startswith("HTTP/"):
                self.wfile.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                break
            if not self.answer(*words):
                break

    def answer(self, method: str, target: str, version: str) -> bool:
        """Answers a request. Returns whether another one may follow."""
        headers = {}
        while (line := self.rfile.readline().decode("latin-1").strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        if headers.get("expect", "").lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.wfile.flush()
        body = self.rfile.read(int(headers.get("content-length", 0)))
        request = HttpRequest(method, target, headers, body)
        self.state.requests.append(request)
        # Called through the class, so that the function is not bound as a method.
        response = type(self).respond(request)
        try:
            self.wfile.write(_head(response) + (b"" if method == "HEAD" else response.body))
            self.wfile.flush()
        except OSError:
            return False
        if response.tunnel_port:
            self.tunnel(response.tunnel_port)
        connection = {headers.get("connection", ""), dict(response.headers).get("connection", "")}
        is_last = response.close or response.tunnel_port or "close" in connection
        return version == "HTTP/1.1" and not is_last

    def tunnel(self, port: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as remote:
            ends = {self.connection: remote, remote: self.connection}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    ends[end].sendall(data)


def _head(response: HttpResponse) -> bytes:
    lines = [f"HTTP/1.1 {response.status} {_REASONS.get(response.status, '')}"]
    if not response.tunnel_port and not _FRAMING.intersection(name for name, _ in response.headers):
        lines.append(f"content-length: {len(response.body)}")
    lines += [f"{name}: {value}" for name, value in response.headers]
    return "\r\n".join((*lines, "", "")).encode("latin-1")


class _Server(ThreadingMixIn, TCPServer):
    daemon_threads = True
    allow_reuse_address = True
    # If the queue is full, a client tries to connect again only after a second.
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Reports errors in `respond`; failed handshakes and connections are part of the tests."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


@contextmanager
def http_server(
    respond: Respond, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> Iterator[HttpServer]:
    """Runs a server that answers every request with `respond`, which is called in several threads."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    state = HttpServer(host, 0)
    handler = type("Handler", (_Handler,), {"respond": staticmethod(respond), "state": state})
    with type("Server", (_Server,), {"address_family": family})((host, 0), handler) as server:
        state.port = server.server_address[1]
        if tls:
            # Each connection's thread does its handshake, so that it does not block other connections.
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


class ScriptedServer:
    """Answers by path: with the responses of the path in turn, and with the last one from then on."""

    def __init__(self) -> None:
        self._responses: dict[str, list[HttpResponse]] = {}
        self._server: HttpServer | None = None

    @property
    def server(self) -> HttpServer:
        assert self._server is not None
        return self._server

    @property
    def requests(self) -> list[HttpRequest]:
        return self.server.requests

    @property
    def port(self) -> int:
        return self.server.port

    @property
    def url(self) -> str:
        return self.server.url

    def put(self, path: str, body: bytes | object, status: int = 200, **headers: str) -> None:
        """Adds a response; a wrong Content-Length among its headers makes it end early."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        close = "content-length" in headers
        self._responses.setdefault(path, []).append(
            HttpResponse(status, content, tuple(headers.items()), close=close)
        )

    def count(self, target: str) -> int:
        """Returns the number of requests for a target."""
        return sum(1 for request in self.requests if request.target == target)

    def respond(self, request: HttpRequest) -> HttpResponse:
        responses = self._responses.get(request.target) or self._responses.get(request.path)
        if not responses:
            return HttpResponse(404)
        return responses.pop(0) if len(responses) > 1 else responses[0]

    @contextmanager
    def running(self) -> Iterator[ScriptedServer]:
        with http_server(self.respond) as self._server:
            yield self
