"""What libraries log, and what they warn of: lines of Pacenote, because the texts may come from servers."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from typing import Any

from pacenote.cli.console import Console
from pacenote.model.output_text import log_text
from pacenote.model.printable import single_line


class _ForeignLog(logging.Handler):
    """Shows records of level WARNING and above for which no other handler exists."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.WARNING)
        self._console = console
        self._pid = os.getpid()

    def emit(self, record: logging.LogRecord) -> None:
        """Shows a record in one line."""
        try:
            message = record.getMessage()
        except Exception:  # The arguments do not fit the message.
            message = str(record.msg)
        if record.exc_info and record.exc_info[1] is not None:
            message += f": {type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
        self.show(f"{record.name}: {message}")

    def show(self, text: str) -> None:
        """Shows a text in one line, without control characters and secrets."""
        line = single_line(self._console.redacted(text))
        # A message may wait for the reader of the console, and a forked process ends without writing it.
        if os.getpid() == self._pid:
            self._console.warning(line)
        else:
            with contextlib.suppress(OSError):
                os.write(2, log_text(f"warning: {line}\n").encode(errors="replace"))


@contextlib.contextmanager
def foreign_messages(console: Console) -> Iterator[None]:
    """Shows in the block what Python's own functions would print as it is: records of `logging`, and
    `warnings`.
    """
    log = _ForeignLog(console)

    def show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        log.show(f"{category.__name__}: {message}")

    before, logging.lastResort = logging.lastResort, log
    shown_before, warnings.showwarning = warnings.showwarning, show_warning
    try:
        yield
    finally:
        logging.lastResort, warnings.showwarning = before, shown_before
