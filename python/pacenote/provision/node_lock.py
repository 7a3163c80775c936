"""The locks of nodes: files that the kernel unlocks when the processes that hold them have ended."""

from __future__ import annotations

import os
import time
from pathlib import Path

from pacenote.fetch.disk import disk_error
from pacenote.system.locks import lock, open_lock, try_lock

_UNLOCK_TIMEOUT_S = 5.0
"""Seconds within which a process that has ended must have released its locks."""


class NodeLock:
    """The lock on a node's entry. The kernel releases it when the process ends."""

    def __init__(self, file: Path, descriptor: int) -> None:
        self._file = file
        self._descriptor: int | None = descriptor

    @property
    def descriptor(self) -> int:
        """The open file that holds the lock; a process that inherits it keeps the lock."""
        if self._descriptor is None:
            raise RuntimeError("the lock was released")
        return self._descriptor

    def close(self) -> None:
        """Closes the lock without removing its file. Processes that inherited it keep it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def release(self) -> None:
        """Removes and releases the lock. May be called again."""
        if self._descriptor is None:
            return
        try:
            self._file.unlink(missing_ok=True)
        finally:
            self.close()


def wait_for_lock(file: Path) -> NodeLock:
    """Returns the lock of a file, which is created if necessary.

    Raises DiskError if files cannot be locked.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        while (acquired := acquire_lock(file, wait=True)) is None:
            pass
    except OSError as failure:
        raise disk_error(failure, file) from failure
    return acquired


def acquire_lock(file: Path, *, wait: bool = False) -> NodeLock | None:
    """Acquires a lock. Returns None if another process has it, unless this one is to `wait` for it, and if
    the file was removed meanwhile, because the lock is then invalid. Raises OSError.
    """
    descriptor = open_lock(file)
    try:
        if wait:
            lock(descriptor)
        if (wait or try_lock(descriptor)) and os.path.samestat(os.fstat(descriptor), file.lstat()):
            return NodeLock(file, descriptor)
    except FileNotFoundError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def is_locked(file: Path) -> bool:
    """Returns whether a process, perhaps of another container or machine, holds the lock of a file."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not try_lock(descriptor, shared=True)
    except OSError:
        return True
    finally:
        os.close(descriptor)


def stays_locked(file: Path, *, ended_now: bool) -> bool:
    """Returns whether the lock of a file is held; `ended_now` is whether a process that held it has just
    ended.

    A large process frees its memory before its files, when it does not count as running any more.
    """
    deadline = time.monotonic() + (_UNLOCK_TIMEOUT_S if ended_now else 0)
    while is_locked(file):
        if time.monotonic() > deadline:
            return True
        time.sleep(0.01)
    return False
