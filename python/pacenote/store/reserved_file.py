"""Files whose room on the disk is reserved before their content is known.

The kernel reserves the room without changing the size of the file, so that a file with reserved room is read
like any other. File systems that cannot reserve room (such as NFS before version 4.2) ignore reservations.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
from collections.abc import Generator
from pathlib import Path

from pacenote.errors import StoreError
from pacenote.store.atomic_files import open_in_place, store_error, sync_folder, unreadable_path
from pacenote.system.locks import lock_own, try_lock
from pacenote.units import format_bytes

_ATTEMPTS = 3
"""How often a file is created that another process locks or removes."""

_KEEP_SIZE = 1
_UNSUPPORTED = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class ReservedFile:
    """A file with reserved room. Its process locks it, so that others know that it is in use."""

    def __init__(self, path: Path, size: int) -> None:
        """Creates the file and reserves `size` bytes. Raises StoreError if the disk does not have them."""
        self.path = path
        self._descriptor: int | None = _created(path)
        try:
            self.reserve(size)
        except StoreError:
            self.close()
            raise

    def reserve(self, size: int) -> None:
        """Reserves `size` bytes in all. Raises StoreError if the disk does not have them, or if the process
        may not write a file of this size.
        """
        if self._descriptor is None:
            return
        allowed, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
        if allowed != resource.RLIM_INFINITY and size > allowed:
            raise StoreError(
                f"cannot reserve {format_bytes(size)} for {self.path}: a file of this process may have at "
                f"most {format_bytes(allowed)}",
                hint="raise the limit (`ulimit -f`)",
            )
        try:
            _allocate(self._descriptor, size)
        except OSError as error:
            raise store_error(f"reserve {format_bytes(size)} for", self.path, error) from error

    def become(self, target: Path, data: bytes) -> None:
        """Writes the content, releases the rest of the room, and replaces `target` with the file, durably.

        If that fails, the old content of `target` remains and StoreError is raised.
        """
        try:
            if self._descriptor is None or not os.path.samestat(
                os.fstat(self._descriptor), self.path.lstat()
            ):
                raise OSError(errno.ESTALE, "its reserved room was removed")
            written = 0
            while written < len(data):
                written += os.pwrite(self._descriptor, data[written:], written)
            os.ftruncate(self._descriptor, len(data))
            os.fsync(self._descriptor)
            self.path.replace(target)
            sync_folder(target.parent)
        except OSError as error:
            raise store_error("write", target, error) from error
        self.close()

    def remove(self) -> None:
        """Releases the room and the lock."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Releases the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _created(path: Path) -> int:
    """Creates and locks a file, and returns its descriptor. Raises StoreError."""
    for _ in range(_ATTEMPTS):
        try:
            descriptor = open_in_place(path, os.O_WRONLY | os.O_CREAT)
        except OSError as error:
            raise store_error("create", path, error) from error
        try:
            if lock_own(descriptor) and os.path.samestat(os.fstat(descriptor), path.lstat()):
                return descriptor
        except FileNotFoundError:
            pass  # `release_abandoned` has removed it before it was locked.
        except OSError:
            return descriptor  # The file system has no locks.
        os.close(descriptor)
    raise StoreError(f"another process keeps {path} locked", hint="end it, and race again")


def release_abandoned(path: Path) -> bool:
    """Removes a file with reserved room if no process uses it, and returns whether it was removed.

    If a killed process had begun to write to it, what it has written is kept under another name.
    """
    with contextlib.suppress(OSError), _opened(path) as descriptor:
        if not try_lock(descriptor):
            return False
        if os.fstat(descriptor).st_size:
            release_rest(path)
            target = path.name.removeprefix(".").removesuffix(".reserved")
            path.rename(unreadable_path(path.with_name(target)))
        else:
            path.unlink()
        return True
    return False


def is_locked(path: Path) -> bool:
    """Returns whether another process uses a file with reserved room."""
    # NFS has shared locks only for files that are open for reading.
    with contextlib.suppress(OSError), _opened(path, os.O_RDONLY) as descriptor:
        # Shared, so that two processes that ask at the same time do not take each other for the race.
        return not try_lock(descriptor, shared=True)
    return False


@contextlib.contextmanager
def _opened(path: Path, access: int = os.O_WRONLY) -> Generator[int, None, None]:
    """Opens an existing file, by default for writing. Raises OSError, also if it is a link."""
    descriptor = os.open(path, access | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def release_rest(path: Path) -> None:
    """Releases the room that is reserved after the end of a file, unless the file is a link or a pipe, or
    has other names.
    """
    with contextlib.suppress(OSError):
        descriptor = open_in_place(path, os.O_WRONLY)
        try:
            os.ftruncate(descriptor, os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)


def _allocate(descriptor: int, size: int) -> None:
    """Reserves room without changing the size of the file. Raises OSError if the disk does not have it."""
    allocate = getattr(ctypes.CDLL(None, use_errno=True), "fallocate64", None)
    if allocate is None:
        return
    allocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
    while allocate(descriptor, _KEEP_SIZE, 0, size) != 0:
        number = ctypes.get_errno()
        if number in _UNSUPPORTED:
            return
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))
