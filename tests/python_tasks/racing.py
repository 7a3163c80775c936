"""Races of tracks with Python against a small server that remembers what it was asked."""

from __future__ import annotations

import contextlib
import gzip
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.model.result import TaskResult
from pacenote.race.run import race
from plugins.tracks import write_track

ANSWER: Mapping[str, Any] = {"took": 1, "timed_out": False, "_shards": {"failed": 0}, "errors": False}


@dataclass(frozen=True)
class Asked:
    """A request that the server got."""

    line: str
    headers: Mapping[str, str]
    body: str


@dataclass
class Server:
    """Answers every request with `ANSWER`, unless `answer(line, body)` says (status, document) or a text."""

    answer: Callable[[str, str], Any] = lambda _line, _body: None
    asked: list[Asked] = field(default_factory=list)
    address: str = ""

    def lines(self, *leaving_out: str) -> list[str]:
        """Request lines that the race itself does not cause."""
        own = ("GET / ", "GET /_nodes", "GET /_all/_stats", "GET /_cat", "POST /_refresh", *leaving_out)
        lines = [f"{one.line} " for one in self.asked]
        return [line.strip() for line in lines if not line.startswith(own)]

    def bodies(self, line: str) -> list[str]:
        """Bodies of the requests of one line."""
        return [one.body for one in self.asked if one.line == line]


@contextlib.contextmanager
def serving(answer: Callable[[str, str], Any] = lambda _line, _body: None) -> Iterator[Server]:
    server = Server(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
            line = f"{self.command} {self.path}"
            server.asked.append(Asked(line, {k.lower(): v for k, v in self.headers.items()}, body))
            self.send(*self.said(line, body))

        def said(self, line: str, body: str) -> tuple[int, Any]:
            said = server.answer(line, body)
            if said is not None:
                return said if isinstance(said, tuple) else (200, said)
            if self.path == "/":
                version = {"distribution": "opensearch", "number": "3.3.0", "build_hash": "0"}
                return 200, {"cluster_name": "c", "version": version}
            return 200, {"nodes": {}} if self.path.startswith("/_nodes") else {**ANSWER, "indices": {}}

        def send(self, status: int, said: Any) -> None:
            body = (said if isinstance(said, str) else json.dumps(said)).encode()
            self.send_response(status)
            if self.headers.get("accept-encoding") == "gzip":
                body = gzip.compress(body)
                self.send_header("content-encoding", "gzip")
            self.send_header("content-type", "text/plain" if isinstance(said, str) else "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Says nothing."""

    for method in ("GET", "POST", "PUT", "DELETE", "HEAD"):
        setattr(Handler, f"do_{method}", Handler.reply)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        server.address = f"127.0.0.1:{listening.server_address[1]}"
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        listening.shutdown()
        thread.join()


class Listener:
    """Remembers warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


@dataclass(frozen=True)
class Raced:
    """What came of a race."""

    record: RaceRecord
    warnings: list[str]

    def task(self, name: str) -> TaskResult:
        return next(task for task in self.record.tasks if task.task == name)

    def reason(self, name: str) -> str:
        """Why a task failed, which it did for one reason."""
        (error,) = self.task(name).errors
        return f"{error.error_class}: {error.reason}"


def race_track(
    folder: Path,
    files: Mapping[str, str] | str,
    document: Mapping[str, Any] | list[Any],
    address: str,
    **options: Any,
) -> Raced:
    """Races a track with these Python files (or `track.py` alone) and this document (or schedule)."""
    given = document if isinstance(document, dict) else {"schedule": list(document)}
    root = write_track(folder, {"track.py": files} if isinstance(files, str) else files, given)
    request = RaceRequest(
        race_id="r",
        home=folder / "home",
        track_path=root,
        pipeline="benchmark-only",
        target_hosts=(address,),
        **options,
    )
    listener = Listener()
    record = race(request, listener)
    return Raced(record, listener.warnings)
