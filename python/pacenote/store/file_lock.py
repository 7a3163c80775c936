"""Locks on files, which the kernel releases when their process ends, however it ends."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator
from pathlib import Path

from pacenote.errors import StoreError
from pacenote.store.atomic_files import store_error
from pacenote.system.locks import lock, open_lock, try_lock
from pacenote.system.paths import is_missing

_ATTEMPTS = 5
_BETWEEN_S = 0.02


@contextlib.contextmanager
def file_locked(path: Path, busy: StoreError) -> Generator[None, None, None]:
    """Keeps other processes from locking a file, which is created if it is missing.

    Raises `busy` if another one has locked it, and StoreError if it cannot be created.
    """
    descriptor = _opened(path)
    try:
        if not _lock_soon(descriptor):
            raise busy
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def file_awaited(path: Path) -> Generator[None, None, None]:
    """Waits for the lock of a file, which is created if it is missing, and keeps others from it.

    Raises StoreError if it cannot be created.
    """
    descriptor = _opened(path)
    try:
        with contextlib.suppress(OSError):  # A file system without locks has none to wait for.
            lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def is_file_locked(path: Path) -> bool:
    """Returns whether a process has locked a file with `file_locked`. Any number of processes may ask at the
    same time, and none of them keeps another one from locking it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not _lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def shared_lock(path: Path) -> int:
    """Locks a file together with others, and returns the descriptor that holds the lock, also after a child
    process has inherited it. Raises StoreError.
    """
    descriptor = _opened(path)
    lock(descriptor, shared=True)
    return descriptor


def is_file_shared(path: Path) -> bool:
    """Returns whether a process still holds a lock of `shared_lock`. Only one process may ask at a time."""
    if is_missing(path):
        return False
    descriptor = _opened(path)
    try:
        return not _lock(descriptor)
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    try:
        return open_lock(path)
    except OSError as error:
        raise store_error("create", path, error) from error


def _lock_soon(descriptor: int) -> bool:
    """Returns whether a lock was gained. `is_file_locked` of another process has it for a moment only."""
    for _ in range(_ATTEMPTS):
        if _lock(descriptor):
            return True
        time.sleep(_BETWEEN_S)
    return False


def _lock(descriptor: int, *, shared: bool = False) -> bool:
    """Returns whether a lock was gained at once. A file system without locks has none to wait for."""
    try:
        return try_lock(descriptor, shared=shared)
    except OSError:
        return True
