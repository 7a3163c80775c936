"""`--trust`: one command uses all settings of the folder's `pacenote.toml`, and so do the races it starts.

These may run in other folders, whose files are not trusted thereby: they inherit the path and the hash of the
one file that is.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pacenote.errors import UsageError

FILE = "pacenote.toml"
"""The name of a configuration file."""

FLAG = "--trust"
"""The option that trusts the file of the working folder for one command."""

VARIABLE = "PACENOTE_TRUST"
"""The variable of the environment that does the same."""

_ONE_FILE = re.compile(r"[0-9a-f]{64}:/.*", re.DOTALL)
"""What processes inherit: the SHA-256 and the path of the trusted file."""

_VALUES = {"1": True, "true": True, "": False, "0": False, "false": False}


def folder_path(folder: Path) -> Path:
    """Returns the path of the configuration file of a folder, by which it is trusted."""
    return Path(os.path.realpath(folder)) / FILE


def is_trusted_for_command(path: Path, content: bytes) -> bool:
    """Returns whether this command trusts a file: that of the working folder, or the one that the command
    which started it has trusted. Raises UsageError for an unclear value of the variable.
    """
    value = os.environ.get(VARIABLE, "")
    if _ONE_FILE.fullmatch(value):
        return value == _one_file(path, content)
    if value.lower() not in _VALUES:
        raise UsageError(f"{VARIABLE} must be 1 or 0, not '{value}'")
    return _VALUES[value.lower()] and path == folder_path(Path())


@contextmanager
def trusted_for_command(arguments: Sequence[str]) -> Generator[None, None, None]:
    """Names the file of the working folder in the variable within the block, if the arguments contain the
    flag or the variable is 1: processes that the command starts inherit it.
    """
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    before = os.environ.get(VARIABLE)
    if FLAG not in options and not _VALUES.get((before or "").lower()):
        yield
        return
    os.environ[VARIABLE] = _file_of_working_folder()
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def _file_of_working_folder() -> str:
    """Returns the value for the file of the working folder; empty if it cannot be read, which is reported
    when it is used.
    """
    # Few commands need it.
    from pacenote.system.regular_files import read_regular_file

    path = folder_path(Path())
    try:
        return _one_file(path, read_regular_file(path))
    except OSError:
        return ""


def _one_file(path: Path, content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()}:{path}"
