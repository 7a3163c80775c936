"""Ends the process at the third signal that asks for it, whatever its threads are waiting for.

Python runs signal handlers only between two steps of the main thread. If this thread, or a thread that it
waits for, hangs on a disk, handlers never run. The interpreter also writes the number of every signal to a
socket as soon as it arrives; a thread reads them from there.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager

from pacenote.cli.console import Console
from pacenote.errors import Interrupted

EXIT_AT = 3
"""Number of signals at which the process ends."""


@contextmanager
def exit_at_third_signal(console: Console) -> Generator[None, None, None]:
    """Ends the process at the third SIGINT, SIGTERM or SIGHUP within the block.

    The kernel then also kills an engine that the process has started.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    with reader, writer:
        try:
            previous = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        except ValueError:  # Only the main thread may do this.
            yield
            return
        counter = threading.Thread(target=_count, args=(reader, console), name="signals", daemon=True)
        # Signals go to the main thread only, so that it can block them for the whole process.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            counter.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            yield
        finally:
            signal.set_wakeup_fd(previous)
            writer.shutdown(socket.SHUT_WR)
            counter.join()


def _count(reader: socket.socket, console: Console) -> None:
    """Reads numbers of signals until the other end is closed."""
    counted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    received = 0
    while numbers := reader.recv(64):
        received += sum(number in counted for number in numbers)
        if received >= EXIT_AT:
            console.error_at_exit(
                "stopped at once: what was not written yet is lost; `pacenote report` shows what was written"
            )
            os._exit(Interrupted.exit_code)
