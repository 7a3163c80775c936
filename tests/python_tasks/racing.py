"""Helpers that race tracks with Python code against a small server that records its requests."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pacenote
from pacenote.model.race_record import RaceRecord
from pacenote.model.race_request import RaceRequest
from pacenote.model.result import TaskResult
from pacenote.race.run import race
from pacenote.store.race_folder import RaceFolder
from plugins.tracks import write_track
from support.engine import SUCCESS, engine_document
from support.http_server import HttpRequest, HttpResponse, http_server

ANSWER = SUCCESS


@dataclass(frozen=True)
class ReceivedRequest:
    """A request that the server received, with its body as text."""

    line: str
    headers: Mapping[str, str]
    body: str


@dataclass
class Server:
    """Responds like an engine, unless `answer(line, body)` returns a response, a document, text or
    (status, document).
    """

    answer: Callable[[str, str], Any] = lambda _line, _body: None
    received: list[ReceivedRequest] = field(default_factory=list)
    address: str = ""

    def lines(self, pattern: str) -> list[str]:
        """Returns the request lines that match a pattern."""
        return [request.line for request in self.received if re.search(pattern, request.line)]

    def bodies(self, line: str) -> list[str]:
        """Returns the bodies of the requests with this request line."""
        return [request.body for request in self.received if request.line == line]

    def respond(self, request: HttpRequest) -> HttpResponse:
        body = request.body.decode()
        self.received.append(ReceivedRequest(request.line, request.headers, body))
        answer = self.answer(request.line, body)
        if isinstance(answer, HttpResponse):
            return answer
        if answer is None:
            answer = engine_document(request.target)
        status, document = answer if isinstance(answer, tuple) else (200, answer)
        content = (document if isinstance(document, str) else json.dumps(document)).encode()
        headers = [("content-type", "text/plain" if isinstance(document, str) else "application/json")]
        if request.headers.get("accept-encoding") == "gzip":
            content = gzip.compress(content)
            headers.append(("content-encoding", "gzip"))
        return HttpResponse(status, content, tuple(headers))


@contextlib.contextmanager
def serving(answer: Callable[[str, str], Any] = lambda _line, _body: None) -> Iterator[Server]:
    server = Server(answer)
    with http_server(server.respond) as running:
        server.address = running.address
        yield server


class Listener:
    """Records warnings and ignores all other calls."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_: None


@dataclass(frozen=True)
class RaceOutcome:
    """The record and the warnings of a race."""

    record: RaceRecord
    warnings: list[str]

    def task(self, name: str) -> TaskResult:
        return next(task for task in self.record.tasks if task.task == name)

    def reason(self, name: str) -> str:
        """Returns the reason why a task failed; the task must have exactly one."""
        (error,) = self.task(name).errors
        return f"{error.error_class}: {error.reason}"


def start_race(
    folder: Path, files: Mapping[str, str] | str, schedule: list[Any], address: str, *options: str
) -> subprocess.Popen[str]:
    """Starts `pacenote race` as a process of its own, which races a track like `race_track`.

    The race is in the home that `race_track` uses, and has the same id. The process leads a process group.
    """
    root = write_track(
        folder, {"track.py": files} if isinstance(files, str) else files, {"schedule": schedule}
    )
    environment = os.environ | {
        "PACENOTE_HOME": str(folder / "home"),
        "RALLY_HOME": str(folder / "rally"),
        "PYTHONPATH": str(Path(pacenote.__file__).parents[1]),
    }
    arguments = (f"--track-path={root}", f"--target-hosts={address}", "--race-id=r", *options)
    return subprocess.Popen(
        [sys.executable, "-m", "pacenote", "race", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def stored_race(folder: Path) -> RaceRecord:
    """Returns the record of the race that `start_race` or `race_track` ran in a folder."""
    return RaceFolder(folder / "home" / "races" / "r").read()


def race_track(
    folder: Path,
    files: Mapping[str, str] | str,
    document: Mapping[str, Any] | list[Any],
    address: str,
    **options: Any,
) -> RaceOutcome:
    """Races a track that has these Python files (or only `track.py`) and this document (or schedule)."""
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
    return RaceOutcome(record, listener.warnings)
