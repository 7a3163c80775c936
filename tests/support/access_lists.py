"""Gives files access control lists (POSIX ACL)."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable
from pathlib import Path

import pytest

_NOBODY = 0xFFFFFFFF

_Entry = tuple[int, int, int]


def let_write(path: Path, users: Iterable[int] = (), groups: Iterable[int] = ()) -> None:
    """Lets users and groups write to a file or folder by its access control list alone. Skips the test if the
    file system has no such lists.
    """
    _set(path, "system.posix_acl_access", _entries(users, groups, 5, 5))


def let_write_new(
    folder: Path,
    users: Iterable[int] = (),
    groups: Iterable[int] = (),
    *,
    owning_group: bool = False,
    others: bool = False,
) -> None:
    """Lets users and groups write to what is created in a folder by its default list, as `let_write` does."""
    entries = _entries(users, groups, 7 if owning_group else 5, 7 if others else 5)
    _set(folder, "system.posix_acl_default", entries)


def _entries(users: Iterable[int], groups: Iterable[int], owning_group: int, others: int) -> list[_Entry]:
    entries = [(0x01, 7, _NOBODY)]
    entries += [(0x02, 7, user) for user in sorted(users)]
    entries += [(0x04, owning_group, _NOBODY)]
    entries += [(0x08, 7, group) for group in sorted(groups)]
    return [*entries, (0x10, 7, _NOBODY), (0x20, others, _NOBODY)]


def _set(path: Path, name: str, entries: list[_Entry]) -> None:
    content = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(path, name, content)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        pytest.skip(f"the file system of {path} has no access control lists")
