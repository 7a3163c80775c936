"""Lets races that run at the same time begin their first task together.

The process that starts them gives each a shared lock of one file. A race that is ready releases its own and
waits until there is none, so that one which ends before it is ready does not keep the others waiting.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from pacenote.errors import EngineError
from pacenote.model.progress import ProgressCallback
from pacenote.system.locks import try_lock, unlock

_POLL_S = 0.01
_held: list[int] = []
"""The descriptor with the lock of this process, unless it has passed the gate."""


def hold_gate(descriptor: int) -> None:
    """Keeps other races waiting until this process has called `pass_gate` or has ended."""
    os.set_inheritable(descriptor, False)
    _held.append(descriptor)


def pass_gate(exit_reason: Callable[[], str | None] | None, progress: ProgressCallback) -> None:
    """Waits until the races that were started with this one are ready, too, if there are any.

    `exit_reason` returns why the engine has ended, or None while it runs; it is None for an existing cluster.
    Raises EngineError if the engine ends in the meantime.
    """
    while _held:
        progress("waiting for the other race", 0, 0)
        descriptor = _held.pop()
        try:
            unlock(descriptor)
            while not _is_free(descriptor):
                if exit_reason is not None and (reason := exit_reason()):
                    raise EngineError(reason)
                time.sleep(_POLL_S)
        finally:
            os.close(descriptor)


def _is_free(descriptor: int) -> bool:
    """Returns whether no race holds the gate. A file system without locks has none to wait for."""
    try:
        return try_lock(descriptor)
    except OSError:
        return True
