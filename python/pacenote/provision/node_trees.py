"""Takes and gives folders that the user of a node has written, which may be nested without end."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

from pacenote.system.folder_trees import MAX_DEPTH, opened_folder, remove_tree, too_deep
from pacenote.system.paths import real_path
from pacenote.system.sparse_files import copy_content


def take_tree(folder: Path) -> None:
    """Replaces a folder that another user has written by a copy that only the current user may change.

    A process of that user may still have files and folders of it open, so that to change their owner would
    not be enough. Raises OSError, also for a file with several names, one of which may be that of a file of
    the current user, and for a link that leads out of the folder.
    """
    copy = Path(tempfile.mkdtemp(prefix=".copy-", dir=folder.parent))
    original = copy.with_name(f".taken{copy.name}")
    try:
        with opened_folder(folder) as source, opened_folder(copy) as target:
            _copy_folder(source, target)
        _check_links(copy)
        folder.rename(original)
        copy.rename(folder)
    finally:
        remove_tree(copy)
        remove_tree(original)


def give_tree(folder: Path, user: int, group: int) -> None:
    """Makes a user the owner of a folder with everything in it. A folder is given after what is in it: until
    then, that user cannot put a link to another folder there. Raises OSError.
    """
    with opened_folder(folder) as descriptor:
        _give(descriptor, user, group)


def _give(folder: int, user: int, group: int) -> None:
    for name in os.listdir(folder):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            with opened_folder(name, folder) as inner:
                _give(inner, user, group)
        else:
            os.chown(name, user, group, dir_fd=folder, follow_symlinks=False)
    os.fchown(folder, user, group)


def _copy_folder(source: int, target: int, depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise too_deep()
    for name in os.listdir(source):
        kind = stat.S_IFMT(os.stat(name, dir_fd=source, follow_symlinks=False).st_mode)
        if kind == stat.S_IFDIR:
            os.mkdir(name, 0o700, dir_fd=target)
            with opened_folder(name, source) as inner, opened_folder(name, target) as copy:
                _copy_folder(inner, copy, depth + 1)
        elif kind == stat.S_IFLNK:
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        else:
            _copy_file(name, source, target)
    os.fchmod(target, 0o755)


def _check_links(folder: Path) -> None:
    """Raises OSError if a link leads out of a folder, which only the current user may change."""
    top = real_path(folder)
    for path in folder.rglob("*"):
        if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(top):
            raise OSError(errno.EPERM, f"{path.relative_to(folder)} is a link that leads out of its folder")


def _copy_file(name: str, source: int, target: int) -> None:
    # A pipe that nobody writes to is opened, too.
    original = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=source)
    with os.fdopen(original, "rb"):
        status = os.fstat(original)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise OSError(errno.EPERM, f"{name} is not a regular file with one name")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, 0o600, dir_fd=target), "wb") as copy:
            copy_content(original, copy.fileno())
            os.fchmod(copy.fileno(), status.st_mode & 0o755)
