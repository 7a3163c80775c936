"""A file server on loopback that knows ranges, and can be told to misbehave."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class FileServer:
    """Serves `content` at every path that `has` accepts; the other fields are its vices."""

    content: bytes = b""
    has: Callable[[str], bool] = lambda path: True
    headers: dict[str, str] = field(default_factory=dict)
    """What it sends beside; a value of several lines is sent as so many headers."""
    statuses: list[int] = field(default_factory=list)
    """What the next requests are answered with, in place of the file."""
    cut_after: list[int] = field(default_factory=list)
    """After how many bytes of the next replies the connection is cut."""
    ranges: bool = True
    etag: bool = True
    redirects: dict[str, str] = field(default_factory=dict)
    """Paths that lie elsewhere now, with their URLs."""
    lie: int = 0
    """By how many bytes too much it announces."""
    on_request: Callable[[int], None] = lambda number: None
    """Called with the number of each request before it is answered."""
    seen: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    sent: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""

    def tag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:16]}"'

    def status(self, path: str) -> int:
        """What a request is answered with in place of the file; 0 with the file."""
        if self.statuses:
            return self.statuses.pop(0)
        if path in self.redirects:
            return 302
        return 0 if self.has(path) else 404

    def asked(self) -> list[str]:
        """The ranges that were asked for."""
        return [headers.get("range", "") for _, headers in self.seen]


def _handler(state: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body in one packet; else the kernel waits 40 ms for the first to be acknowledged.
        wbufsize = -1

        def do_GET(self) -> None:  # http.server looks for it
            with state.lock:
                headers = {name.lower(): value for name, value in self.headers.items()}
                state.seen.append((self.path, headers))
                state.on_request(len(state.seen))
                status = state.status(self.path)
                cut = state.cut_after.pop(0) if state.cut_after and not status else None
                content, tag = state.content, state.tag()
            if status:
                self.send_response(status)
                if status == 302:
                    self.send_header("location", state.redirects[self.path])
                self.send_header("content-length", "0")
                self.end_headers()
                return
            self.answer(content, tag, headers, cut)

        def answer(self, content: bytes, tag: str, headers: dict[str, str], cut: int | None) -> None:
            asked = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
            body, more = content, {}
            known = (tag, state.headers.get("last-modified"))
            if asked and state.ranges and headers.get("if-range", tag) in known:
                first, last = int(asked[1]), int(asked[2] or len(content) - 1)
                body = content[first : last + 1]
                more = {"content-range": f"bytes {first}-{last}/{len(content) + state.lie}"}
            self.send_response(206 if more else 200)
            tags = {"etag": tag} if state.etag else {}
            length = {"content-length": str(len(body) + state.lie)}
            for name, value in (length | tags | more | state.headers).items():
                for each in value.split("\n"):
                    self.send_header(name, each)
            self.end_headers()
            body = body if cut is None else body[:cut]
            self.close_connection |= cut is not None or bool(state.lie)
            try:
                self.wfile.write(body)
            except OSError:
                self.close_connection = True
            with state.lock:
                state.sent += len(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # named by http.server
            pass

    return Handler


@contextmanager
def file_server() -> Iterator[FileServer]:
    """The server, running."""
    state = FileServer()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(state)) as listening:
        listening.daemon_threads = True
        state.url = f"http://127.0.0.1:{listening.server_address[1]}"
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield state
        listening.shutdown()
