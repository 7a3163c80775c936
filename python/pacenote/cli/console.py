"""The only place that prints.

Results go to standard output, everything about the way there (progress, warnings, errors) to standard error,
so that `pacenote report latest --report-format=json | jq` works. Output that cannot be written never ends a
race: what is left to print is dropped. For a reader that goes away (`| head`) that is all; results that are
lost in any other way, such as on a full disk, show in the exit code.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from typing import TYPE_CHECKING, TextIO, cast

from pacenote.errors import PacenoteError
from pacenote.model.printable import printable

if TYPE_CHECKING:
    from rich.console import Console as RichConsole


_STDERR = 2
"""The last of the standard descriptors."""


class Console:
    """Standard output and standard error. `quiet` drops progress, nothing else."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        _occupy_closed_descriptors()
        self._out = _Output(out or sys.stdout)
        self._err = _Output(err or sys.stderr)
        self.quiet = False

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
        self._out.write(text)

    def progress(self, line: str) -> None:
        """Prints a line about how it goes, unless quiet."""
        if not self.quiet:
            self._err.write(f"{printable(line)}\n")

    def warning(self, text: str) -> None:
        """Prints something the user should know, in one line."""
        self._err.write(f"warning: {printable(text)}\n")

    def error(self, error: PacenoteError) -> None:
        """Prints what is wrong and what to do about it."""
        lines = [f"error: {printable(error.message) or type(error).__name__}"]
        # A track is checked as a whole; its problems are told at once.
        # A message about a single problem tells it.
        problems = [problem for problem in getattr(error, "problems", ()) if problem not in error.message]
        for problem in problems:
            # An excerpt of a file has several lines.
            first, *more = map(printable, problem.split("\n"))
            lines += [f"  - {first}", *more]
        lines += [f"hint: {printable(error.hint)}"] if error.hint else []
        self._err.write("\n".join(lines) + "\n")

    def trace(self, error: BaseException) -> None:
        """Prints the stack trace (`--debug`)."""
        self._err.write("".join(traceback.format_exception(error)))

    def rich_results(self) -> RichConsole:
        """rich on standard output."""
        from rich.console import Console as RichConsole

        return RichConsole(file=cast(TextIO, self._out), highlight=False, soft_wrap=False)

    def rich_progress(self) -> RichConsole:
        """rich on standard error."""
        from rich.console import Console as RichConsole

        return RichConsole(file=cast(TextIO, self._err), highlight=False)

    def close(self) -> bool:
        """Writes what is buffered; called once, at the very end. Says whether all results could be written;
        if not, it has printed so.
        """
        self._out.flush()
        if self._out.failure:
            self.error(PacenoteError(f"results cannot be written to standard output: {self._out.failure}"))
        self._err.flush()
        return not self._out.failure


class _Output(io.TextIOBase):
    """A stream to which writing never fails: from the first failure on everything is dropped.

    `failure` says why something was lost, "" if nothing was or if the reader went away. Without a stream
    (`>&-`) all is lost.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.failure = ""
        # A terminal that cannot show a character shows a question mark; it does not end a race.
        if reconfigure := getattr(stream, "reconfigure", None):
            with contextlib.suppress(OSError, ValueError):
                reconfigure(errors="replace")

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a plain attribute there
        """That of the stream."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        """Whether a person reads it."""
        with contextlib.suppress(OSError, ValueError):
            return self._stream is not None and self._stream.isatty()
        return False

    def fileno(self) -> int:
        """The descriptor of the stream. Raises OSError when there is none."""
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    def write(self, text: str, /) -> int:
        """Writes at once, or drops the text."""
        if self._stream is not None:
            self._try(self._stream, text)
        elif text and not self.failure:
            self.failure = "it is closed"
        return len(text)

    def flush(self) -> None:
        """Writes what is buffered."""
        if self._stream is not None:
            self._try(self._stream, "")

    def _try(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:
            self._discard(stream)
        except (OSError, ValueError) as error:  # ValueError: closed by somebody in this process
            lost = error.strerror if isinstance(error, OSError) else None
            self.failure = self.failure or lost or str(error) or type(error).__name__
            self._discard(stream)

    def _discard(self, stream: TextIO) -> None:
        """Sends all further output to nowhere, so that neither we nor the interpreter at its end fail on it
        again.
        """
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        except (OSError, ValueError):
            # It has no descriptor of its own, or none can be had.
            self._stream = None


def _occupy_closed_descriptors() -> None:
    """Opens descriptors that we were started without on nowhere: else the next files that are opened would
    get them, and whatever prints to standard output would write into a race.
    """
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    with contextlib.suppress(OSError):
        while (opened := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
            pass
        os.close(opened)
