"""Which users and groups may write to a file by its access control list (POSIX ACL).

With such a list, the permissions of the group that `stat` shows are the mask: the most that the group, and
the users and groups of the list, may do.
"""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

_ATTRIBUTE = "system.posix_acl_access"
_DEFAULT_ATTRIBUTE = "system.posix_acl_default"
_ENTRY = struct.Struct("<HHI")
_VERSION_BYTES = 4
_WRITE = 2
_USER, _OWNING_GROUP, _GROUP, _MASK, _OTHERS = 0x02, 0x04, 0x08, 0x10, 0x20
"""Kinds of entries: a user, the group of the file, another group, the most that these may do, all others."""


class Writers(Struct, frozen=True):
    """Who may write to a file or folder, beside its owner and all users."""

    owning_group: bool
    """Whether its group may."""
    users: frozenset[int] = frozenset()
    """The ids of users that its list names."""
    groups: frozenset[int] = frozenset()
    """The ids of other groups that its list names."""
    everyone: bool = False
    """Whether all users may; of a file or folder that exists, its permissions say so."""


class FileAccess(Struct, frozen=True):
    """Who may do what with a file or folder."""

    status: os.stat_result
    """Its status, with its owner and permissions."""
    writers: Writers
    """Who may write to it."""


def writers_of(file: Path | int, status: os.stat_result) -> Writers:
    """Returns who may write to a file or folder with this status, which is an open file or a path; follows
    links. A file system without lists has only the permissions.
    """
    if not status.st_mode & stat.S_IWGRP:
        return Writers(owning_group=False)  # It is also the mask of a list.
    try:
        content = os.getxattr(file, _ATTRIBUTE)
    except OSError:
        return Writers(owning_group=True)
    return _writers(_writing(content))


def writers_of_new(folder: Path) -> Writers:
    """Returns who may write to what is created in a folder because of its default list, which counts instead
    of the umask. Without a default list, it names no one.
    """
    try:
        writing = _writing(os.getxattr(folder, _DEFAULT_ATTRIBUTE))
    except OSError:
        return Writers(owning_group=False)
    everyone = any(kind == _OTHERS for kind, _ in writing)
    return replace(_writers(writing), everyone=everyone)


def _writing(content: bytes) -> list[tuple[int, int]]:
    """Returns the kinds and ids of the entries of a list that let someone write."""
    whole = len(content) - (len(content) - _VERSION_BYTES) % _ENTRY.size
    entries = list(_ENTRY.iter_unpack(content[_VERSION_BYTES:whole]))
    is_masked = any(kind == _MASK and not permissions & _WRITE for kind, permissions, _ in entries)
    limited = (_USER, _OWNING_GROUP, _GROUP) if is_masked else ()
    return [
        (kind, identifier)
        for kind, permissions, identifier in entries
        if permissions & _WRITE and kind not in limited
    ]


def _writers(writing: list[tuple[int, int]]) -> Writers:
    return Writers(
        any(kind == _OWNING_GROUP for kind, _ in writing),
        frozenset(identifier for kind, identifier in writing if kind == _USER),
        frozenset(identifier for kind, identifier in writing if kind == _GROUP),
    )
