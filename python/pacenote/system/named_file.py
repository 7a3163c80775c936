"""A file that the user names, at the end of folders and links that other users may change at any moment.

In a folder such as /tmp, another user can put a link to a file of this user's where the user wants a new
file, and can exchange it between a check of the path and its use. So each step of the path is opened as it
is, without following it, and what was opened is checked. Everything else refers to the folder that was
opened, not to its path.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Literal

from pacenote.system.ownership import is_shared_folder, is_writable_by_others, planted_by

FileMode = Literal["a", "w", "x"]
"""How a file is opened: to append to it, to replace its content, or to create it."""

_MAX_LINKS = 40
"""Links that the kernel follows in one path."""

_MAX_TRIES = 5
"""How often a file is looked for that comes and goes while it is opened."""

_WRITE = os.O_WRONLY | os.O_CLOEXEC
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_FOLLOW_NOTHING = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLLOW_ONE = os.O_PATH | os.O_CLOEXEC
_PROC = Path("/proc")


class PlantedPathError(PermissionError):
    """Another user has put a step of the path, or the file, in a folder such as /tmp."""

    def __init__(self, problem: str) -> None:
        super().__init__(errno.EPERM, problem)


class FileChangedError(OSError):
    """The file is not the one that was looked at a moment ago."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EBUSY, f"{path} keeps being created, replaced or removed")


class NamedFile:
    """The file that a path leads to, and its folder, which is open."""

    def __init__(self, file: Path, *, creates_folders: bool = False, is_to_be_new: bool = False) -> None:
        """Opens the folder. Missing folders are created if `creates_folders`. Raises OSError, also if another
        user has put something on the way in a folder such as /tmp, or the file unless it `is_to_be_new`
        (PlantedPathError).
        """
        self._creates_folders = creates_folders
        self._is_to_be_new = is_to_be_new
        self._created: list[tuple[int, str]] = []
        self._is_magic = False
        self._folder = os.open("/", _FOLDER)
        self._file: int | None = None
        self._names: list[str] = []
        self.name = "."
        self.status: os.stat_result | None = None
        try:
            self._walk(file.absolute())
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> Path:
        """The path without links."""
        return Path("/", *self._names, self.name)

    @property
    def is_new(self) -> bool:
        """Whether there was no such file."""
        return self.status is None

    @property
    def is_special(self) -> bool:
        """Whether it is a pipe, a device or a descriptor of a process, beside which there is no file."""
        if self.status is None or stat.S_ISDIR(self.status.st_mode):
            return False
        return self._is_magic or not stat.S_ISREG(self.status.st_mode)

    @property
    def opened_path(self) -> Path:
        """A path of the file that exists, which leads there whatever others do, until this is closed."""
        assert self._file is not None
        return self.path_of(self._file, self.path)

    def create_beside(self, name: str) -> int:
        """Creates a file in the same folder, instead of one of this name, and returns its descriptor. Raises
        OSError.
        """
        self.remove_beside(name)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        return os.open(name, flags, 0o666, dir_fd=self._folder)

    def remove_beside(self, name: str) -> None:
        """Removes a file of the same folder, if there is one. Raises OSError."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._folder)

    def open_descriptor(self, mode: FileMode) -> int:
        """Opens the file to write to it, and returns the descriptor. Raises OSError: FileExistsError for the
        mode `x`, and FileChangedError if it was created or removed since it was looked at.
        """
        if self._file is None or self.status is None:
            if self.status is not None:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            return self._create(mode)
        descriptor = os.open(self.opened_path, _WRITE | (os.O_APPEND if mode == "a" else 0))
        try:
            status = os.fstat(descriptor)
            if stat.S_ISREG(status.st_mode) and not status.st_nlink and not self._is_magic:
                raise FileChangedError(self.path)
            if mode == "w" and stat.S_ISREG(status.st_mode):
                os.ftruncate(descriptor, 0)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def _create(self, mode: FileMode) -> int:
        try:
            descriptor = os.open(
                self.name,
                _WRITE | os.O_NOFOLLOW | os.O_CREAT | os.O_EXCL | (os.O_APPEND if mode == "a" else 0),
                0o666,
                dir_fd=self._folder,
            )
        except FileExistsError:
            if mode == "x":
                raise
            raise FileChangedError(self.path) from None
        self.status = os.fstat(descriptor)
        return descriptor

    def remove(self) -> None:
        """Removes the file if it is still the one that was looked at or created. Raises OSError."""
        status = os.stat(self.name, dir_fd=self._folder, follow_symlinks=False)
        if self.status is not None and os.path.samestat(status, self.status):
            os.unlink(self.name, dir_fd=self._folder)

    def replace_by(self, name: str) -> None:
        """Gives a file of the folder the name of this one, whose content is lost. Raises OSError."""
        os.replace(name, self.name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def remove_created_folders(self) -> None:
        """Removes the folders that were created on the way and are empty."""
        for parent, name in reversed(self._created):
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=parent)

    def close(self) -> None:
        """Closes everything that is open."""
        for parent, _ in self._created:
            os.close(parent)
        if self._file is not None:
            os.close(self._file)
        os.close(self._folder)

    def _walk(self, path: Path) -> None:
        waiting, links = list(reversed(path.parts[1:])), 0
        while waiting:
            name = waiting.pop()
            if name == "..":
                self._enter(os.open("..", _FOLDER, dir_fd=self._folder))
                self._names = self._names[:-1]
                continue
            # What exists instead of a new file is an error of its own.
            is_new = self._is_to_be_new and not waiting
            step = None if is_new else self._step(name, is_last=not waiting)
            if step is None:
                self.name = name
                return
            try:
                status = os.fstat(step)
                self._check(name, status)
                target = os.readlink("", dir_fd=step) if stat.S_ISLNK(status.st_mode) else None
            except OSError:
                os.close(step)
                raise
            if target is not None:
                os.close(step)
                links += 1
                if links > _MAX_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                waiting += reversed(self._parts(target))
            elif waiting:
                self._enter(step)
                self._names.append(name)
            else:
                self.name, self.status, self._file = name, status, step
                return
        self.status = os.fstat(self._folder)

    def _parts(self, target: str) -> tuple[str, ...]:
        """Returns the names that a link leads through, from the root folder if it says so."""
        path = Path(target)
        if not path.is_absolute():
            return path.parts
        self._enter(os.open("/", _FOLDER))
        self._names = []
        return path.parts[1:]

    def _step(self, name: str, *, is_last: bool) -> int | None:
        """Opens what has a name in the folder; None for a file that does not exist."""
        # What such a link leads to may have no path, as a pipe of this process.
        self._is_magic = os.fstat(self._folder).st_dev == _proc_device()
        try:
            if self._is_magic:
                return os.open(name, _FOLLOW_ONE, dir_fd=self._folder)
            if not is_last:
                # A file system that is mounted when it is needed is mounted only if a folder is asked for.
                with contextlib.suppress(NotADirectoryError):
                    return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=self._folder)
            return os.open(name, _FOLLOW_NOTHING, dir_fd=self._folder)
        except FileNotFoundError:
            if is_last:
                return None
            if not self._creates_folders:
                raise
        # Another user may have created the folder first: what is there is checked in any case.
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, dir_fd=self._folder)
            self._created.append((os.dup(self._folder), name))
        return os.open(name, _FOLLOW_NOTHING, dir_fd=self._folder)

    def _enter(self, folder: int) -> None:
        os.close(self._folder)
        self._folder = folder

    def path_of(self, descriptor: int, path: Path) -> Path:
        """Returns a path of what is open, which without /proc is one that others may change."""
        opened = Path(f"/proc/self/fd/{descriptor}")
        return opened if os.path.lexists(opened) else path

    def _check(self, name: str, status: os.stat_result) -> None:
        """Raises PlantedPathError if another user has put this into a folder such as /tmp, or a link into any
        folder to which others may write.
        """
        folder = self.path_of(self._folder, Path("/", *self._names))
        is_shared = is_shared_folder(folder)
        if not is_shared and not (stat.S_ISLNK(status.st_mode) and is_writable_by_others(folder)):
            return
        problem = planted_by(status)
        if not problem and is_shared and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            problem = "has several names, so that another user may have given it this one"
        if problem:
            raise PlantedPathError(f"{Path('/', *self._names, name)} {problem}")


@cache
def _proc_device() -> int | None:
    try:
        return _PROC.stat().st_dev
    except OSError:
        return None


@contextlib.contextmanager
def named_file(
    file: Path, *, creates_folders: bool = False, is_to_be_new: bool = False
) -> Generator[NamedFile]:
    """Yields the file that a path leads to, whose folder is open in the block. Raises OSError."""
    named = NamedFile(file, creates_folders=creates_folders, is_to_be_new=is_to_be_new)
    try:
        yield named
    finally:
        named.close()


def open_named(file: Path, mode: FileMode) -> int:
    """Opens a file to write to it, and returns the descriptor. Raises OSError; FileExistsError only for the
    mode `x`.
    """
    for _ in range(_MAX_TRIES):
        with (
            contextlib.suppress(FileChangedError),
            named_file(file, is_to_be_new=mode == "x") as named,
        ):
            return named.open_descriptor(mode)
    raise FileChangedError(file)
