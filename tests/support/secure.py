"""An engine behind TLS and credentials, as far as a race asks; and a proxy that leads to it. Real sockets."""

from __future__ import annotations

import http.client
import json
import os
import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CERTIFICATES = Path(__file__).with_name("certificates")
CA = CERTIFICATES / "ca.pem"


@dataclass
class Running:
    """A server, how it behaves, and what it has seen: methods and paths, with headers."""

    host: str = "127.0.0.1"
    port: int = 0
    authorization: str | None = None
    target: int = 0
    refuses: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    @property
    def address(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"{name}:{self.port}"

    def count(self, line: str) -> int:
        return sum(1 for seen, _ in self.seen if seen == line)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Who finds no place among those that wait tries again only after a second.
    request_queue_size = 64
    running: Running

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A handshake that fails is what a test wants."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body in one packet; else the kernel waits 40 ms for the first to be acknowledged.
    wbufsize = -1
    server: _Server

    def setup(self) -> None:
        if isinstance(self.request, ssl.SSLSocket):
            try:
                self.request.do_handshake()
            except ssl.SSLError:
                # Closed at once, a client that is still writing would be reset before it reads the reason.
                with socket.socket(fileno=os.dup(self.request.fileno())) as raw:
                    while raw.recv(4096):
                        pass
                raise
        super().setup()

    def note(self) -> bytes:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.running.seen.append((f"{self.command} {self.path}", headers))
        return self.rfile.read(int(headers.get("content-length", 0)))

    def reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        pass


class _Engine(_Handler):
    def answer(self) -> None:
        self.note()
        document: dict[str, Any] = {"took": 1, "timed_out": False, "_shards": {"failed": 0}}
        if self.path == "/":
            document = {"cluster_name": "c", "version": {"distribution": "opensearch", "number": "3.3.0"}}
        elif self.path.startswith("/_nodes"):
            document = {"nodes": {}}
        elif "_stats" in self.path:
            document = {"indices": {}, "_shards": {"failed": 0}}
        wanted = self.server.running.authorization
        if wanted and self.headers.get("authorization") != wanted:
            said = self.headers.get("authorization")
            self.reply(401, json.dumps({"error": {"reason": f"wrong: {said}"}}).encode())
        else:
            status, document = self.server.running.refuses.get(self.path, (200, document))
            self.reply(status, json.dumps(document).encode())

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = answer  # noqa: N815 - http.server looks for these


class _Proxy(_Handler):
    def admitted(self) -> bool:
        running = self.server.running
        if running.authorization and self.headers.get("proxy-authorization") != running.authorization:
            self.reply(407, b"")
            return False
        return True

    def do_CONNECT(self) -> None:
        self.note()
        if not self.admitted():
            return
        with socket.create_connection(("127.0.0.1", self.server.running.target)) as far:
            self.send_response(200)
            self.end_headers()
            self.wfile.flush()
            ends = {self.connection: far, far: self.connection}
            while True:
                for end in select.select(list(ends), [], [])[0]:
                    data = end.recv(65536)
                    if not data:
                        self.close_connection = True
                        return
                    ends[end].sendall(data)

    def forward(self) -> None:
        body = self.note()
        if not self.admitted():
            return
        path = "/" + self.path.split("/", 3)[3]
        far = http.client.HTTPConnection("127.0.0.1", self.server.running.target, timeout=10)
        hop = ("connection", "proxy-authorization", "proxy-connection")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in hop}
        far.request(self.command, path, body or None, headers)
        reply = far.getresponse()
        self.reply(reply.status, reply.read())
        far.close()

    do_GET = do_POST = do_PUT = do_DELETE = forward  # noqa: N815 - http.server looks for these


@contextmanager
def engine(
    certificate: str | None = "server.pem",
    *,
    client: bool = False,
    authorization: str | None = None,
    host: str = "127.0.0.1",
    refuses: dict[str, tuple[int, dict[str, Any]]] | None = None,
) -> Iterator[Running]:
    """An engine that shows a certificate (None: plain HTTP), may ask for the client's, and refuses paths."""
    context = None
    if certificate:
        context = _context(certificate)
        if client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(CA)
    with _serving(
        _Engine, Running(host, authorization=authorization, refuses=refuses or {}), context
    ) as running:
        yield running


@contextmanager
def proxy(
    target: Running, authorization: str | None = None, certificate: str | None = None
) -> Iterator[Running]:
    """A proxy that leads to `target`, whatever it is asked for; over TLS if it has a certificate to show."""
    running = Running(authorization=authorization, target=target.port)
    with _serving(_Proxy, running, _context(certificate) if certificate else None) as running:
        yield running


def _context(certificate: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / certificate)
    return context


@contextmanager
def _serving(handler: type[_Handler], running: Running, context: ssl.SSLContext | None) -> Iterator[Running]:
    family = socket.AF_INET6 if ":" in running.host else socket.AF_INET
    with type("Server", (_Server,), {"address_family": family})((running.host, 0), handler) as server:
        server.running = running
        running.port = server.server_address[1]
        if context:
            # The handshake belongs to the thread of its connection, or one that hangs would stop all.
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield running
        server.shutdown()
        thread.join()
