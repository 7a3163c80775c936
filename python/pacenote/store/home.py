"""The home folder of Pacenote: races, engines, corpora and caches."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from pacenote.errors import StoreError

RACES = "races"
"""Name of the folder with all races in a home folder."""


def default_home() -> Path:
    """Returns the absolute path of the folder named by `PACENOTE_HOME`, or of `~/.pacenote`.

    An empty variable counts as unset. Raises StoreError if the folder of the user is needed, but not known.
    """
    chosen = os.environ.get("PACENOTE_HOME") or "~/.pacenote"
    start, slash, rest = chosen.partition("/")
    if start == "~":
        user = user_home()
        if user is None:
            raise StoreError(
                "the home folder of the user is not known: HOME is not set, and the user database has none "
                f"for user {os.getuid()}",
                hint="set HOME, or PACENOTE_HOME to an absolute path",
            )
        chosen = f"{user}{slash}{rest}"
    # A track's Python code may change the current folder.
    return Path(os.path.expanduser(chosen)).absolute()  # noqa: PTH111  # Path.expanduser raises for unknown users


def user_home() -> Path | None:
    """Returns the folder named by `HOME`, or else that of the user database, or None if there is none.

    An empty variable counts as unset.
    """
    if chosen := os.environ.get("HOME"):
        return Path(chosen)
    try:
        folder = pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return None
    return Path(folder) if folder else None
