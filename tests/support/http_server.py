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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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
    """A Content-Length header among them replaces the correct one."""
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


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
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

    def answer(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        request = HttpRequest(self.command, self.path, headers, body)
        self.state.requests.append(request)
        # Called through the class, so that the function is not bound as a method.
        response = type(self).respond(request)
        self.send_response(response.status)
        if not response.tunnel_port and all(name != "content-length" for name, _ in response.headers):
            self.send_header("content-length", str(len(response.body)))
        for name, value in response.headers:
            self.send_header(name, value)
        self.end_headers()
        self.close_connection |= response.close
        try:
            self.wfile.write(b"" if self.command == "HEAD" else response.body)
            self.wfile.flush()
        except OSError:
            self.close_connection = True
        if response.tunnel_port:
            self.tunnel(response.tunnel_port)

    def tunnel(self, port: int) -> None:
        self.close_connection = True
        with socket.create_connection(("127.0.0.1", port)) as remote:
            ends = {self.connection: remote, remote: self.connection}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        return
                    ends[end].sendall(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # named by http.server
        pass


for _method in ("GET", "POST", "PUT", "DELETE", "HEAD", "CONNECT"):
    setattr(_Handler, f"do_{_method}", _Handler.answer)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
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
