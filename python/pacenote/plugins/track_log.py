"""What the code of a track logs: a file in the race folder, and warnings for the user."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import time
from collections.abc import Callable, Collection, Generator
from pathlib import Path
from typing import IO

from pacenote.model.output_text import log_text
from pacenote.model.printable import printable
from pacenote.model.secrets import redact, redact_urls
from pacenote.units import format_count

FILE_NAME = "track.log"
"""Name of the file, below `artifacts` in the race folder."""

MAX_BYTES = 10 << 20
"""Size of the file above which records are left out."""

MAX_WARNINGS = 10
"""Number of records that are also warnings."""

_MAX_RECORD_CHARS = 1 << 16
_MAX_WARNING_CHARS = 500
_PRIVATE = 0o600

_CLIENT_LOGGERS = ("elastic_transport",)
"""Loggers of the client, which repeat what the race records of each request."""


class TrackLog(logging.Handler):
    """Writes log records to a file, and records of level WARNING and above to `warn` as well.

    Until `write_to` names the file, they are in a temporary one, which also has those of forked processes.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        super().__init__()
        self._warn = warn
        self._pid = os.getpid()
        self._secrets: Collection[str] = ()
        self._path: Path | None = None
        self._file: IO[bytes] | None = None
        self._bytes = 0
        self._left_out = 0
        self._warnings = 0
        formatter = logging.Formatter("%(asctime)s PID:%(process)d %(name)s %(levelname)s %(message)s")
        formatter.converter = time.gmtime
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a record, unless the file is full."""
        if record.name.partition(".")[0] in _CLIENT_LOGGERS:
            return
        try:
            text, message = self.format(record), record.getMessage()
        except Exception:  # The arguments do not fit the message, or an object of the track has no text.
            message = repr(record.msg) if isinstance(record.msg, str) else f"a {type(record.msg).__name__}"
            text = f"{record.name} {record.levelname} {message}"
        # A secret that was cut off would not be found.
        self._write(self._public(text)[:_MAX_RECORD_CHARS])
        if record.levelno >= logging.WARNING:
            self._show(record, message)

    def write_to(self, path: Path, secrets: Collection[str]) -> None:
        """Moves the records to a file without these secrets, and writes those that follow there."""
        with self.lock or contextlib.nullcontext():
            early, self._file = self._file, None
            self._path, self._secrets, self._bytes = path, secrets, 0
            if early is None:
                return
            with early:
                early.seek(0)
                text = early.read(MAX_BYTES).decode(errors="replace")
            # Hidden secrets may make the text longer than the file can be.
            for line in self._public(text).removesuffix("\n").split("\n"):
                self._write(line)

    def close(self) -> None:
        """Ends the file; states how many records it lacks."""
        super().close()
        if self._file is not None:
            with contextlib.suppress(OSError), self._file as file:
                if self._left_out:
                    left_out = format_count(self._left_out, "record")
                    file.write(f"{left_out} left out: the file is full\n".encode())
        self._file = None

    def _public(self, text: str) -> str:
        """Returns a text without secrets, and without user names and passwords of URLs."""
        return redact_urls(redact(text, self._secrets))

    def _write(self, text: str) -> None:
        line = f"{text}\n".encode(errors="replace")
        if self._bytes + len(line) > MAX_BYTES:
            self._left_out += 1
            return
        self._bytes += len(line)
        try:
            if self._file is None:
                self._file = self._open()
            self._file.write(line)
        except OSError as error:
            if not self._left_out:
                self._tell(f"what the track's code logs is not stored: {error.strerror}")
            self._left_out += 1

    def _open(self) -> IO[bytes]:
        if self._path is None:
            return tempfile.TemporaryFile("a+b", buffering=0)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.fdopen(os.open(self._path, flags, _PRIVATE), "ab", buffering=0)

    def _show(self, record: logging.LogRecord, message: str) -> None:
        self._warnings += 1
        if self._warnings > MAX_WARNINGS:
            return
        line = next(iter(self._public(message).splitlines()), "")[:_MAX_WARNING_CHARS]
        text = f"the track's code logged {record.levelname}: {record.name}: {line}"
        if self._warnings == MAX_WARNINGS:
            text += f" (the last one shown here; {FILE_NAME} in the race folder has all)"
        self._tell(text)

    def _tell(self, text: str) -> None:
        # A copy of the process has no progress display; the code must not notice if the output is closed.
        with contextlib.suppress(OSError, ValueError):
            if os.getpid() == self._pid:
                self._warn(text)
            else:
                os.write(2, log_text(f"warning: {printable(text)}\n").encode(errors="replace"))


@contextlib.contextmanager
def track_log(warn: Callable[[str], None]) -> Generator[TrackLog, None, None]:
    """Handles the log records of all loggers in the block, from level INFO as in Rally."""
    log, root = TrackLog(warn), logging.getLogger()
    levels = [
        (root, root.level),
        *((logger, logger.level) for logger in map(logging.getLogger, _CLIENT_LOGGERS)),
    ]
    root.addHandler(log)
    root.setLevel(logging.INFO)
    for logger, _ in levels[1:]:
        logger.setLevel(logging.WARNING)
    try:
        yield log
    finally:
        root.removeHandler(log)
        for logger, level in levels:
            logger.setLevel(level)
        log.close()
