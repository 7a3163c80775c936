"""Output of plug-ins, which a race shows on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

PLAIN = True
QUIET = False
RALLY_RUNNING_IN_DOCKER = False
ASSUME_TTY = True


class PlainFormat:
    """Formats of text, none of which changes it."""

    @staticmethod
    def bold(message: str) -> str:
        """Returns the text."""
        return message

    link = red = green = yellow = neutral = bold

    @staticmethod
    def underline_for(message: str, underline_symbol: str = "*") -> str:
        """Returns a line as long as the text."""
        return underline_symbol * len(message)


format = PlainFormat  # noqa: A001  # Rally's name.


def init(quiet: bool = False, assume_tty: bool = True) -> None:
    """Does nothing."""


def set_assume_tty(assume_tty: bool) -> None:
    """Does nothing."""


def println(msg: object, console_prefix: str | None = None, end: str = "\n", **options: Any) -> None:
    """Shows a text, and passes it to the function `logger` of the options."""
    text = f"{console_prefix} {msg}" if console_prefix else str(msg)
    lines = [PlainFormat.underline_for(text, options["overline"])] if options.get("overline") else []
    lines.append(text)
    if options.get("underline"):
        lines.append(PlainFormat.underline_for(text, options["underline"]))
    sys.stdout.write("\n".join(lines) + end)
    sys.stdout.flush()
    if options.get("logger"):
        options["logger"](msg)


def _levelled(prefix: str, level: str) -> Callable[..., None]:
    def show(msg: object, end: str = "\n", **options: Any) -> None:
        logger = options.pop("logger", None)
        println(msg, prefix, end, logger=getattr(logger, level) if logger else None, **options)

    return show


info = _levelled("[INFO]", "info")
"""Shows a text as information; the option `logger` also receives it."""

warn = _levelled("[WARNING]", "warning")
"""Shows a text as a warning; the option `logger` also receives it."""

error = _levelled("[ERROR]", "error")
"""Shows a text as an error; the option `logger` also receives it."""


class CmdLineProgressReporter:
    """Progress of a plug-in, which is not shown: it would disturb that of the race."""

    def __init__(self, width: int, plain_output: bool = False, printer: Any = None) -> None:
        self.width = width
        self.plain_output = plain_output
        self.printer = printer

    def print(self, message: str, progress: str) -> None:
        """Does nothing."""

    def finish(self) -> None:
        """Does nothing."""


def progress(width: int = 90) -> CmdLineProgressReporter:
    """Returns a reporter of progress."""
    return CmdLineProgressReporter(width)
