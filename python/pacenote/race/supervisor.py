"""A process that watches over the process that runs a track's Python code.

Python code can end its process at once: with `os._exit`, with a crash of native code, or by using up the
memory. The process that started the race therefore forks before it runs such code. The copy runs the race;
the original waits for it, and reports and cleans up if it ends too early.

    original   forks ──────────────── waits ─────────── exits like the copy, or raises ProcessEnded
    copy         └─ plug-ins, race, report, exit code ──┘

A terminal sends Ctrl-C to both processes; a signal that only the original receives is passed on, as when the
terminal is closed. If the original is killed, the copy ends its race as after SIGTERM. At the third signal,
the original kills the copy. It also watches whether the code lets the copy run at all (`heartbeat.py`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator
from pathlib import Path
from typing import NoReturn

from msgspec import Struct, field

from pacenote.errors import Interrupted, TrackError
from pacenote.model.messages import quoted
from pacenote.race.heartbeat import ENDED_AFTER_S, INTERVAL_S, Heartbeat, Silence
from pacenote.race.stop_signals import (
    EXIT_AT,
    REPORT_HINT,
    STOPPED_AT_ONCE,
    THREAD_NAME,
    handled_signals,
)
from pacenote.system.descendants import (
    become_subreaper,
    descendants,
    end_descendants,
    terminate_with_parent,
)
from pacenote.system.polling import can_read
from pacenote.system.process import ProcessIdentity
from pacenote.system.signal_descriptor import SignalDescriptor, TakenSignal

_ALL_CODE_HAS_ENDED = 0
"""Sent by the copy when it runs no more code of the track; other bytes are numbers of received signals."""

_RECEIPT_TIMEOUT_S = 0.2
"""Seconds within which the copy receives a signal that was sent to both processes."""

_KILL_TIMEOUT_S = 5.0
"""Seconds that a killed copy may take to end."""

_POLL_S = 0.01


class ProcessEnded(TrackError):
    """The process that runs a track's Python code has ended too early."""


class ProcessInterrupted(Interrupted):
    """The process that runs a track's Python code was killed because it did not react to a signal to stop."""


@contextlib.contextmanager
def supervised(track: str, file: Path, warn: Callable[[str], None]) -> Generator[None, None, None]:
    """Runs the block, and the rest of the program, in a forked copy of this process.

    In the original, it does not return: it exits when the copy does, or raises `ProcessEnded` or
    `ProcessInterrupted` if the copy ends before the block. On systems other than Linux, and in a process with
    several threads, which cannot be copied, it only warns.
    """
    if obstacle := _obstacle():
        warn(
            f"{obstacle}, so the Python code of track {quoted(track)} is not supervised: if it ends or"
            " crashes its process, nothing is reported, and `pacenote report` shows what was measured"
        )
        yield
        return
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    forwarded = frozenset(handled_signals())
    signals = SignalDescriptor(forwarded | {signal.SIGCHLD})
    heartbeat = Heartbeat()
    original, before = os.getpid(), descendants()
    # If it were ignored, as some launchers leave it, the kernel would not report the end of the copy.
    child_handler = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # A signal that arrives now waits until one of the processes handles it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, forwarded | {signal.SIGCHLD})
    with warnings.catch_warnings():
        # Python warns about the threads of the original, of which `_may_fork` has checked that they are idle.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        os.close(writer)
        _Supervisor(pid, reader, heartbeat, _Code(track, file), warn, before, forwarded, signals).run()
    os.close(reader)
    signals.close()
    signal.signal(signal.SIGCHLD, child_handler or signal.SIG_DFL)
    previous = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    if not terminate_with_parent() or os.getppid() != original:
        raise KeyboardInterrupt
    try:
        with heartbeat.beating():
            yield
    finally:
        signal.set_wakeup_fd(previous)
        with contextlib.suppress(OSError):
            os.write(writer, bytes([_ALL_CODE_HAS_ENDED]))


class _Code(Struct, frozen=True):
    """The Python code of a track."""

    track: str
    """Name of the track."""
    file: Path
    """The file of the track that Python loads first."""

    def __str__(self) -> str:
        return f"the Python code of track {quoted(self.track)} ({self.file})"


class _Supervisor(Struct):
    """The original process."""

    pid: int
    reader: int
    heartbeat: Heartbeat
    code: _Code
    warn: Callable[[str], None]
    before: tuple[ProcessIdentity, ...]
    """Processes that ran below this one before the copy; they are not the race's."""
    forwarded: frozenset[signal.Signals]
    """Signals that are passed on: those that stop a race and are not ignored."""
    signals: SignalDescriptor
    """Where these and SIGCHLD arrive."""
    code_has_ended: bool = False
    stopped_by: str = ""
    """The signal that has stopped the copy, which can continue; empty while it runs."""
    is_stop_reported: bool = False
    silence: Silence = field(default_factory=lambda: Silence(time.monotonic()))

    def run(self) -> NoReturn:
        """Passes signals on until the copy has ended, then exits or raises `ProcessEnded`."""
        self.heartbeat.watch()
        count = 0
        while (status := self._status()) is None:
            received = self.signals.take(INTERVAL_S)
            if received is None:
                self._check()
            if received is None or received.number == signal.SIGCHLD:
                continue
            count += 1
            if count == EXIT_AT:
                # The copy may hang on a disk, so this does not wait for its end.
                self._kill()
                raise Interrupted(STOPPED_AT_ONCE, hint=REPORT_HINT)
            self._pass_on(received)
        self._received(_ALL_CODE_HAS_ENDED)
        end_descendants(self.before)
        code = os.waitstatus_to_exitcode(status)
        # A signal can interrupt the copy before it reports that the code has ended.
        if self.code_has_ended or (count and code == Interrupted.exit_code):
            os._exit(code if code >= 0 else 128 - code)
        self._resume()
        if -code in self.forwarded:
            raise KeyboardInterrupt
        if code < 0:
            number = _signal_name(-code)
            raise ProcessEnded(f"{self.code} was killed by {number} with the process that runs it")
        raise ProcessEnded(f"{self.code} ended its process with exit code {code}, as `os._exit` does")

    def _pass_on(self, received: TakenSignal) -> None:
        """Makes the copy receive a signal, unless it has."""
        self.silence.signalled()
        # The kernel sends signals of the terminal to both processes. When the terminal is closed, only the
        # leader of the session gets one.
        is_for_both = received.is_from_kernel and received.number != signal.SIGHUP
        if self._received(received.number):
            return
        if not is_for_both:
            os.kill(self.pid, received.number)
        if self.stopped_by:
            os.kill(self.pid, signal.SIGCONT)
        if self.stopped_by or not is_for_both:
            # The copy reports this one as well; the report must not be taken for that of a later signal.
            self._received(received.number)

    def _check(self) -> None:
        """Reports a copy that is stopped or silent, and ends it if the silence is too long."""
        self.silence.check(self.heartbeat.count, time.monotonic(), stopped=bool(self.stopped_by))
        if self.stopped_by and not self.is_stop_reported:
            self.is_stop_reported = True
            self.warn(
                f"the race sends no requests because its process was stopped by {self.stopped_by}: "
                f"continue it with `kill -CONT {self.pid}`"
            )
        if self.silence.must_be_reported:
            self.silence.is_reported = True
            self.warn(
                f"{self._held()}: nothing else runs until it returns, and the race ends after "
                f"{ENDED_AFTER_S:g} s; press Ctrl-C to end it now"
            )
        if self.silence.is_interrupted:
            text = f"interrupted while {self._held()}"
            self._kill(wait_s=_KILL_TIMEOUT_S)
            raise ProcessInterrupted(text)
        if self.silence.is_over:
            text = f"the race cannot go on: {self._held()}"
            self._kill(wait_s=_KILL_TIMEOUT_S)
            raise ProcessEnded(text)

    def _held(self) -> str:
        """Returns what holds the interpreter, with the lines that are executed now."""
        places = self.heartbeat.places(self.pid, self.code.file.parent)
        where = f", at {places}" if places else ""
        return f"{self.code} has held Python's interpreter lock for {self.silence.silent_s:.0f} s{where}"

    def _kill(self, *, wait_s: float = 0.0) -> None:
        """Ends the copy and its processes at once. Until it has ended, its race is in use."""
        os.kill(self.pid, signal.SIGKILL)
        deadline = time.monotonic() + wait_s
        while self._status() is None and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        end_descendants(self.before)
        self._resume()

    def _resume(self) -> None:
        """Makes this process a usual one, which handles its signals itself."""
        become_subreaper(enabled=False)
        self.signals.close()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self.forwarded | {signal.SIGCHLD})

    def _status(self) -> int | None:
        """Returns how the copy has ended, or None; notes whether it is stopped."""
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            if not pid:
                return None
            if not (os.WIFSTOPPED(status) or os.WIFCONTINUED(status)):
                return status
            self.stopped_by = _signal_name(os.WSTOPSIG(status)) if os.WIFSTOPPED(status) else ""
            self.is_stop_reported = False

    def _received(self, number: int) -> bool:
        """Returns whether the copy reports this number within a short time."""
        deadline = time.monotonic() + _RECEIPT_TIMEOUT_S
        while (left_s := deadline - time.monotonic()) > 0:
            if not can_read(self.reader, left_s):
                return False
            numbers = os.read(self.reader, 4096)
            self.code_has_ended |= _ALL_CODE_HAS_ENDED in numbers
            if number in numbers or not numbers:
                return number in numbers
        return False


def _obstacle() -> str:
    """Returns why this process cannot be copied and supervise the copy; empty if it can."""
    if not (sys.platform == "linux" and become_subreaper()):
        return "this system cannot pass on orphaned processes"
    if not _may_fork():
        return "this process has several threads"
    return ""


def _may_fork() -> bool:
    """Returns whether the process has no threads that may hold a lock, which its copy would wait for."""
    idle = sum(thread.name == THREAD_NAME for thread in threading.enumerate())
    # This counts threads that Python does not know, too.
    return len(list(Path("/proc/self/task").iterdir())) == 1 + idle


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
