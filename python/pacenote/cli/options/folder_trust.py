"""The `pacenote.toml` of the working folder, which may come from someone else: which of its keys are used.

All of them, if the user trusts the file; otherwise only those of options that are declared to be harmless
(`Parser.add_argument`), which name nothing that is run, contacted, read or written. Folders above the working
folder are not searched, and trusting one folder does not extend to those below it.
"""

from __future__ import annotations

import os
import stat
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import Struct

from pacenote.cli.commands import command_parser
from pacenote.cli.console import Console
from pacenote.cli.options.command_trust import folder_path, is_trusted_for_command
from pacenote.cli.options.configured import file_cannot_be_read
from pacenote.store.trusted_files import Trust, TrustedFiles, of_another_user, writable_by_others
from pacenote.system.regular_files import read_with_access

_FILE_ENDING = ".json"
"""The ending of values that lists and dictionaries are read from: they name files."""


class FolderConfiguration(Struct, frozen=True):
    """The configuration file of a folder, as it was read."""

    path: Path
    """Its path, with the folder's symbolic links resolved."""

    content: bytes = b""
    """Its content."""

    trust: Trust | Literal["refused"] = "unknown"
    """Whether it is trusted; one that is refused has no effect at all."""

    refusal: str = ""
    """Why it is refused, or empty."""


def read_folder_file(folder: Path, home: Path) -> FolderConfiguration | None:
    """Reads the configuration file of a folder, and finds out whether the user trusts it. Returns None if
    there is none.

    Raises UsageError if it cannot be read, and StoreError if it is not known what is trusted.
    """
    path = folder_path(folder)
    try:
        name = path.lstat()
        # Another user may have put anything there: a pipe, a folder, a link to a file of root.
        if reason := of_another_user(name):
            return FolderConfiguration(path, trust="refused", refusal=reason)
        flags = 0 if stat.S_ISLNK(name.st_mode) else os.O_NOFOLLOW
        content, access = read_with_access(path, lambda access: not writable_by_others(access), flags)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise file_cannot_be_read(path, error) from error
    if reason := writable_by_others(access):
        return FolderConfiguration(path, content, "refused", reason)
    trust = "trusted" if is_trusted_for_command(path, content) else TrustedFiles(home).trust_in(path, content)
    return FolderConfiguration(path, content, trust)


@cache
def harmless_options(command: str) -> frozenset[str]:
    """Returns the options of a command that are used from a file which is not trusted. Every other one needs
    trust.
    """
    return command_parser(command, Console()).harmless_names()


def needs_no_trust(command: str, name: str, value: object) -> bool:
    """Returns whether a value of a command's option is used from a file that is not trusted: not if it could
    be read as the name of a file.
    """
    return name in harmless_options(command) and not str(value).strip().endswith(_FILE_ENDING)
