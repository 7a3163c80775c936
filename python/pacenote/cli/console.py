"""The only module that prints.

Results go to standard output; progress, warnings and errors go to standard error, so that
`pacenote report latest --report-format=json | jq` works. Output that cannot be written does not end a race:
the rest of it is dropped. If the reader of a pipe has closed it (`| head`), nothing else happens; results
that are lost for another reason, such as a full disk, change the exit code. A reader of standard error that
stalls (Ctrl-S) does not delay a race: messages wait for it, the latest of them until the end of the program.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TextIO, cast

from pacenote.cli.output import plain_characters
from pacenote.errors import PacenoteError
from pacenote.model.output_text import log_text, terminal_text
from pacenote.model.printable import printable
from pacenote.system.polling import can_write

if TYPE_CHECKING:
    from rich.console import Console as RichConsole


_MAX_WAITING_CHARS = 1 << 16
"""Characters of messages that wait for a reader of standard error; the oldest are dropped."""

_TERMINAL_CHARS, _ASCII_TERMINAL_CHARS, _PIPE_CHARS = 40, 120, 1000
"""Characters that are written at once: a terminal that accepts text has room for 256 bytes, a pipe for 4096.
"""

_MAX_LINE_CHARS = 8192
"""Characters of a line of a message."""

_MAX_SEARCHED_CHARS = 64 << 10
"""Characters of a message that are searched for secrets, which visits each several times. The rest of the
message is not shown.
"""

_COMMAND = re.compile(r"(?<=`)[^`]*\bpacenote'? [^`]*(?=`)|(?<=: )(?:\S+ -m |[^\s:`]*/)?pacenote'? .*")
"""A command of Pacenote in a message: in backquotes, or after a colon."""

_USUAL_SIZE = (80, 24)
"""Columns and rows of a terminal that does not state its size."""

_STDERR = 2
"""The highest standard file descriptor."""


class Console:
    """Standard output and standard error. `quiet` suppresses progress only.

    Standard error never shows user names, passwords and secret parameters of URLs, values of secret names,
    and secrets that `hide` knows. Nor do results of `result_without_secrets` and `result_lines`.
    """

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        _reopen_closed_descriptors()
        self._out = _SafeStream(out or sys.stdout)
        self._err = _MessageStream(err or sys.stderr, self.redacted)
        self._secrets: frozenset[str] = frozenset()
        self._step = ""
        self.quiet = False

    def keep_results_apart(self) -> None:
        """Gives results a descriptor of their own. What a track's Python code, or a process that it starts,
        writes to standard output goes to standard error from now on.
        """
        if sys.stdout is None or sys.stderr is None:
            return
        try:
            sys.stdout.flush()
            own = os.dup(sys.stdout.fileno())
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        except (OSError, ValueError):
            return
        self._out = _SafeStream(os.fdopen(own, "w", encoding=sys.stdout.encoding))
        sys.stdout = sys.stderr

    def hide(self, secrets: frozenset[str]) -> None:
        """Hides these secrets from now on."""
        self._secrets |= secrets

    def redacted(self, text: str) -> str:
        """Returns the text without secrets."""
        # Not imported at the start: many commands print only results.
        from pacenote.model.secrets import redact, redact_urls

        return redact_urls(redact(text, self._secrets))

    def redacted_value(self, value: object) -> object:
        """Returns a JSON value without secrets in its texts; in its encoded form, a secret could not be told
        from what is around it.
        """
        from pacenote.model.secrets import redact_value

        return redact_value(value, self._secrets)

    @property
    def shows_results_on_terminal(self) -> bool:
        """Whether results go to a terminal."""
        return self._out.isatty()

    @property
    def shows_progress_on_terminal(self) -> bool:
        """Whether progress goes to a terminal that can redraw lines."""
        return self._err.isatty() and os.environ.get("TERM") != "dumb"

    @property
    def progress_size(self) -> tuple[int, int]:
        """The columns and rows of the terminal that progress goes to; 80 and 24 if it does not state them."""
        with contextlib.suppress(OSError, ValueError):
            columns, rows = os.get_terminal_size(self._err.fileno())
            if columns and rows:
                return columns, rows
        return _USUAL_SIZE

    def result(self, text: str) -> None:
        """Prints a result without adding a newline, and without characters that a terminal obeys."""
        self._out.write(terminal_text(text))

    def result_without_secrets(self, text: str) -> None:
        """Prints a sentence without secrets; `redacted_value` is for what is encoded."""
        self.result(self.redacted(text))

    @property
    def result_width(self) -> int | None:
        """The columns of the terminal that results go to, or None if they go elsewhere."""
        return self._out.width()

    def result_lines(self, text: str) -> None:
        """Prints a result without secrets. On a terminal, lines that are too long break between words."""
        width = self.result_width
        self.result("".join(_wrapped(line, width) for line in self.redacted(text).splitlines()))

    def progress(self, line: str) -> None:
        """Prints a line of progress, unless quiet."""
        if not self.quiet:
            self._err.write(self._wrapped(line))

    def write_message(self, text: str) -> None:
        """Writes text to standard error as it is, apart from secrets."""
        self._err.write(text)

    def redraw(self, text: str) -> bool:
        """Writes text that redraws a live display to standard error, and returns whether it was written: it
        is dropped while earlier text waits for a reader that stalls.
        """
        return self._err.write_now(text)

    def step(self, line: str) -> None:
        """Prints a line of progress when a step begins; during the step, the same line has no effect."""
        if line != self._step:
            self._step = line
            self.progress(line)

    def warning(self, text: str) -> None:
        """Prints a warning in one line."""
        # Not imported at the start: few commands warn.
        from pacenote.cli.program import as_started

        self._err.write(self._wrapped(f"warning: {as_started(_searched(text))}"))

    def error(self, error: PacenoteError) -> None:
        """Prints an error: what is wrong, all problems if there are several, and the hint."""
        text = self._wrapped(f"error: {error.message or type(error).__name__}")
        # All problems of a track are shown together; the message of an error with one problem contains it.
        problems = [problem for problem in getattr(error, "problems", ()) if problem not in error.message]
        for problem in problems:
            # A problem may contain an excerpt of a file, which has several lines.
            first, *more = _searched(problem).split("\n")
            text += self._wrapped(f"  - {first}") + "".join(f"{printable(line)}\n" for line in more)
        if error.hint:
            # Not imported at the start: only errors need it.
            from pacenote.cli.program import as_started

            text += self._wrapped(f"hint: {as_started(_searched(error.hint))}")
        self._err.write(text)

    def _wrapped(self, line: str) -> str:
        # Secrets are hidden first, because no secret is found that a line break separates.
        shown = self.redacted(printable(_searched(line)))
        return _wrapped(_without_middle(shown, _MAX_LINE_CHARS), self._err.width())

    def error_at_exit(self, text: str) -> None:
        """Prints an error just before the process ends, and shows a cursor that a live display has hidden.

        Nothing is printed if standard error accepts no text without waiting.
        """
        shown = "\x1b[?25h\n" if self.shows_progress_on_terminal else ""
        with contextlib.suppress(OSError, ValueError):
            if can_write(_STDERR):
                line = log_text(f"error: {self.redacted(printable(_searched(text)))}\n")
                os.write(_STDERR, f"{shown}{line}".encode())

    def trace(self, error: BaseException) -> None:
        """Prints the stack trace (`--debug`)."""
        self._err.write(terminal_text(_searched("".join(traceback.format_exception(error)))))

    def rich_results(self) -> RichConsole:
        """Returns a rich console that writes to standard output."""
        return _rich_console(self._out)

    def rich_progress(self) -> RichConsole:
        """Returns a rich console that writes to standard error."""
        return _rich_console(self._err)

    def close(self) -> bool:
        """Flushes both streams, at the end of the program, and returns whether all results were written.

        If they were not, an error is printed.
        """
        self._out.flush()
        if self._out.failure:
            self.error(PacenoteError(f"results cannot be written to standard output: {self._out.failure}"))
        self._err.finish()
        return not self._out.failure


def _rich_console(stream: _SafeStream) -> RichConsole:
    """Returns a rich console whose texts, unlike its own commands, are without characters that a terminal
    obeys.
    """
    # Only a few commands need it, and it takes long to import.
    from rich.console import Console as RichConsole
    from rich.segment import Segment

    class CleanConsole(RichConsole):
        def render(self, *arguments: Any, **options: Any) -> Iterator[Segment]:
            for text, style, control in super().render(*arguments, **options):
                yield Segment(text if control else terminal_text(text), style, control)

    return CleanConsole(file=cast(TextIO, stream), highlight=False)


class _SafeStream(io.TextIOBase):
    """A stream whose writes never fail: after the first failure, all output is dropped.

    `failure` is the reason why output was lost. It is empty if none was lost, or if the reader has closed the
    pipe. Without a stream (`>&-`) all output is lost.
    """

    def __init__(self, stream: TextIO | None, clean: Callable[[str], str] = lambda text: text) -> None:
        """`clean` is applied to everything that is written."""
        self._stream = stream = _buffered(stream)
        self._clean = clean
        self.failure = ""
        plain_characters.register()
        if reconfigure := getattr(stream, "reconfigure", None):
            with contextlib.suppress(OSError, ValueError):
                reconfigure(errors=plain_characters.ERRORS)

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a plain attribute there
        """The encoding of the stream."""
        return getattr(self._stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        """Returns whether the stream is a terminal."""
        with contextlib.suppress(OSError, ValueError):
            return self._stream is not None and self._stream.isatty()
        return False

    def width(self) -> int | None:
        """Returns the columns of the terminal, or None if there is no terminal that states them."""
        if not self.isatty():
            return None
        with contextlib.suppress(OSError, ValueError):
            return os.get_terminal_size(self.fileno()).columns or None
        return None

    def fileno(self) -> int:
        """Returns the file descriptor of the stream. Raises OSError if there is none."""
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    def write(self, text: str, /) -> int:
        """Writes and flushes the text, or drops it."""
        if self._stream is not None:
            # What stands for characters that the stream does not have may be obeyed, too.
            plain = plain_characters.plain_text(self._clean(text), self.encoding)
            self._try(self._stream, log_text(plain))
        elif text and not self.failure:
            self.failure = "it is closed"
        return len(text)

    def flush(self) -> None:
        """Writes buffered text."""
        if self._stream is not None:
            self._try(self._stream, "")

    def _try(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:
            self._discard(stream)
        except KeyboardInterrupt:
            # If the reader does not read, the interpreter would wait for it again at its exit.
            if not _accepts_text(stream):
                self._discard(stream)
            raise
        except (OSError, ValueError) as error:  # ValueError: the stream was closed
            lost = error.strerror if isinstance(error, OSError) else None
            self.failure = self.failure or lost or str(error) or type(error).__name__
            self._discard(stream)

    def _discard(self, stream: TextIO) -> None:
        """Redirects the stream to the null device, so that neither Pacenote nor the interpreter at its exit
        fails on it again.
        """
        try:
            descriptor = stream.fileno()
            null = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(null, descriptor)
            finally:
                os.close(null)
        except (OSError, ValueError):
            # The stream has no descriptor, or no descriptor is available.
            self._stream = None


class _MessageStream(_SafeStream):
    """A safe stream that does not wait for its reader. Text that it does not accept is written with a later
    one, or at the end. Several threads may write, as the code of a track that logs warnings.
    """

    def __init__(self, stream: TextIO | None, clean: Callable[[str], str]) -> None:
        """`clean` is applied to everything that is written."""
        super().__init__(stream, clean)
        # A signal handler may write while its thread does.
        self._lock = threading.RLock()
        self._waiting = deque[str]()
        self._chars = 0
        self._step = _TERMINAL_CHARS if self.isatty() else _PIPE_CHARS

    def write(self, text: str, /) -> int:
        """Writes the text if the reader accepts it; otherwise the text waits."""
        if self._stream is None:
            return super().write(text)
        cleaned = log_text(self._clean(text))
        with self._lock:
            self._waiting.append(cleaned)
            self._chars += len(cleaned)
            while len(self._waiting) > 1 and self._chars > _MAX_WAITING_CHARS:
                self._chars -= len(self._waiting.popleft())
            self.flush()
        return len(text)

    def write_now(self, text: str) -> bool:
        """Writes the text if nothing waits and the reader accepts it, and returns whether it was written. Of
        a text that the reader begins to accept, nothing is lost.
        """
        with self._lock:
            self.flush()
            is_accepted = not self._waiting and self._stream is not None and _accepts_text(self._stream)
            if is_accepted:
                self.write(text)
        return is_accepted

    def flush(self) -> None:
        """Writes what waits, as far as the reader accepts it."""
        with self._lock:
            while self._waiting and self._stream is not None and _accepts_text(self._stream):
                self._write_next(self._stream)

    def finish(self) -> None:
        """Writes all that waits, and waits for the reader."""
        with self._lock:
            while self._waiting and self._stream is not None:
                self._write_next(self._stream)
            super().flush()

    def _write_next(self, stream: TextIO) -> None:
        text = self._waiting.popleft()
        step = self._step
        if step == _TERMINAL_CHARS and text[:_ASCII_TERMINAL_CHARS].isascii():
            step = _ASCII_TERMINAL_CHARS
        if rest := text[step:]:
            self._waiting.appendleft(rest)
        self._chars -= len(text) - len(rest)
        self._try(stream, text[:step])


def _searched(text: str) -> str:
    """Returns the part of a message that is searched for secrets and may be shown. What follows it may begin
    within a secret, of which only the end would be left.
    """
    return text if len(text) <= _MAX_SEARCHED_CHARS else f"{text[:_MAX_SEARCHED_CHARS]}…"


def _without_middle(line: str, length: int) -> str:
    """Returns a line with more characters without its middle, which repeats what a user, a file or a server
    has.
    """
    if len(line) <= length:
        return line
    half = length // 2
    return f"{line[:half]}…{line[-half:]}"


def _wrapped(line: str, width: int | None) -> str:
    """Returns a line with its newline; one that is longer than `width` breaks between words, but not within a
    command, and the rest is indented by two more columns.
    """
    if width is None or len(line) <= width:
        return f"{line}\n"
    # Not imported at the start: only a terminal needs it.
    import textwrap

    indent = " " * (len(line) - len(line.lstrip()) + 2)
    # A shell would take each line of a command that is copied for a command of its own.
    whole = _COMMAND.sub(lambda command: command[0].replace(" ", "\0"), line)
    parts = textwrap.wrap(
        whole, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return "".join(f"{part}\n" for part in parts).replace("\0", " ")


def _buffered(stream: TextIO | None) -> TextIO | None:
    """Returns a stream to the same file that writes all of a text, or fails. Without a buffer
    (`PYTHONUNBUFFERED`), Python drops what the system does not take at once: beyond 2 GiB, or when a disk
    becomes full or a signal comes meanwhile.
    """
    if stream is None or not isinstance(getattr(stream, "buffer", None), io.RawIOBase):
        return stream
    try:
        return os.fdopen(stream.fileno(), "w", encoding=stream.encoding, errors=stream.errors, closefd=False)
    except (OSError, ValueError):
        return stream


def _accepts_text(stream: TextIO) -> bool:
    """Returns whether a short text can be written without waiting, as to a stream without a descriptor."""
    with contextlib.suppress(OSError, ValueError):
        return can_write(stream.fileno())
    return True


def _reopen_closed_descriptors() -> None:
    """Opens the null device for standard descriptors that were closed at the start. Otherwise the next files
    would get their numbers, and output would be written into those files.
    """
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    with contextlib.suppress(OSError):
        while (opened := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
            pass
        os.close(opened)
