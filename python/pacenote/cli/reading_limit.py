"""The limit on the processor time of commands that only read files, which others may have written."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from pacenote.cli.console import Console
from pacenote.errors import StoreError, UsageError

READERS = frozenset({"compare", "diagnose", "diff", "gc", "import", "jfr", "list", "report", "trend"})
"""Commands that only read. `export` is none: it writes as much as it reads, of the samples of a long race for
hours.
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
    limit_s = _limit_s()
    reads = command in READERS or _READING_ACTIONS.get(command) == action
    if not reads or not limit_s:
        yield
        return
    _check(limit_s, console)
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(limit_s, console, ended), name="limit", daemon=True)
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


def _watch(limit_s: float, console: Console, ended: threading.Event) -> None:
    while not ended.wait(_PERIOD_S):
        _check(limit_s, console)


def _check(limit_s: float, console: Console) -> None:
    """Ends the process if it has taken more processor time. What reads may hold the interpreter's lock or
    call a library for long, so that an exception would come too late.
    """
    if time.process_time() <= limit_s:
        return
    # It would delay all commands.
    from pacenote.units import format_seconds

    console.error_at_exit(
        f"stopped after {format_seconds(limit_s)} of processor time, which no race needs: a file may be "
        f"damaged, or made to take long; if not, set {VARIABLE} to more seconds, or to 0 for no limit"
    )
    os._exit(StoreError.exit_code)
