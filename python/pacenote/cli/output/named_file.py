"""A file that the user names, and that Pacenote writes as it is."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path
from typing import Literal, TextIO

from pacenote.system.ownership import planted_path


def opened_named_file(file: Path, mode: Literal["a", "w"]) -> TextIO:
    """Opens a file to append to it or to replace its content. Raises OSError, also if another user has put
    it, or a link, in a folder such as /tmp.
    """
    with contextlib.suppress(FileExistsError):
        return file.open("x", encoding="utf-8")
    if problem := planted_path(file):
        raise PermissionError(errno.EPERM, problem)
    return file.open(mode, encoding="utf-8")
