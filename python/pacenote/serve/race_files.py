"""The files of a race that can be downloaded: those that are in its folder, and nothing else."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from pacenote.errors import StoreError
from pacenote.system.regular_files import open_regular_file

_MAX_FILES = 2_000
_MAX_DEPTH = 4

_TYPES = {
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".log": "text/plain; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
}


class FolderFile(Struct, frozen=True):
    """A file in the folder of a race."""

    name: str
    """Its path in the folder, with slashes."""

    path: Path
    """Where it is."""

    size: int
    """Size in bytes."""

    @property
    def content_type(self) -> str:
        """The media type with which it is sent."""
        return _TYPES.get(self.path.suffix, "application/octet-stream")


def folder_files(folder: Path) -> list[FolderFile]:
    """Returns the regular files of a race, sorted by name: no links, and no hidden files."""
    files: list[FolderFile] = []
    for file in _files(folder, "", _MAX_DEPTH):
        files.append(file)
        if len(files) == _MAX_FILES:
            break
    return sorted(files, key=lambda file: (file.name.count("/") > 0, file.name))


class OpenFolderFile(Struct, frozen=True):
    """A file of a race that was opened to be sent."""

    file: FolderFile
    """Which file it is."""

    content: BinaryIO
    """Its content, which the caller closes."""


def open_folder_file(folder: Path, name: str) -> OpenFolderFile:
    """Opens the file with exactly this name. Raises StoreError.

    The name comes from anywhere: it is compared with the names that exist, and never used as a path. If what
    has that name was replaced meanwhile, no link is followed.
    """
    for file in _files(folder, "", _MAX_DEPTH):
        if file.name == name:
            with contextlib.suppress(OSError):
                return OpenFolderFile(file, _opened(folder, name))
            break
    raise StoreError("this race has no such file")


def _opened(folder: Path, name: str) -> BinaryIO:
    """Opens a regular file below a folder without following links. Raises OSError."""
    *folders, last = name.split("/")
    with contextlib.ExitStack() as opened:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, descriptor)
        for inner in folders:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(inner, flags, dir_fd=descriptor)
            opened.callback(os.close, descriptor)
        return open_regular_file(last, os.O_NOFOLLOW, folder=descriptor)


def _files(folder: Path, prefix: str, depth: int) -> Iterator[FolderFile]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or not entry.name.isprintable():
                continue
            name = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False) and depth > 1:
                yield from _files(Path(entry.path), f"{name}/", depth - 1)
            elif entry.is_file(follow_symlinks=False):
                size = entry.stat(follow_symlinks=False).st_size
                yield FolderFile(name, Path(entry.path), size)
