"""A file that the user names, and that Pacenote creates with its folder, or writes as it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO

from pacenote.system.named_file import FileMode, named_file, open_named


def create_parents(file: Path) -> None:
    """Creates the folders that lead to a file, as far as they are missing. Raises OSError, also if another
    user has put one of them, or a link, in a folder such as /tmp: then nothing is created behind it.
    """
    with named_file(file, creates_folders=True):
        pass


def opened_named_file(file: Path, mode: FileMode) -> TextIO:
    """Opens a file to append to it, to replace its content, or to create it. Raises OSError, also if another
    user has put it, a folder that leads to it, or a link in a folder such as /tmp.
    """
    return os.fdopen(open_named(file, mode), "a" if mode == "a" else "w", encoding="utf-8")
