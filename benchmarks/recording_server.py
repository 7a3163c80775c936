"""A server that answers every request that Pacenote sends to a cluster, and records the times of both.

Runs as a separate process: `recording_server.py LOG [UPSTREAM_PORT]`. It prints the port on which it listens,
and writes the log as JSON when it receives SIGTERM. With an upstream port, it forwards every request to a
real engine on this machine and returns the engine's reply, so that the times of a real race can be recorded;
otherwise it sends canned replies. One thread serves all connections, so the times are in the order of the
events.
"""

from __future__ import annotations

import json
import selectors
import signal
import socket
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

_NODE = {
    "name": "answering",
    "host": "127.0.0.1",
    "os": {"name": "Linux", "allocated_processors": 1},
    "jvm": {
        "version": "25",
        "vm_vendor": "none",
        "uptime_in_millis": 1,
        "mem": {"heap_max_in_bytes": 1 << 30},
        "gc": {"collectors": {"young": {"collection_count": 0, "collection_time_in_millis": 0}}},
    },
    "plugins": [],
    "modules": [],
}
_SHARDS = {"total": 0, "successful": 0, "failed": 0}
_CANNED: tuple[tuple[str, Any], ...] = (
    ("/_nodes", {"cluster_name": "answering", "nodes": {"one": _NODE}}),
    ("/_all/_stats", {"_shards": _SHARDS, "_all": {}, "indices": {}}),
    ("/_cluster/health", {"status": "green", "relocating_shards": 0}),
)
_ROOT = {
    "name": "answering",
    "cluster_name": "answering",
    "version": {"distribution": "opensearch", "number": "3.3.0", "build_hash": "none", "build_type": "tar"},
}


def canned(path: str) -> bytes:
    """Returns the complete reply to a request for `path`, including the head."""
    reply: Any = _ROOT if path == "/" else {"acknowledged": True}
    reply = next((document for start, document in _CANNED if path.startswith(start)), reply)
    body = json.dumps(reply).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


@dataclass
class Connection:
    """A client's connection."""

    socket: socket.socket
    """The accepted socket."""

    pending: bytearray = field(default_factory=bytearray)
    """The received bytes of the next request."""

    arrived_ns: int = 0
    """Time on the monotonic clock at which the first byte of the next request arrived, in nanoseconds."""

    def receive(self) -> bool:
        """Reads available bytes; returns False if the client has closed the connection."""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionError:
            return False
        if not self.pending:
            self.arrived_ns = time.monotonic_ns()
        self.pending += data
        return bool(data)

    def take_request(self) -> bytes | None:
        """Returns the next request, or None until it has arrived completely."""
        length = message_length(self.pending)
        if length is None or length > len(self.pending):
            return None
        request = bytes(self.pending[:length])
        del self.pending[:length]
        return request


def message_length(data: bytes | bytearray) -> int | None:
    """Returns the length in bytes of the first message in `data`, or None until its head is complete.

    Supports only bodies with a content length.
    """
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    return end + 4 + int(header(bytes(data[:end]), "content-length") or 0)


def header(head: bytes, name: str) -> str:
    """Returns the value of a header, or an empty string if it is missing."""
    for line in head.decode("latin-1").split("\r\n")[1:]:
        key, _, value = line.partition(":")
        if key.strip().lower() == name:
            return value.strip()
    return ""


class Upstream:
    """A connection to the real engine to which requests are forwarded."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def forward(self, request: bytes) -> bytes:
        """Returns the engine's reply, byte for byte; it must have a content length, as small replies do."""
        self._socket.sendall(request)
        reply = bytearray()
        while (length := message_length(reply)) is None or len(reply) < length:
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError("the engine closed the connection")
            reply += data
        return bytes(reply)


class Server:
    """Accepts connections, answers requests and keeps the log."""

    def __init__(self, upstream: Upstream | None) -> None:
        self._upstream = upstream
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self.log: list[dict[str, Any]] = []

    @property
    def port(self) -> int:
        """The port on which the server listens."""
        return int(self._listener.getsockname()[1])

    def serve(self) -> NoReturn:
        """Serves requests until the process is terminated."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    self._read(key.data)

    def _accept(self) -> None:
        accepted, _ = self._listener.accept()
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._selector.register(accepted, selectors.EVENT_READ, Connection(accepted))

    def _read(self, connection: Connection) -> None:
        if not connection.receive():
            self._selector.unregister(connection.socket)
            connection.socket.close()
            return
        while (request := connection.take_request()) is not None:
            self._answer(connection, request)

    def _answer(self, connection: Connection, request: bytes) -> None:
        head = request.partition(b"\r\n\r\n")[0]
        method, path = head.split(b" ", 2)[:2]
        text = path.decode("latin-1")
        reply = self._upstream.forward(request) if self._upstream else canned(text)
        # Read before sending: the client may receive the reply before this process runs again.
        replied_ns = time.monotonic_ns()
        connection.socket.sendall(reply)
        self.log.append({
            "arrived_ns": connection.arrived_ns,
            "replied_ns": replied_ns,
            "agent": header(head, "user-agent"),
            "method": method.decode("latin-1"),
            "path": text,
            "mark": header(head, "x-opaque-id"),
        })


def main() -> None:
    """Serves requests, and writes the log when the process is terminated."""
    log = Path(sys.argv[1])
    server = Server(Upstream(int(sys.argv[2])) if len(sys.argv) > 2 else None)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print(server.port, flush=True)
    try:
        server.serve()
    finally:
        log.write_text(json.dumps(server.log))


if __name__ == "__main__":
    main()
