"""Signs of life of the process that runs a track's Python code, for the process that supervises it.

Code that does not let go of Python's interpreter lock, such as a regular expression that backtracks or a call
of native code, stops all other Python code of its process: what reports code that does not return, and the
handling of signals, too. A thread of the copy therefore counts in memory that it shares with the supervisor,
for which it needs that lock. The supervisor reports a count that stands still, and ends the copy:

    30 s     one warning, with the line of the track that is executed
    10 s     after a signal to stop: the copy cannot receive it
    600 s    the code is not expected to return
"""

from __future__ import annotations

import contextlib
import faulthandler
import mmap
import os
import re
import signal
import threading
from collections.abc import Generator
from pathlib import Path

from msgspec import Struct

from pacenote.race.stop_signals import start_without_signals
from pacenote.system.polling import can_read

INTERVAL_S = 0.5
"""Seconds between two signs of life, and between two checks."""

REPORTED_AFTER_S = 30.0
"""Seconds of silence that are reported."""

ENDED_AFTER_SIGNAL_S = 10.0
"""Seconds of silence after which the copy is ended if a signal to stop has arrived since its last sign."""

ENDED_AFTER_S = 600.0
"""Seconds of silence after which the copy is ended."""

_DUMP_SIGNAL = signal.SIGUSR2
"""Makes the copy write the stacks of its threads, without the interpreter lock."""

_DUMP_TIMEOUT_S = 0.5
_MAX_PLACES = 3
_COUNT, _ENDED = range(2)
"""Positions of bytes in the shared memory."""

_FRAME = re.compile(r'  File "(?P<file>.*)", line (?P<line>\d+) in ')


class Heartbeat:
    """The shared memory, and the pipe for stacks. Create it before the fork."""

    def __init__(self) -> None:
        # Unlike a descriptor, the track's code does not close it by mistake.
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    @contextlib.contextmanager
    def beating(self) -> Generator[None, None, None]:
        """Shows signs of life during the block, in the copy."""
        os.close(self._reader)
        faulthandler.register(_DUMP_SIGNAL, self._writer, all_threads=True)
        ended = threading.Event()
        thread = threading.Thread(target=self._beat, args=(ended,), name="pacenote-heartbeat", daemon=True)
        start_without_signals(thread)
        try:
            yield
        finally:
            self._memory[_ENDED] = 1
            ended.set()

    def watch(self) -> None:
        """Closes what only the copy needs."""
        os.close(self._writer)

    @property
    def count(self) -> int | None:
        """A number that changes while the copy shows signs of life; None when it shows none any more."""
        return None if self._memory[_ENDED] else self._memory[_COUNT]

    def places(self, pid: int, folder: Path) -> str:
        """Returns which lines of code in a folder the copy executes, such as `track.py:12`; empty if none."""
        os.kill(pid, _DUMP_SIGNAL)
        text = b""
        while can_read(self._reader, _DUMP_TIMEOUT_S):
            part = os.read(self._reader, 65536)
            if not part:
                break
            text += part
        return " or ".join(executed_lines(text.decode("utf-8", "replace"), folder)[:_MAX_PLACES])

    def _beat(self, ended: threading.Event) -> None:
        while not ended.wait(INTERVAL_S):
            self._memory[_COUNT] = (self._memory[_COUNT] + 1) % 256


def executed_lines(stacks: str, folder: Path) -> list[str]:
    """Returns the innermost line of code in a folder that each thread executes, as `track.py:12`.

    `stacks` are as `faulthandler` writes them, with the innermost frame first.
    """
    lines: dict[str, None] = {}
    for stack in stacks.split("\n\n"):
        for match in _FRAME.finditer(stack):
            if Path(match["file"]).is_relative_to(folder):
                lines[f"{Path(match['file']).relative_to(folder)}:{match['line']}"] = None
                break
    return list(lines)


class Silence(Struct):
    """How long the copy has shown no sign of life."""

    checked_s: float
    """When that was last checked, in seconds of a monotonic clock."""

    silent_s: float = 0.0
    """Seconds without a sign during which it could have shown one."""

    is_reported: bool = False
    """Whether a silence of the race has been reported."""

    _signalled: bool = False
    _count: int | None = 0

    def check(self, count: int | None, now_s: float, *, stopped: bool) -> None:
        """Updates the silence. Time in which the process is stopped, or in which this was not called because
        the whole system was, does not count.
        """
        passed_s = min(now_s - self.checked_s, 2 * INTERVAL_S)
        self.checked_s = now_s
        if count is None or count != self._count:
            self.silent_s, self._signalled, self._count = 0.0, False, count
        elif not stopped:
            self.silent_s += passed_s

    def signalled(self) -> None:
        """Notes that a signal to stop has arrived."""
        self._signalled = True

    @property
    def must_be_reported(self) -> bool:
        """Whether a warning is due."""
        return self.silent_s >= REPORTED_AFTER_S and not self.is_reported

    @property
    def is_interrupted(self) -> bool:
        """Whether the copy cannot receive a signal."""
        return self._signalled and self.silent_s >= ENDED_AFTER_SIGNAL_S

    @property
    def is_over(self) -> bool:
        """Whether the copy is not expected to show signs of life again."""
        return self.silent_s >= ENDED_AFTER_S
