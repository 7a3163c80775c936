"""Folders and files of an engine that every user can read, and exclusive access to folders."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from pacenote.system.paths import exists
from pacenote.system.regular_files import open_regular_file
from pacenote.system.sparse_files import copy_content


def make_public_dir(path: Path) -> None:
    """Creates a folder, with missing parents, that every user can read and only the owner can write."""
    missing = [path] if not exists(path) else []
    while missing and not exists(missing[-1].parent):
        missing.append(missing[-1].parent)
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)


def write_public(path: Path, text: str) -> None:
    """Writes a file that every user can read, whatever the umask. One that exists is replaced, because it may
    be a link to a file of the cache, which keeps its content.
    """
    path.unlink(missing_ok=True)
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
    path.chmod(0o644)


def copy_file(source: Path, target: Path) -> None:
    """Copies a file to one that does not exist, with its permissions, but not the right to run as its owner,
    because the copy has a different one. Holes, which a tool of an engine can have made of any size, stay
    holes. Raises OSError.
    """
    with open_regular_file(source) as content, target.open("xb") as copy:
        copy_content(content.fileno(), copy.fileno())
        os.fchmod(copy.fileno(), os.fstat(content.fileno()).st_mode & 0o777)


def link_file(source: Path, target: Path) -> None:
    """Links a file that every user can read, or copies it where that is not possible. Raises OSError, also if
    the target exists: it may be a link to another file of the cache.
    """
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        # The folders are on different file systems, or on one without hard links.
        with source.open("rb") as content, target.open("xb") as copy:
            shutil.copyfileobj(content, copy)
        target.chmod(0o644)
