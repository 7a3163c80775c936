"""Locks on files (flock(2)). The kernel releases one when the last process that has its descriptor, by
inheritance, too, has closed it or has ended, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

PRIVATE = 0o600
"""Permissions of a lock: every user who can open a file can lock it, and so keep others waiting for ever."""

_TEST_S = 1.0
"""Seconds within which another process that only tests a lock has released it."""


def open_lock(path: Path) -> int:
    """Opens the file of a lock, and creates it if it is missing; it is not opened through a link, and a pipe
    is not waited for. Raises OSError.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    return os.open(path, flags, PRIVATE)


def lock(descriptor: int, *, shared: bool = False, wait: bool = True) -> None:
    """Locks an open file as soon as no other process has locked it; those with shared locks have it together.

    Raises BlockingIOError if it would have to wait and is not to, and OSError if the file system has no
    locks.
    """
    operation = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(descriptor, operation if wait else operation | fcntl.LOCK_NB)


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Locks an open file without waiting, and returns whether that was possible. Raises OSError if the file
    system has no locks.
    """
    try:
        lock(descriptor, shared=shared, wait=False)
    except BlockingIOError:
        return False
    return True


def lock_own(descriptor: int) -> bool:
    """Locks an open file that other processes lock only for an instant, to test whether it is locked; returns
    whether that was possible within `_TEST_S`. Raises OSError if the file system has no locks.
    """
    deadline = time.monotonic() + _TEST_S
    while not try_lock(descriptor):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def unlock(descriptor: int) -> None:
    """Releases the lock of an open file, also for processes that have inherited it."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextmanager
def locked(path: Path) -> Generator[int, None, None]:
    """Gives one process at a time access to what a lock protects, while the others wait. Yields its
    descriptor. Raises OSError.
    """
    descriptor = open_lock(path)
    try:
        lock(descriptor)
        yield descriptor
    finally:
        os.close(descriptor)
