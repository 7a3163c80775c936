"""Writing a page: to a file that the user names, or to the folder of what it reports."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from pacenote.cli.console import Console
from pacenote.cli.output.named_file import create_parents, opened_named_file
from pacenote.errors import PacenoteError, StoreError
from pacenote.model.messages import DEFECT
from pacenote.system.named_file import named_file
from pacenote.system.paths import is_dir

IN_FOLDER = ""
"""Value of `--html` without a file: the page is written to its own place."""


def write_page_file(path: Path, text: str) -> None:
    """Writes a page to a file, in a new folder if needed. Raises StoreError."""
    try:
        create_parents(path)
        with opened_named_file(path, "w") as stream:
            stream.write(text)
    except OSError as error:
        raise StoreError(f"cannot write the page to {path}: {error.strerror}") from error


def write_new_page(path: Path, text: str) -> None:
    """Writes a page to a file in the working folder whose name the user has not given. It replaces what has
    this name, also a link: the author of the folder may have put it there, and what it leads to stays.

    Raises StoreError.
    """
    temporary = f".{path.name}.{os.getpid()}.tmp"
    try:
        if path.name in ("", "..") or is_dir(path):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with named_file(path, creates_folders=True, is_to_be_new=True) as target:
            try:
                with os.fdopen(target.create_beside(temporary), "w", encoding="utf-8") as stream:
                    stream.write(text)
                target.replace_by(temporary)
            finally:
                target.remove_beside(temporary)
    except OSError as error:
        raise StoreError(f"cannot write the page to {path}: {error.strerror}") from error


def add_page_file(write: Callable[[], Path], of: str, console: Console) -> None:
    """Writes the page of what has just ended, and names it; a failure is a warning, because nothing that was
    measured is lost with a page. `of` names what it reports.
    """
    try:
        path = write()
    except PacenoteError as error:
        console.warning(f"the page of the {of} was not written: {error.message}")
        return
    except Exception as error:  # It has been measured: a page does not make it fail.
        console.warning(f"the page of the {of} was not written: {DEFECT}: {type(error).__name__}: {error}")
        return
    console.progress(f"page: {path}")
