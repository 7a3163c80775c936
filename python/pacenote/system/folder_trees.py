"""Walks and removes folders of any depth: others may have nested them without end, and Python's own functions
call themselves for each level.

`delete_tree` and `discard_tree` remove folders of Pacenote, `remove_tree` those to which a process of another
user may still write.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import time
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

from msgspec import Struct

MAX_DEPTH = 64
"""Largest depth of folders that are read: engines need about ten."""

MAX_NAMES = 2_000_000
"""Largest number of names in a tree that are read: a node with 5,000 shards has up to a million."""

_MAX_FOLDERS = 100_000
"""Largest number of folders in one folder of it."""

_NAMES_AT_A_TIME = 10_000
"""Number of names that are in memory at a time: each may take a kilobyte."""

_REMOVAL_TIMEOUT_S = 120.0
"""Seconds after which a folder to which others still add folders is left as it is."""

_FRUITLESS_ROUNDS = 10
"""Rounds in which nothing could be removed from a folder, after which it is left as it is: others may
keep changing its folders, or Pacenote may not be permitted to remove them.
"""


def walk_folders(folder: Path | str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields the same as `os.walk`, from the top: each folder, and the names of the folders, which the caller
    may change, and of the files in it. Does not follow links, and ignores folders that cannot be read.
    """
    waiting = [os.fspath(folder)]
    while waiting:
        path = waiting.pop()
        folders, files = list[str](), list[str]()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    (folders if _is_folder(entry) else files).append(entry.name)
        except OSError:
            continue
        yield path, folders, files
        below = (os.path.join(path, name) for name in reversed(folders))  # noqa: PTH118  # shown as it was given
        waiting += [inner for inner in below if not os.path.islink(inner)]  # noqa: PTH114


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def walk_files(folder: Path) -> Generator[tuple[str, list[str], int], None, None]:
    """Yields each folder below one as its name, names of its regular files, and its descriptor, which is
    open until the next one is yielded; a folder with very many files several times, each time with others.
    It must not be listed by this descriptor, whose position is that of the walk. Does not follow links.
    Raises OSError, also for folders that are nested too deeply or have too many names.
    """
    with opened_folder(folder) as descriptor:
        yield from _Walk().below(folder.name, descriptor)


class _Walk(Struct):
    """A walk through the files of a tree."""

    names: int = 0
    """Number of names that were read."""

    def below(
        self, name: str, descriptor: int, depth: int = 0
    ) -> Generator[tuple[str, list[str], int], None, None]:
        """Yields what `walk_files` does. Raises OSError."""
        if depth > MAX_DEPTH:
            raise too_deep()
        folders: list[str] = []
        files: list[str] = []
        with os.scandir(descriptor) as entries:
            for entry in entries:
                self.names += 1
                if self.names > MAX_NAMES or len(folders) > _MAX_FOLDERS:
                    raise too_many_names()
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
                if len(files) == _NAMES_AT_A_TIME:
                    yield name, files, descriptor
                    files = []
        yield name, files, descriptor
        for inner in folders:
            try:
                opened = open_folder(inner, descriptor)
            except (FileNotFoundError, NotADirectoryError):
                # A running engine removes folders; its user may have put a pipe or a link in its place.
                continue
            try:
                yield from self.below(inner, opened, depth + 1)
            finally:
                os.close(opened)


def too_many_names() -> OSError:
    """Returns the error for folders with too many names."""
    return OSError(errno.EFBIG, f"folders have more than {MAX_NAMES:,} files, or {_MAX_FOLDERS:,} folders")


def too_deep() -> OSError:
    """Returns the error for folders that are nested too deeply."""
    return OSError(errno.ELOOP, f"folders are nested more than {MAX_DEPTH} times")


def delete_tree(folder: Path) -> None:
    """Removes a folder with everything in it. Raises OSError with the first file that cannot be removed."""
    try:
        shutil.rmtree(folder)
    except RecursionError:
        remove_tree(folder)
        if os.path.lexists(folder):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), str(folder)) from None


def discard_tree(folder: Path) -> None:
    """Removes a folder with everything in it, as far as possible."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        remove_tree(folder)


def remove_tree(path: Path | str, parent: int | None = None) -> None:
    """Removes a folder with everything in it, at any depth, as far as possible; does not follow links. A
    relative path is below the open folder `parent`.

    `shutil.rmtree` opens a pipe that takes the place of a folder, which may never end.
    """
    with contextlib.suppress(OSError, RecursionError):
        _flatten(path, parent)
        os.rmdir(path, dir_fd=parent)


def _flatten(path: Path | str, parent: int | None) -> None:
    """Removes what is in a folder, as far as possible: moves the folders in it up, until none contains
    another one.

    A process of another user may still create files and folders there, so that it ends after
    `_REMOVAL_TIMEOUT_S`. Raises OSError if the folder cannot be read.
    """
    deadline = time.monotonic() + _REMOVAL_TIMEOUT_S
    fruitless = 0
    with _taken(path, parent) as top:
        while fruitless < _FRUITLESS_ROUNDS:
            listed = removed = 0
            for name in names_in(top):
                if time.monotonic() > deadline:
                    return
                listed += 1
                with contextlib.suppress(OSError):
                    _empty(name, top, deadline)
                    removed += 1
            if not listed:
                return
            fruitless = 0 if removed else fruitless + 1


def names_in(folder: int) -> Iterator[str]:
    """Yields the names in an open folder, which may be removed meanwhile: a list of them could be long."""
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry.name


def _empty(name: str, top: int, deadline: float) -> None:
    """Removes a file, or a folder whose folders it moves up to the open folder `top`. Raises OSError, also if
    something is left at the deadline.
    """
    if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=top)
        return
    with _taken(name, top) as folder:
        for inner in names_in(folder):
            if time.monotonic() > deadline:
                break
            # What remains is the error of `rmdir`.
            with contextlib.suppress(OSError):
                if stat.S_ISDIR(os.stat(inner, dir_fd=folder, follow_symlinks=False).st_mode):
                    _move_up(inner, folder, top)
                else:
                    os.unlink(inner, dir_fd=folder)
    os.rmdir(name, dir_fd=top)


def _move_up(name: str, folder: int, top: int) -> None:
    """Raises OSError."""
    try:
        os.rename(name, uuid.uuid4().hex, src_dir_fd=folder, dst_dir_fd=top)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # It is in a lower layer of an overlay, such as the image of a container.
        remove_tree(name, folder)


@contextlib.contextmanager
def _taken(path: Path | str, parent: int | None) -> Generator[int, None, None]:
    """Opens a folder that is removed, to which other users cannot add anything from then on, as far as this
    process may change that.
    """
    with opened_folder(path, parent) as descriptor:
        with contextlib.suppress(OSError):
            os.fchown(descriptor, os.geteuid(), os.getegid())
            os.fchmod(descriptor, 0o700)
        yield descriptor


@contextlib.contextmanager
def opened_folder(path: Path | str, parent: int | None = None) -> Generator[int, None, None]:
    """Yields the descriptor of a folder, as `open_folder` returns it. Raises OSError."""
    descriptor = open_folder(path, parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_folder(path: Path | str, parent: int | None) -> int:
    """Opens a folder; a relative path is below the open folder `parent`. Raises OSError, also for a link."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
