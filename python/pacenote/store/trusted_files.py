"""Configuration files that the user trusts: `trusted.json` in the home folder, with a hash of each of them.

A file that has changed since then is not trusted any more.
"""

from __future__ import annotations

import grp
import hashlib
import json
import os
import pwd
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pacenote.errors import StoreError
from pacenote.model.decoding import parse_json
from pacenote.store.atomic_files import PRIVATE_FOLDER, store_error, write_atomically
from pacenote.store.file_lock import file_awaited
from pacenote.system.access_list import FileAccess
from pacenote.system.regular_files import read_with_access

Trust = Literal["trusted", "changed", "unknown"]
"""Whether a file is trusted as it is, was trusted with another content, or never was."""

_NAME = "trusted.json"


class TrustedFiles:
    """The trusted files of a home folder."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / _NAME

    def hashes(self) -> Mapping[Path, str]:
        """Returns the trusted files with the SHA-256 of their content. Raises StoreError if that cannot be
        read, or if another user may have written it.
        """
        try:
            data, access = read_with_access(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise store_error("read", self._path, error) from error
        if reason := writable_by_others(access):
            raise StoreError(f"{self._path} is not used: {reason}", hint="remove it, and trust files again")
        try:
            files = parse_json(data)["files"]
            return {Path(str(path)): str(digest) for path, digest in files.items()}
        except (ValueError, LookupError, TypeError, AttributeError):
            raise StoreError(f"{self._path} is damaged", hint="remove it, and trust files again") from None

    def trust_in(self, file: Path, content: bytes) -> Trust:
        """Returns whether a file with this content is trusted; its path has no symbolic links. Raises
        StoreError.
        """
        digest = self.hashes().get(file)
        if digest is None:
            return "unknown"
        return "trusted" if digest == _digest(content) else "changed"

    def add(self, file: Path, content: bytes) -> None:
        """Trusts a file as long as it has this content; its path has no symbolic links. Raises StoreError."""
        self._replace(file, _digest(content))

    def remove(self, file: Path) -> bool:
        """Stops trusting a file, and returns whether it was trusted. Raises StoreError."""
        return self._replace(file, None)

    def _replace(self, file: Path, digest: str | None) -> bool:
        """Sets the hash of a file, or removes it, and returns whether there was one."""
        try:
            self._home.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        except OSError as error:
            raise store_error("create", self._home, error) from error
        with file_awaited(self._home / f".{_NAME}.lock"):
            hashes = {str(path): value for path, value in self.hashes().items()}
            was_trusted = hashes.pop(str(file), None) is not None
            if digest is not None:
                hashes[str(file)] = digest
            document = {"files": dict(sorted(hashes.items()))}
            write_atomically(self._path, json.dumps(document, indent=2).encode())
        return was_trusted


def writable_by_others(access: FileAccess) -> str:
    """Returns why users other than this one and root may write to a file, or empty text if none may.

    The group may write to it if it is that of the user alone, as some distributions have one for each user.
    """
    status, writers, trusted = access.status, access.writers, {os.geteuid(), 0}
    if reason := of_another_user(status):
        return reason
    if status.st_mode & stat.S_IWOTH:
        return "all users may write to it (`chmod o-w`)"
    if writers.owning_group and not _is_own_group(status.st_gid):
        return "its group may write to it (`chmod g-w`)"
    if writers.users - trusted or any(not _is_own_group(group) for group in writers.groups):
        return "others may write to it by its access control list (`chmod g-w`)"
    return ""


def of_another_user(status: os.stat_result) -> str:
    """Returns that something with this status belongs to another user, or empty text if it does not."""
    if status.st_uid in {os.geteuid(), 0}:
        return ""
    return f"it belongs to another user ({_user_name(status.st_uid)})"


def _user_name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"uid {user}"


def _is_own_group(group: int) -> bool:
    """Returns whether a group is the primary one of this user, has the user's name, and no other members."""
    try:
        user, entry = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return user.pw_gid == group and entry.gr_name == user.pw_name and set(entry.gr_mem) <= {user.pw_name}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
