"""The signals that stop a race: SIGINT (Ctrl-C), SIGTERM, and SIGHUP (a closed terminal).

    first    while the driver runs: no new requests; those in flight have two seconds (`StopRequests`)
             before and after: KeyboardInterrupt, so the race cleans up and keeps its results (`interrupting`)
             while the report is printed: KeyboardInterrupt; the results are stored
             after that: no effect (`block_signals`)
    second   while the driver runs: requests in flight are dropped
             before and after: KeyboardInterrupt again, which ends a wait of the cleanup
    third    the process exits at once, whatever it waits for; what is not written is lost (`exit_at_third`)

The third signal is the third of the whole race. A step that must not be interrupted runs with `postponed`.
A SIGHUP that is ignored when the race begins, as under `nohup`, stays ignored.

If a copy of the process runs the race (`supervisor.py`), the copy handles the first two signals, and the
original passes them on and ends both at the third.

If the main thread, which handles signals, hangs on a disk while the driver runs, a thread takes them from the
kernel and stops the driver (`_taking_signals`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from types import FrameType

from pacenote.errors import Interrupted
from pacenote.system.signal_descriptor import SignalDescriptor

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that stop a race: Ctrl-C, a request to terminate, a closed terminal."""

SHUTDOWN_TIMEOUT_S = 2.0
"""Seconds that pending requests may take to finish after the first signal, before they are dropped."""

EXIT_AT = 3
"""Number of signals at which the process ends."""

THREAD_NAME = "signals"
"""Name of the thread that counts signals. It waits for a descriptor and holds no lock."""

STOPPED_AT_ONCE = "stopped at once: what was not written yet is lost"
"""Message of the third signal."""

REPORT_HINT = "`pacenote report` shows what was written"
"""Next step after the third signal."""

_TAKEN_AFTER_S = 0.1
"""Seconds after which a signal is taken from the kernel if the main thread has not received it."""

_Handler = Callable[[int, FrameType | None], object]


def handled_signals() -> tuple[signal.Signals, ...]:
    """Returns the signals of `STOP_SIGNALS` to handle: without SIGHUP if it is ignored, as it is under
    `nohup`.
    """
    ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return tuple(number for number in STOP_SIGNALS if not (ignored and number is signal.SIGHUP))


@contextmanager
def interrupting() -> Generator[None, None, None]:
    """Makes each signal within the block raise KeyboardInterrupt.

    This includes SIGINT, because a shell starts background jobs with SIGINT ignored.
    """
    with _handlers(signal.default_int_handler):
        yield


@contextmanager
def postponed() -> Generator[None, None, None]:
    """Runs a short block to its end before signals raise KeyboardInterrupt."""
    received: list[int] = []
    try:
        with _handlers(lambda number, _: received.append(number)):
            yield
    finally:
        if received:
            raise KeyboardInterrupt


@contextmanager
def counting() -> Generator[list[int], None, None]:
    """Yields a list to which the number of each signal within the block is added, instead of raising
    KeyboardInterrupt.
    """
    received: list[int] = []
    with _handlers(lambda number, _: received.append(number)):
        yield received


def block_signals() -> None:
    """Lets no signal interrupt this thread from now on: the race is reported, and its exit code is known."""
    # Python handles those that have arrived before.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)


class StopRequests:
    """Counts the signals while the driver runs, and stops it, without raising an exception.

    An exception between receiving an event and storing its result would lose the result.
    """

    def __init__(self, stop: Callable[[bool], None]) -> None:
        """`stop` stops the driver; its argument is whether pending requests are dropped."""
        self._stop = stop
        self._first_at: float | None = None
        self._count = 0
        self._is_taking = False
        self._shown = 0

    @property
    def requested(self) -> bool:
        """Whether a signal has arrived."""
        return self._count > 0

    @contextmanager
    def handled(self) -> Generator[None, None, None]:
        """Handles the signals that arrive in the block, even if the main thread hangs on a disk."""
        with _handlers(self._handle), self._taking_signals():
            yield

    def enforce(self) -> None:
        """Drops pending requests that have not ended in time. Call it regularly."""
        if self._first_at is not None and time.monotonic() - self._first_at > SHUTDOWN_TIMEOUT_S:
            self._stop(True)

    def new_messages(self) -> Iterator[str]:
        """Yields a message for each of the first two signals since the last call."""
        texts = (
            "stopping: pending requests may finish; press Ctrl-C again to drop them",
            "dropping pending requests; press Ctrl-C again to exit at once",
        )
        while self._shown < min(self._count, len(texts)):
            self._shown += 1
            yield texts[self._shown - 1]

    @contextmanager
    def _taking_signals(self) -> Generator[None, None, None]:
        """Has a thread take the signals in the block that the main thread does not receive.

        The kernel keeps them until a thread that can run takes them.
        """
        in_main_thread = threading.current_thread() is threading.main_thread()
        if self._is_taking or not in_main_thread or sys.platform != "linux":
            yield
            return
        # The thread that counts signals, or the process that supervises this one, reads their numbers there.
        numbers = signal.set_wakeup_fd(-1)
        signal.set_wakeup_fd(numbers, warn_on_full_buffer=False)
        ended = threading.Event()
        taker = threading.Thread(target=self._take, args=(numbers, ended), name="pacenote-stop", daemon=True)
        self._is_taking = True
        start_without_signals(taker)
        try:
            yield
        finally:
            ended.set()
            taker.join()
            self._is_taking = False

    def _take(self, numbers: int, ended: threading.Event) -> None:
        handled = frozenset(handled_signals())
        waiting: frozenset[int] = frozenset()
        while not ended.wait(_TAKEN_AFTER_S):
            now_waiting = handled & signal.sigpending()
            for number in waiting & now_waiting:
                taken = None
                # Without a free descriptor, it is tried again.
                with contextlib.suppress(OSError), SignalDescriptor([number]) as descriptor:
                    taken = descriptor.take(0)
                if taken is not None:
                    self._handle(number, None)
                    if numbers >= 0:
                        with contextlib.suppress(OSError):
                            os.write(numbers, bytes([number]))
            waiting = now_waiting

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if self._first_at is None:
            self._first_at = time.monotonic()
        self._stop(self._count > 1)


@contextmanager
def exit_at_third(show: Callable[[str], None]) -> Generator[None, None, None]:
    """Ends the process at the third signal within the block, after calling `show` with a message.

    Python runs signal handlers only between two steps of the main thread. If this thread, or a thread that it
    waits for, hangs on a disk, handlers never run. The interpreter also writes the number of every signal to
    a socket as soon as it arrives; a thread reads them from there. The kernel then also kills an engine that
    the process has started.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    with reader, writer:
        try:
            previous = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        except ValueError:  # Only the main thread may do this.
            yield
            return
        counter = threading.Thread(target=_count, args=(reader, show), name=THREAD_NAME, daemon=True)
        start_without_signals(counter)
        try:
            yield
        finally:
            signal.set_wakeup_fd(previous)
            writer.shutdown(socket.SHUT_WR)
            counter.join()


def start_without_signals(thread: threading.Thread) -> None:
    """Starts a thread that receives no signals: they go to the main thread, so that it can block them for the
    whole process.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        thread.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _count(reader: socket.socket, show: Callable[[str], None]) -> None:
    """Reads numbers of signals until the other end is closed."""
    received = 0
    while numbers := reader.recv(64):
        received += sum(number in STOP_SIGNALS for number in numbers)
        if received >= EXIT_AT:
            show(f"{STOPPED_AT_ONCE}; {REPORT_HINT}")
            os._exit(Interrupted.exit_code)


@contextmanager
def _handlers(handler: _Handler) -> Generator[None, None, None]:
    """Handles the signals with this function in the block. In other threads than the main one, which alone
    may handle signals, it does nothing.
    """
    try:
        previous = {number: signal.signal(number, handler) for number in handled_signals()}
    except ValueError:
        previous = {}
    try:
        yield
    finally:
        for number, before in previous.items():
            # A handler that Python has not installed cannot be restored.
            signal.signal(number, signal.SIG_DFL if before is None else before)
