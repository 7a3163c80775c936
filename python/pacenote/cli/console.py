"""The only place that prints.

Results go to standard output, everything about the way there (progress, warnings, errors) to standard error,
so that `pacenote report latest --report-format=json | jq` works. A reader that goes away (`| head`) is no
error: what is left to print is dropped, and a race goes on.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from typing import TYPE_CHECKING, TextIO

from pacenote.errors import PacenoteError

if TYPE_CHECKING:
    from rich.console import Console as RichConsole


class Console:
    """Standard output and standard error. `quiet` drops progress, nothing else."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self.quiet = False
        for stream in (self._out, self._err):
            # A terminal that cannot show a character shows a question mark; it does not end a race.
            if reconfigure := getattr(stream, "reconfigure", None):
                reconfigure(errors="replace")

    @property
    def shows_results_on_terminal(self) -> bool:
        """Whether results are read by a person at a terminal."""
        return self._out.isatty()

    @property
    def shows_progress_on_terminal(self) -> bool:
        """Whether progress can be redrawn in place."""
        return self._err.isatty() and os.environ.get("TERM") != "dumb"

    def result(self, text: str) -> None:
        """Prints a result; it ends in a newline if it is to."""
        _write(self._out, text)

    def progress(self, line: str) -> None:
        """Prints a line about how it goes, unless quiet."""
        if not self.quiet:
            _write(self._err, f"{line}\n")

    def warning(self, text: str) -> None:
        """Prints something the user should know, in one line."""
        _write(self._err, f"warning: {text}\n")

    def error(self, error: PacenoteError) -> None:
        """Prints what is wrong and what to do about it."""
        lines = [f"error: {error.message or type(error).__name__}"]
        # A track is checked as a whole; its problems are told at once.
        # A message about a single problem tells it.
        problems = [problem for problem in getattr(error, "problems", ()) if problem not in error.message]
        lines += [f"  - {problem}" for problem in problems]
        lines += [f"hint: {error.hint}"] if error.hint else []
        _write(self._err, "\n".join(lines) + "\n")

    def trace(self, error: BaseException) -> None:
        """Prints the stack trace (`--debug`)."""
        _write(self._err, "".join(traceback.format_exception(error)))

    def rich_results(self) -> RichConsole:
        """rich on standard output."""
        from rich.console import Console as RichConsole

        return RichConsole(file=self._out, highlight=False, soft_wrap=False)

    def rich_progress(self) -> RichConsole:
        """rich on standard error."""
        from rich.console import Console as RichConsole

        return RichConsole(file=self._err, highlight=False)

    def close(self) -> None:
        """Writes what is buffered; called once, at the very end."""
        for stream in (self._out, self._err):
            _write(stream, "")


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        _discard(stream)


def _discard(stream: TextIO) -> None:
    """Sends all further output to nowhere, so that neither we nor the interpreter at its end fail on it
    again.
    """
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
