"""Protects the process from the code of plug-ins, which may fork it or change what all of its code shares."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Generator, Iterable

_KEPT_SIGNALS = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGALRM),
)
"""Signals whose handlers plug-ins cannot change for Pacenote."""

_STANDARD_DESCRIPTORS = (0, 1, 2)

_ABANDONED: list[object] = []
"""Code of plug-ins that does not end."""


def abandon(code: Iterable[object]) -> None:
    """Keeps references to code of plug-ins that does not end, so that it is never freed.

    Python throws an exception into a coroutine that it frees, even when the interpreter ends. Code that
    handles all exceptions would continue, without an event loop, and might never return.
    """
    _ABANDONED.extend(code)


def is_code_abandoned() -> bool:
    """Returns whether the process must end without freeing its objects, because of `abandon`."""
    return bool(_ABANDONED)


class ProcessGuard:
    """Ends copies of the process in which it was created.

    If a plug-in calls `os.fork` and the copy returns, the copy would run the race a second time, on the
    descriptors of the first.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()

    def end_if_copied(self) -> None:
        """Ends this process at once if it is a copy."""
        if os.getpid() != self._pid:
            os._exit(0)


@contextlib.contextmanager
def protected_process(*, descriptors: bool = True) -> Generator[None, None, None]:
    """Calls code of plug-ins in the block. Ends copies of the process that return from it, and restores the
    current folder, the handlers of signals and the descriptor that receives their numbers.

    With `descriptors`, it also restores standard descriptors that were closed or replaced. Without, other
    code may open files while the block runs, which get the numbers of closed descriptors.
    """
    guard = ProcessGuard()
    with contextlib.ExitStack() as restored:
        for keep in (_kept_folder, _kept_handlers):
            restored.enter_context(keep())
        if descriptors:
            restored.enter_context(_kept_descriptors())
        # Called first, because a copy shares the descriptors.
        restored.callback(guard.end_if_copied)
        yield


@contextlib.contextmanager
def _kept_folder() -> Generator[None, None, None]:
    try:
        folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # It was removed.
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.fchdir(folder)
        with contextlib.suppress(OSError):  # Plug-ins may close any descriptor.
            os.close(folder)


@contextlib.contextmanager
def _kept_handlers() -> Generator[None, None, None]:
    handlers = {number: signal.getsignal(number) for number in _KEPT_SIGNALS}
    wakeup = _exchange_wakeup(-1)
    _exchange_wakeup(wakeup)
    try:
        yield
    finally:
        _exchange_wakeup(wakeup)
        for number, handler in handlers.items():
            if handler is not None and signal.getsignal(number) != handler:
                # Only the main thread may change handlers, so plug-ins in other threads have not.
                with contextlib.suppress(ValueError):
                    signal.signal(number, handler)


def _exchange_wakeup(descriptor: int) -> int:
    """Sets the descriptor that receives the numbers of signals, and returns the previous one."""
    try:
        return signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
    except ValueError:  # Only the main thread may do this.
        return -1


@contextlib.contextmanager
def _kept_descriptors() -> Generator[None, None, None]:
    copies = {number: _duplicate(number) for number in _STANDARD_DESCRIPTORS}
    try:
        yield
    finally:
        for number, copy in copies.items():
            with contextlib.suppress(OSError):
                if copy is not None and not _same_file(number, copy):
                    os.dup2(copy, number)
            with contextlib.suppress(OSError):
                if copy is not None:
                    os.close(copy)


def _duplicate(number: int) -> int | None:
    try:
        return os.dup(number)
    except OSError:
        return None


def _same_file(number: int, copy: int) -> bool:
    try:
        return os.path.samestat(os.fstat(number), os.fstat(copy))
    except OSError:
        return False
