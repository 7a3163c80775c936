"""An HTTP server on loopback that gives prepared answers. Real sockets."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = tuple[int, bytes, dict[str, str]]


@dataclass
class Server:
    """A server on loopback: path to its answers, taken in turn, the last one again and again."""

    answers: dict[str, list[Answer]] = field(default_factory=dict)
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def put(self, path: str, body: bytes | object, status: int = 200, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.answers.setdefault(path, []).append((status, content, headers))

    def count(self, path: str) -> int:
        return sum(1 for _, seen, _, _ in self.seen if seen == path)


@contextmanager
def http_server() -> Iterator[Server]:
    """The server, running."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body in one packet; else the kernel waits 40 ms for the first to be acknowledged.
        wbufsize = -1

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            path = self.path.partition("?")[0]
            state.seen.append((self.command, self.path, dict(self.headers), body))
            known = state.answers.get(self.path) or state.answers.get(path) or [(404, b"", {})]
            status, content, headers = known.pop(0) if len(known) > 1 else known[0]
            self.send_response(status)
            for name, value in ({"content-length": str(len(content))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else content)
            # A length that was a lie must show as a short body, not as a wait.
            self.close_connection = "content-length" in headers

        do_GET = do_POST = do_PUT = do_HEAD = answer  # noqa: N815  # http.server looks for these

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # named by http.server
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        state.port = listening.server_address[1]
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield state
        listening.shutdown()
