"""Gives files access control lists (POSIX ACL)."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable
from pathlib import Path

import pytest

_NOBODY = 0xFFFFFFFF


def let_write(path: Path, users: Iterable[int] = (), groups: Iterable[int] = ()) -> None:
    """Lets users and groups write to a file or folder by its access control list alone. Skips the test if the
    file system has no such lists.
    """
    entries = [(0x01, 7, _NOBODY)]
    entries += [(0x02, 7, user) for user in sorted(users)]
    entries += [(0x04, 5, _NOBODY)]
    entries += [(0x08, 7, group) for group in sorted(groups)]
    entries += [(0x10, 7, _NOBODY), (0x20, 5, _NOBODY)]
    content = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(path, "system.posix_acl_access", content)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        pytest.skip(f"the file system of {path} has no access control lists")
