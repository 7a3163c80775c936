"""A file server on loopback that supports ranges and can misbehave."""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from support.http_server import HttpRequest, HttpResponse, http_server


@dataclass
class FileServer:
    """Serves `content` at every path that `has` accepts; the other fields make it misbehave."""

    content: bytes = b""
    has: Callable[[str], bool] = lambda path: True
    headers: dict[str, str] = field(default_factory=dict)
    """Additional headers; each line of a value is sent as a separate header."""
    statuses: list[int] = field(default_factory=list)
    """Statuses that the next requests are answered with instead of the file."""
    cut_after: list[int] = field(default_factory=list)
    """Numbers of bytes after which the connections of the next responses are closed."""
    ranges: bool = True
    ignores_range_ends: bool = False
    """Whether every range is sent up to the end of the file."""
    etag: bool = True
    redirects: dict[str, str] = field(default_factory=dict)
    """Path → URL to which requests for it are redirected."""
    excess_length: int = 0
    """Number of bytes by which the announced length is too large."""
    on_request: Callable[[int], None] = lambda number: None
    """Called with the number of each request before the request is answered."""
    requests: list[HttpRequest] = field(default_factory=list)
    sent: int = 0
    """Total size of all bodies sent, in bytes."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    url: str = ""

    def tag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:16]}"'

    def requested_ranges(self) -> list[str]:
        """Returns the Range headers of all requests."""
        return [request.headers.get("range", "") for request in self.requests]

    def respond(self, request: HttpRequest) -> HttpResponse:
        with self.lock:
            self.requests.append(request)
            self.on_request(len(self.requests))
            status = self._status(request.target)
            if status:
                redirect = (("location", self.redirects[request.target]),) if status == 302 else ()
                return HttpResponse(status, headers=redirect)
            return self._file(request.headers)

    def _status(self, path: str) -> int:
        """Returns the status to answer with, or 0 to send the file."""
        if self.statuses:
            return self.statuses.pop(0)
        if path in self.redirects:
            return 302
        return 0 if self.has(path) else 404

    def _file(self, headers: dict[str, str]) -> HttpResponse:
        cut = self.cut_after.pop(0) if self.cut_after else None
        requested = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
        body, content_range = self.content, {}
        validators = (self.tag(), self.headers.get("last-modified"))
        if requested and self.ranges and headers.get("if-range", self.tag()) in validators:
            first, last = int(requested[1]), int(requested[2] or len(self.content) - 1)
            last = len(self.content) - 1 if self.ignores_range_ends else last
            body = self.content[first : last + 1]
            content_range = {
                "content-range": f"bytes {first}-{last}/{len(self.content) + self.excess_length}"
            }
        sent = {"content-length": str(len(body) + self.excess_length)}
        sent |= ({"etag": self.tag()} if self.etag else {}) | content_range | self.headers
        body = body if cut is None else body[:cut]
        self.sent += len(body)
        return HttpResponse(
            206 if content_range else 200,
            body,
            tuple((name, line) for name, value in sent.items() for line in value.split("\n")),
            close=cut is not None or bool(self.excess_length),
        )


@contextmanager
def file_server() -> Iterator[FileServer]:
    """Runs a file server."""
    files = FileServer()
    with http_server(files.respond) as server:
        files.url = server.url
        yield files
