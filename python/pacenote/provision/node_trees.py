"""Takes and gives folders that the user of a node has written, which may be nested without end."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

from msgspec import Struct, field

from pacenote.system.folder_trees import (
    MAX_DEPTH,
    MAX_NAMES,
    names_in,
    opened_folder,
    remove_tree,
    too_deep,
    too_many_names,
)
from pacenote.system.paths import leads_through_proc, real_path
from pacenote.system.sparse_files import copy_content

_MAX_LINKS = 10_000
"""Largest number of links in a tree: the notices of a JDK are some hundred."""


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
            content = _Copy()
            content.add(source, target)
        content.check_links(copy)
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
    for name in names_in(folder):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            with opened_folder(name, folder) as inner:
                _give(inner, user, group)
        else:
            os.chown(name, user, group, dir_fd=folder, follow_symlinks=False)
    os.fchown(folder, user, group)


class _Copy(Struct):
    """A copy of a tree."""

    names: int = 0
    """Number of names that were copied."""

    links: list[Path] = field(default_factory=list)
    """Where links are, below the copy."""

    def add(self, source: int, target: int, below: Path = Path()) -> None:
        """Copies what is in an open folder to one whose path in the copy is `below`. Raises OSError."""
        if len(below.parts) > MAX_DEPTH:
            raise too_deep()
        for name in names_in(source):
            self.names += 1
            if self.names > MAX_NAMES:
                raise too_many_names()
            kind = stat.S_IFMT(os.stat(name, dir_fd=source, follow_symlinks=False).st_mode)
            if kind == stat.S_IFDIR:
                os.mkdir(name, 0o700, dir_fd=target)
                with opened_folder(name, source) as inner, opened_folder(name, target) as copy:
                    self.add(inner, copy, below / name)
            elif kind == stat.S_IFLNK:
                if len(self.links) == _MAX_LINKS:
                    raise OSError(errno.EFBIG, f"there are more than {_MAX_LINKS:,} links")
                os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
                self.links.append(below / name)
            else:
                _copy_file(name, source, target)
        os.fchmod(target, 0o755)

    def check_links(self, folder: Path) -> None:
        """Raises OSError if a link leads out of the copy, which only the current user may change, or through
        too many links.
        """
        top = real_path(folder)
        for link in self.links:
            if leads_through_proc(folder / link) or not real_path(folder / link).is_relative_to(top):
                raise OSError(
                    errno.EPERM, f"{link} is a link that leads out of its folder, or through too many links"
                )


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
