"""The limit on the processor time of commands that only read files, which others may have written."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

from pacenote.cli.console import Console
from pacenote.errors import StoreError, UsageError

READERS = frozenset({"compare", "diagnose", "diff", "gc", "jfr", "list", "report", "trend"})
"""Commands that only read. `export` and `import` are none: they write as much as they read, of the samples of
a long race or of thousands of races for hours. Each file that is imported has a limit of its own.
"""

_READING_ACTIONS = {"experiment": "report", "tune": "report"}
"""Commands of which one action only reads."""

VARIABLE = "PACENOTE_READING_LIMIT"
"""The environment variable with another limit in seconds; 0 for none."""

DEFAULT_S = 600.0
"""The limit in seconds of processor time, of all threads together."""

_PERIOD_S = 1.0


@contextmanager
def reading_limit(command: str, action: str, console: Console) -> Generator[None]:
    """Ends the process, with one line, if a command that only reads takes too much processor time. Raises
    UsageError for a limit that is not a number.
    """
    reads = command in READERS or _READING_ACTIONS.get(command) == action
    with _limited(_Limit(console, _limit_s() if reads else 0.0)):
        yield


@contextmanager
def file_limit(console: Console) -> Generator[None]:
    """Ends the process, with one line, if one of many files takes too much processor time. Raises UsageError
    for a limit that is not a number.
    """
    with _limited(_Limit(console, _limit_s(), time.process_time())):
        yield


class _Limit(NamedTuple):
    """How long the process may compute. A dataclass would delay `--help`."""

    console: Console
    """Shows why the process ends."""

    limit_s: float
    """The processor time that it may take; 0 for no limit."""

    began_s: float = 0.0
    """Its processor time when the limited part began."""

    def check(self) -> None:
        """Ends the process if it has taken more processor time. What reads may hold the interpreter's lock or
        call a library for long, so that an exception would come too late.
        """
        if time.process_time() - self.began_s <= self.limit_s:
            return
        # It would delay all commands.
        from pacenote.units import format_seconds

        self.console.error_at_exit(
            f"stopped after {format_seconds(self.limit_s)} of processor time: a file may be damaged, or made "
            f"to take long; if there is so much to read, set {VARIABLE} to more seconds, or to 0 for no limit"
        )
        os._exit(StoreError.exit_code)


@contextmanager
def _limited(limit: _Limit) -> Generator[None]:
    if not limit.limit_s:
        yield
        return
    limit.check()
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(limit, ended), name="limit", daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()


def _limit_s() -> float:
    text = os.environ.get(VARIABLE, "")
    try:
        limit_s = float(text) if text else DEFAULT_S
    except ValueError:
        limit_s = -1.0
    if not limit_s >= 0:
        raise UsageError(f"{VARIABLE} must be a number of seconds, not '{text[:40]}'", hint="0 for no limit")
    return limit_s


def _watch(limit: _Limit, ended: threading.Event) -> None:
    while not ended.wait(min(_PERIOD_S, limit.limit_s / 4)):
        limit.check()
