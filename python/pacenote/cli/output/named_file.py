"""A file that the user names, and that Pacenote creates with its folder, or writes as it is."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Literal, TextIO

from pacenote.system.ownership import planted_path
from pacenote.system.paths import exists

_FLAGS = {"a": os.O_APPEND, "w": 0, "x": os.O_EXCL}


def create_parents(file: Path) -> None:
    """Creates the folders that lead to a file, as far as they are missing. Raises OSError, also if another
    user has put one of them, or a link, in a folder such as /tmp: then nothing is created behind it.
    """
    _refuse_planted(file)
    missing = [folder for folder in file.parents if not exists(folder)]
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        # Another user may have created the folder first. A folder of this user cannot be replaced by others.
        _refuse_planted(folder)


def opened_named_file(file: Path, mode: Literal["a", "w", "x"]) -> TextIO:
    """Opens a file to append to it, to replace its content, or to create it. Raises OSError, also if another
    user has put it, a folder that leads to it, or a link in a folder such as /tmp.
    """
    # One that is created is not a link, and one that exists is an error of its own.
    _refuse_planted(file.parent if mode == "x" else file)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | _FLAGS[mode], 0o666)
    try:
        # What did not exist a moment ago may be a link of another user: its content stays.
        _refuse_planted(file)
        if mode == "w" and stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.ftruncate(descriptor, 0)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "a" if mode == "a" else "w", encoding="utf-8")


def _refuse_planted(path: Path) -> None:
    if problem := planted_path(path):
        raise PermissionError(errno.EPERM, problem)
