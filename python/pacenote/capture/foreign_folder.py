"""Files in the folder of a track, which someone else may have made: links in it lead nowhere."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import BinaryIO


def new_file(path: Path, folder: int | None = None) -> BinaryIO:
    """Creates a file in place of one that was left behind, which may be a link. A relative path is below the
    open folder. Raises OSError.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666, dir_fd=folder), "wb")


def write_inside(folder: Path, name: str, data: bytes) -> None:
    """Writes a file atomically to a folder, or to one in it, which is created if it is missing. Raises
    OSError, also if that is a link.
    """
    *folders, file = Path(name).parts
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with contextlib.ExitStack() as opened:
        descriptor = os.open(folder, flags)
        opened.callback(os.close, descriptor)
        for inner in folders:
            with contextlib.suppress(FileExistsError):
                os.mkdir(inner, dir_fd=descriptor)
            descriptor = os.open(inner, flags, dir_fd=descriptor)
            opened.callback(os.close, descriptor)
        new = f".{file}.new"
        with new_file(Path(new), descriptor) as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(new, file, src_dir_fd=descriptor, dst_dir_fd=descriptor)


def opened_file(path: Path) -> BinaryIO:
    """Opens a file to read it; a pipe is empty. Raises OSError, also for a link."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags), "rb")
