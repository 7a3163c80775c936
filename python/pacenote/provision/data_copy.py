"""Copies the data of a stopped node, sharing with the original what engines never change.

A file is cloned where the file system can do that (XFS, Btrfs). Otherwise the files of Lucene segments are
linked, because Lucene writes each of them once, under a new name, and later only deletes them; all others
are copied. Links in the data are not followed: the node's user may have made them, and Pacenote may be root.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import tempfile
from pathlib import Path

from msgspec import Struct

from pacenote.errors import DiskError
from pacenote.fetch.disk import check_free_space, disk_error
from pacenote.model.codec import Integer, Stored
from pacenote.system.child_process import ProcessUser
from pacenote.system.folder_trees import MAX_DEPTH, too_deep, walk_files
from pacenote.system.regular_files import open_regular_file
from pacenote.system.sparse_files import copy_content, data_bytes

_CLONE = 0x40049409
"""The number of the request FICLONE."""

_SEGMENT_FILE = re.compile(r"_[0-9a-z]+(_\w+)?\.[a-z0-9]{2,4}")
"""Files of a Lucene segment; not `segments_N`, `write.lock`, nor anything outside the folder `index`."""

_INDEX_FOLDER = "index"
_PERMISSIONS = 0o777
"""The part of a mode that a copy gets: not to run as its owner or group, which may be root's for a moment."""


class DataSize(Stored, frozen=True):
    """The files of a folder."""

    files: Integer = 0
    """Number of files."""
    bytes: Integer = 0
    """Sum of their sizes."""
    newest_ns: Integer = 0
    """When the last of them was modified, in nanoseconds since the epoch."""

    def __add__(self, other: DataSize) -> DataSize:
        """Returns the size of both together."""
        newest = max(self.newest_ns, other.newest_ns)
        return DataSize(self.files + other.files, self.bytes + other.bytes, newest)


def copy_data(source: Path, target: Path, owner: ProcessUser | None) -> DataSize:
    """Copies the data of a stopped node to `target`, which must not exist or be empty, for an owner, or for
    the current user.

    Returns its size. Raises DiskError, also for a file of another user, and before anything is copied if
    there is no room.
    """
    try:
        target.mkdir(mode=0o700, exist_ok=True)
        shares = target.stat().st_dev == source.stat().st_dev
        clones = shares and _can_clone(target)
        if not clones:
            check_free_space(target, unshared_bytes(source, target), "a copy of the data of the node")
        copier = _Copier(owner, clones=clones, links=shares and not clones)
        source_folder, target_folder = _open_folder(source), _open_folder(target)
        try:
            size = copier.copy_folder(source_folder, target_folder)
            copier.give(target_folder)
        finally:
            os.close(source_folder)
            os.close(target_folder)
    except OSError as failure:
        raise disk_error(failure, target) from failure
    return size


def move_data(source: Path, target: Path) -> DataSize:
    """Moves the data of a stopped node to `target`, which must not exist, and returns its size.

    Copies it if that is on another file system. Raises DiskError.
    """
    try:
        source.rename(target)
    except OSError:
        return copy_data(source, target, _owner_of(source))
    return data_size(target)


def data_size(folder: Path) -> DataSize:
    """Returns the size of the files in a folder. Raises DiskError."""
    size = DataSize()
    try:
        for _, names, descriptor in walk_files(folder):
            for name in names:
                status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    size += DataSize(1, status.st_size, status.st_mtime_ns)
    except OSError as failure:
        raise disk_error(failure, folder) from failure
    return size


def unshared_bytes(source: Path, target: Path) -> int:
    """Returns how many bytes `copy_data` would write, if it cannot clone files; holes are not written. Raises
    DiskError.
    """
    written = 0
    try:
        links = target.stat().st_dev == source.stat().st_dev
        for folder, names, descriptor in walk_files(source):
            for name in names:
                if not links or folder != _INDEX_FOLDER or not _SEGMENT_FILE.fullmatch(name):
                    written += _written_bytes(name, descriptor)
    except OSError as failure:
        raise disk_error(failure, source) from failure
    return written


def _written_bytes(name: str, folder: int) -> int:
    """Returns how many bytes a copy of a file writes: all but its holes."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if status.st_blocks * 512 >= status.st_size:
        return status.st_size
    # It has holes, or its file system compresses it.
    with open_regular_file(name, os.O_NOFOLLOW, folder=folder) as file:
        return data_bytes(file.fileno(), status.st_size)


class _Copier(Struct, frozen=True):
    owner: ProcessUser | None
    """The owner of the copies, or None for the current user."""
    clones: bool
    """Whether files are cloned."""
    links: bool
    """Whether the files of segments are linked."""

    def copy_folder(self, source: int, target: int, name: str = "", depth: int = 0) -> DataSize:
        """Copies what an open folder of this name contains into another one, and returns its size.

        Raises OSError, and DiskError for a file of another user.
        """
        if depth > MAX_DEPTH:
            raise too_deep()
        size = DataSize()
        with os.scandir(source) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    size += self._copy_subfolder(entry.name, source, target, depth)
                elif entry.is_file(follow_symlinks=False):
                    size += self._copy_file(entry.name, source, target, is_index=name == _INDEX_FOLDER)
        return size

    def give(self, descriptor: int) -> None:
        """Makes the owner that of a copy."""
        if self.owner is not None:
            os.fchown(descriptor, self.owner.uid, self.owner.gid)

    def _copy_subfolder(self, name: str, source: int, target: int, depth: int) -> DataSize:
        os.mkdir(name, 0o700, dir_fd=target)
        source_folder, target_folder = _open_folder(name, source), _open_folder(name, target)
        try:
            size = self.copy_folder(source_folder, target_folder, name, depth + 1)
            self.give(target_folder)
            os.fchmod(target_folder, os.fstat(source_folder).st_mode & _PERMISSIONS)
        finally:
            os.close(source_folder)
            os.close(target_folder)
        return size

    def _copy_file(self, name: str, source: int, target: int, *, is_index: bool) -> DataSize:
        source_file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=source)
        try:
            status = os.fstat(source_file)
            if not stat.S_ISREG(status.st_mode):
                return DataSize()
            if status.st_uid != (self.owner.uid if self.owner else os.geteuid()):
                # The user of the node may have linked a file that only Pacenote's user can read.
                raise DiskError(
                    f"the data is not copied: its file {name} belongs to user {status.st_uid}",
                    hint="all data must belong to the user that nodes run as",
                )
            if self.links and is_index and _SEGMENT_FILE.fullmatch(name):
                # The file that was opened, even if its name is now that of another one.
                os.link(f"/proc/self/fd/{source_file}", name, dst_dir_fd=target, follow_symlinks=True)
            else:
                self._write(name, source_file, target)
            return DataSize(1, status.st_size, status.st_mtime_ns)
        finally:
            os.close(source_file)

    def _write(self, name: str, source_file: int, target: int) -> None:
        status = os.fstat(source_file)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        target_file = os.open(name, flags, 0o600, dir_fd=target)
        try:
            if self.clones:
                fcntl.ioctl(target_file, _CLONE, source_file)
            else:
                copy_content(source_file, target_file)
            os.utime(target_file, ns=(status.st_atime_ns, status.st_mtime_ns))
            self.give(target_file)
            # Only now: until then, Pacenote's user, who may be root, owns what another user has written.
            os.fchmod(target_file, status.st_mode & _PERMISSIONS)
        except BaseException:
            os.unlink(name, dir_fd=target)
            raise
        finally:
            os.close(target_file)


def _open_folder(path: Path | str, parent: int | None = None) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def _can_clone(folder: Path) -> bool:
    """Returns whether the file system of a folder clones files."""
    with tempfile.TemporaryFile(dir=folder) as original, tempfile.TemporaryFile(dir=folder) as clone:
        original.write(bytes(4096))
        original.flush()
        try:
            fcntl.ioctl(clone.fileno(), _CLONE, original.fileno())
        except OSError:
            return False
    return True


def _owner_of(folder: Path) -> ProcessUser:
    status = folder.lstat()
    return ProcessUser("", status.st_uid, status.st_gid)
