"""How the user started this program, for the commands that it suggests."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from pacenote.model.shell_command import COMMAND_MARKS, NAME


def program() -> str:
    """Returns what the user enters in a shell to start this program: its name, or its path if the shell does
    not find it, or finds another one.
    """
    started = sys.argv[0] if sys.argv else ""
    if Path(started).parts[-2:] == (NAME, "__main__.py"):
        return f"{shlex.quote(sys.executable)} -m {NAME}"
    if Path(started).name != NAME:
        return NAME
    executable = shutil.which(NAME)
    try:
        is_found = executable is not None and Path(executable).samefile(started)
    except OSError:
        return NAME
    return NAME if is_found else shlex.quote(started)


def as_started(text: str) -> str:
    """Returns a text in which the commands in backquotes, or after a colon, can be entered as they are."""
    for before in COMMAND_MARKS:
        if f"{before}{NAME} " in text:
            text = text.replace(f"{before}{NAME} ", f"{before}{program()} ")
    return text
