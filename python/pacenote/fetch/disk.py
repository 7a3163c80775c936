"""Free disk space, atomic writes, and errors for files that cannot be written."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from pathlib import Path

from pacenote.errors import DiskError
from pacenote.system.regular_files import open_regular_file
from pacenote.units import format_bytes

KEEP_FREE = 64 << 20
"""Bytes of a disk that must stay free; `crates/corpus` uses the same value."""


_MAX_SMALL_FILE = 1 << 20
"""Size in bytes of the largest file that `read_small_file` reads."""


def check_free_space(folder: Path, needed: int, what: str) -> None:
    """Raises DiskError if the disk of a folder has less than `needed` bytes free for `what`."""
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    if free < needed + KEEP_FREE:
        needs, has, keep = format_bytes(needed), format_bytes(free), format_bytes(KEEP_FREE)
        raise DiskError(
            f"no room for {what}: it needs {needs}, and {keep} must stay free, "
            f"but {folder} has only {has} free",
            hint="free some space, or set PACENOTE_HOME to a folder on another disk",
        )


def read_small_file(path: Path) -> bytes:
    """Returns the content of a file of Pacenote. Raises OSError, also for a file that Pacenote has not
    written: a link, a pipe or a device, which could be read for ever, or one of more than 1 MiB.
    """
    with open_regular_file(path, os.O_NOFOLLOW) as file:
        if os.fstat(file.fileno()).st_size > _MAX_SMALL_FILE:
            raise OSError(errno.EFBIG, f"it is larger than {format_bytes(_MAX_SMALL_FILE)}")
        return file.read(_MAX_SMALL_FILE)


def write_new_file(path: Path, text: str) -> None:
    """Writes a file that replaces one of the same name. Raises OSError.

    Links are not followed: in a shared folder, another user may have put one there.
    """
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)


REPLACING_FILES = "*.part"
"""Glob pattern of files that are about to replace others."""


def replace_text(target: Path, text: str) -> None:
    """Creates a file or replaces its content, atomically; creates its folder, too.

    Raises DiskError and leaves the old content. A process that is killed may leave `.NAME.*.part`.
    """
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_new_file(part, text)
        part.replace(target)
    except OSError as failure:
        raise disk_error(failure, target) from failure
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def disk_error(failure: OSError, path: Path) -> DiskError:
    """Returns the error for a file that cannot be written."""
    if failure.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskError(
            f"no space left on the disk for {path}",
            hint="free some space, or set PACENOTE_HOME to a folder on another disk",
        )
    return DiskError(
        f"{path} cannot be written: {failure.strerror or failure}",
        hint="check the permissions of the folder, or set PACENOTE_HOME to another one",
    )
