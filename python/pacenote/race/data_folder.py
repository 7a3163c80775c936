"""Folders of corpus data that several races share: locking, atomic writes, checks of paths."""

from __future__ import annotations

import errno
import glob
import os
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

from pacenote import _core
from pacenote.errors import CorpusError
from pacenote.system.locks import lock
from pacenote.system.ownership import create_folder, open_shared_lock, replaceable_file, replaceable_folder

LOCK = ".lock"
"""Name of the file that is locked while a race writes to its folder."""

T = TypeVar("T")


@contextmanager
def exclusive_folder(folder: Path, names: Sequence[str], *, wait: bool = True) -> Generator[None, None, None]:
    """Creates a folder and prevents other races from writing to it until the block ends.

    Removes the partial files of the files `names` that a killed race left behind. Raises CorpusError, also if
    another user could replace the folder, and without `wait` if another race writes to it.
    """
    try:
        _check(folder, create_folder(folder))
        # Users may share the folder: one could have put a pipe or a link there.
        descriptor = open_shared_lock(folder / LOCK)
    except OSError as error:
        raise WriteError(folder, error) from error
    with os.fdopen(descriptor):
        try:
            lock(descriptor, wait=wait)
        except OSError as error:
            raise WriteError(folder / LOCK, error) from error
        for name in names:
            for partial in folder.glob(f"{glob.escape(name)}.*.partial"):
                with suppress(OSError):
                    partial.unlink()
        yield


@contextmanager
def atomic_file(target: Path) -> Iterator[IO[bytes]]:
    """Opens a file that gets its name only when it is complete and on disk. Raises CorpusError."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, partial = tempfile.mkstemp(".partial", f"{target.name}.", target.parent)
    except OSError as error:
        raise WriteError(target, error) from error
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            # In a shared folder, another user may have replaced the name by a link.
            os.fchmod(descriptor, 0o644)
            os.fsync(descriptor)
        Path(partial).replace(target)
    except OSError as error:
        raise WriteError(target, error) from error
    finally:
        Path(partial).unlink(missing_ok=True)


def check_data_folder(folder: Path) -> None:
    """Raises CorpusError if another user could replace a folder in which data is read, written or removed."""
    _check(folder, replaceable_folder(folder))


def check_data_file(file: Path) -> None:
    """Raises CorpusError if another user could replace a file or its folder."""
    _check(file, replaceable_file(file))


def _check(path: Path, problem: str) -> None:
    if problem:
        raise CorpusError(
            f"{path} could be replaced by others while it is used: {problem}",
            hint="name a folder of yours or of root, or share it through a group of yours; root shares none",
        )


def path_inside(folder: Path, name: str, corpus: str) -> Path:
    """Returns the path of `name` below `folder`. Raises CorpusError if it would be outside."""
    path = Path(os.path.normpath(folder / name))
    if path == folder or not path.is_relative_to(folder):
        raise CorpusError(f"corpus '{corpus}': {name} would be written outside {folder}")
    return path


class WriteError(CorpusError):
    """A data file or folder cannot be written."""

    def __init__(self, path: Path, error: OSError, option: str = "PACENOTE_HOME or --dataset-cache") -> None:
        """`option` is what selects the folder."""
        space = "free some space, or " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
        super().__init__(
            f"cannot write {path}: {error.strerror}", hint=f"{space}set {option} to a writable folder"
        )
        self.path = path
        self.error = error


def call_core(call: Callable[[], T]) -> T:
    """Calls the Rust core and converts its errors to CorpusError."""
    try:
        return call()
    except _core.CoreError as error:
        raise CorpusError(str(error)) from None
