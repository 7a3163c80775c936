"""Takes blocked signals from a file descriptor of Linux (`signalfd`).

Python's `signal.sigtimedwait` returns memory that it has not written if the process is stopped and continued
while it waits, so what it returns may be any signal.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterable
from types import TracebackType
from typing import NamedTuple, Self

from pacenote.system.polling import can_read

_SIZE = 128
"""Bytes that the kernel writes for each signal (`struct signalfd_siginfo`)."""

_FIELDS = struct.Struct("=Iii")
"""Their beginning: the number, an error and the code."""

_SET_SIZE = 128
"""Bytes of `sigset_t`."""

_LIBC = ctypes.CDLL(None, use_errno=True)
"""The C library, which this process has loaded."""


class TakenSignal(NamedTuple):
    """A signal that was taken from the kernel."""

    number: int
    """Its number."""

    is_from_kernel: bool
    """Whether the kernel has sent it, as for a terminal, and not a process."""


class SignalDescriptor:
    """A descriptor from which signals are taken that the calling thread blocks. Close it, or use `with`."""

    def __init__(self, numbers: Iterable[int]) -> None:
        """Opens a descriptor for signals with these numbers."""
        signals = ctypes.create_string_buffer(_SET_SIZE)
        _LIBC.sigemptyset(signals)
        for number in numbers:
            _LIBC.sigaddset(signals, number)
        # The flags of `signalfd` have the values of those of `open`.
        self._descriptor = _LIBC.signalfd(-1, signals, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def take(self, timeout_s: float) -> TakenSignal | None:
        """Returns a signal, or None if none arrives within this time."""
        if not can_read(self._descriptor, timeout_s):
            return None
        with contextlib.suppress(BlockingIOError):
            number, _, code = _FIELDS.unpack_from(os.read(self._descriptor, _SIZE))
            return TakenSignal(number, code > 0)
        return None

    def close(self) -> None:
        """Closes the descriptor; signals stay pending from now on. It may be closed already."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
